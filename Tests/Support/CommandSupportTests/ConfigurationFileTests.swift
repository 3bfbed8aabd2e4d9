// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import HybridPrimitives
import HybridProgram
import Testing

@testable import HybridCommandSupport

@Suite("Reading the configuration file and the environment")
struct ConfigurationFileTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func put(_ bytes: [UInt8], _ name: String) throws -> String {
        try Data(bytes).write(to: URL(filePath: directory.path + "/" + name))
        return directory.path + "/" + name
    }

    @Test("the named file, else the usual one, else none")
    func reads() throws {
        let usual = try put(Array("A=1".utf8), "usual")
        let named = try put(Array("A=2".utf8), "named")
        let missing = directory.path + "/missing"
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

    @Test("directories, pipes and oversized files are rejected without blocking")
    func refuses() throws {
        #expect(throws: CommandFailure("\(directory.path): it is not a regular file", status: .noInput)) {
            try ConfigurationFile.read(named: directory.path, orElse: "")
        }
        let pipe = directory.path + "/pipe"
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

    @Test("the cause of a failed read is stated")
    func failures() throws {
        let file = try put([], "file")
        let failure = #expect(throws: CommandFailure.self) {
            try ConfigurationFile.read(named: nil, orElse: file + "/below")
        }
        #expect(failure?.sentence == "\(file)/below: it cannot be read: Not a directory")
    }

    @Test("the environment equals that of getenv(3)")
    func environment() throws {
        let variables = ProcessEnvironment.variables
        #expect(!variables.isEmpty)
        for (name, value) in variables { #expect(getenv(name).map { String(cString: $0) } == value) }
    }
}

/// A directory of one test, removed with it.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        // Short, because the path of a socket has at most 107 bytes.
        path = "/tmp/service-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
