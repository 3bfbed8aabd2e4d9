// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import HybridPrimitives
import Testing

@testable import HybridCommandSupport

@Suite("Reading the configuration file and the environment")
struct ConfigurationFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func put(_ bytes: [UInt8], _ name: String) throws -> String {
        try Data(bytes).write(to: URL(filePath: folder.path + "/" + name))
        return folder.path + "/" + name
    }

    @Test("the named file, or else the usual one, or else none")
    func reads() throws {
        let usual = try put(Array("A=1".utf8), "usual")
        let named = try put(Array("A=2".utf8), "named")
        let missing = folder.path + "/missing"
        #expect(
            try ConfigurationFile.read(named: named, orElse: usual)
                == ConfigurationFile(path: named, bytes: Array("A=2".utf8))
        )
        #expect(try ConfigurationFile.read(named: nil, orElse: usual)?.path == usual)
        #expect(try ConfigurationFile.read(named: nil, orElse: missing) == nil)
        #expect(throws: CommandFailure("\(missing): there is no such file", status: .noInput)) {
            try ConfigurationFile.read(named: missing, orElse: usual)
        }
    }

    @Test("what is no file, or too much of one, is refused at once")
    func refuses() throws {
        #expect(throws: CommandFailure("\(folder.path): it is not a regular file", status: .noInput)) {
            try ConfigurationFile.read(named: folder.path, orElse: "")
        }
        let pipe = folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(throws: CommandFailure("\(pipe): it is not a regular file", status: .noInput)) {
            try ConfigurationFile.read(named: nil, orElse: pipe)
        }
        let most = try put([UInt8](repeating: 0x23, count: 65_536), "most")
        #expect(try ConfigurationFile.read(named: most, orElse: "")?.bytes.count == 65_536)
        let large = try put([UInt8](repeating: 0x23, count: 65_537), "large")
        #expect(throws: CommandFailure("\(large): the file is too large", status: .configuration)) {
            try ConfigurationFile.read(named: large, orElse: "")
        }
    }

    @Test("a file under a file, and one that may not be read, say why")
    func failures() throws {
        let file = try put([], "file")
        let failure = #expect(throws: CommandFailure.self) {
            try ConfigurationFile.read(named: nil, orElse: file + "/below")
        }
        #expect(failure?.sentence == "\(file)/below: it cannot be read: Not a directory")
    }

    @Test("the environment is that of getenv")
    func environment() throws {
        let variables = ProcessEnvironment.variables
        #expect(!variables.isEmpty)
        for (name, value) in variables { #expect(getenv(name).map { String(cString: $0) } == value) }
    }
}

/// A folder of one test, gone with it.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        // Short: the path of a socket may have no more than 107 bytes.
        path = "/tmp/service-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
