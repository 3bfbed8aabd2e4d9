// SPDX-License-Identifier: Apache-2.0

import CHybridPNG
import Foundation
import Glibc
import HybridQRCode
import TestSupport

/// An environment with its own home directory, no Bluetooth, no session bus and a scripted pinentry.
///
/// After it has read a code, `hybrid-auth scan` opens Bluetooth and fails here. This failure shows that the code was read.
struct ScanFixture {
    /// A published code with an old timestamp.
    static let code =
        "FIDO:/162870791865632382552704231438327900152302540348097243854039966655366469794954476199158014113179232779520"
        + "163209900691930075274801398564434658077048963842109321447142660"
    /// Part of the last line if the code was read.
    static let afterReading = "D-Bus"

    let folder: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/fixture-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: folder + "/run",
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
    }

    /// Runs `body` and removes the directory.
    static func with<Result>(_ body: (ScanFixture) async throws -> Result) async throws -> Result {
        let fixture = try ScanFixture()
        defer { try? FileManager.default.removeItem(atPath: fixture.folder) }
        return try await body(fixture)
    }

    /// Returns an environment without the variables of the user's session.
    func environment(_ additions: [String: String] = [:]) -> [String: String] {
        [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder)/no-bus", "HOME": folder, "XDG_RUNTIME_DIR": folder + "/run",
        ].merging(additions) { $1 }
    }

    /// Runs `hybrid-auth` with these arguments until it exits.
    func run(
        _ arguments: [String],
        input: String? = nil,
        _ additions: [String: String] = [:]
    ) async throws -> RunningProgram.Ending {
        try await start(arguments, input: input, additions).ending()
    }

    func start(
        _ arguments: [String],
        input: String? = nil,
        _ additions: [String: String] = [:]
    ) throws -> RunningProgram {
        let command = Inspection.unprivileged + [BuildFolder.program("hybrid-auth")] + arguments
        return try RunningProgram(
            command[0],
            Array(command.dropFirst()),
            in: folder,
            // The codes offer a link; these tests answer no question about it.
            environment: environment(["HYBRID_ASK_TO_LINK": "no"].merging(additions) { $1 }),
            input: input
        )
    }

    /// Runs a scan with a relay.
    func scan(_ arguments: [String], _ additions: [String: String] = [:]) async throws -> RunningProgram.Ending {
        try await run(["scan", "--tunnel-domain", "266"] + arguments, additions)
    }

    /// Starts the process for pictures with an argument, and waits until it has given up files and connections.
    func checkConfinement(of argument: String) async throws {
        // The pipe stays open, so that the process waits for its input.
        let script = "cd \(folder) && mkfifo pipe && exec 3<>pipe && exec \"$0\" \(argument) <pipe"
        let command = ["-c", script, BuildFolder.program("hybrid-auth")]
        let program = try RunningProgram("/bin/sh", command, in: folder)
        defer { program.send(SIGKILL) }
        try await Waiting.until("confinement") {
            let status = TestFile.text("/proc/\(program.identifier)/status").split(separator: "\n")
            return ["Seccomp:\t2", "NoNewPrivs:\t1"].allSatisfy { line in status.contains { $0 == line } }
        }
    }

    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = "\(folder)/\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: "\(folder)/\(name)") }

    func text(_ name: String) -> String {
        String(decoding: FileManager.default.contents(atPath: "\(folder)/\(name)") ?? Data(), as: UTF8.self)
    }

    /// Creates a pinentry that logs the lines it receives and answers CONFIRM with `answer`; `nil` for no answer.
    func pinentry(confirming answer: String?) async throws -> String {
        let script = """
            #!/bin/sh
            echo "OK ready"
            while read -r line; do
              echo "$line" >> "\(folder)/pinentry.log"
              case "$line" in
                CONFIRM*) \(answer.map { "echo \"\($0)\"" } ?? "exec sleep 300") ;;
                BYE*) echo OK; exit 0 ;;
                *) echo OK ;;
              esac
            done
            """
        let draft = try write("pinentry.draft", Array(script.utf8))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: draft)
        // A file that this process has open for writing cannot be executed, and a child that another test is just starting
        // inherits the descriptor. Therefore another process writes it.
        let path = "\(folder)/pinentry"
        let copy = try SpawnedProcess(["/bin/cp", draft, path], environment: ProcessInfo.processInfo.environment)
        guard try await copy.end() == 0 else { throw NoPinentry() }
        return path
    }

    /// Returns a PNG of these codes side by side, with four pixels per module.
    static func picture(_ texts: [String]) throws -> [UInt8] {
        let codes = try texts.map { try QRMatrix(text: $0) }
        let side = ((codes.map(\.size).max() ?? 8) + 8) * 4
        let width = side * max(1, codes.count)
        var pixels = [UInt8](repeating: 255, count: width * max(side, 16))
        for (index, code) in codes.enumerated() {
            for y in 0..<side {
                for x in 0..<side where code.isDark(column: x / 4 - 4, row: y / 4 - 4) {
                    pixels[y * width + index * side + x] = 0
                }
            }
        }
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        (image.width, image.height) = (png_uint_32(width), png_uint_32(pixels.count / width))
        var size = png_alloc_size_t(pixels.count + 100_000)
        var bytes = [UInt8](repeating: 0, count: Int(size))
        guard png_image_write_to_memory(&image, &bytes, &size, 0, pixels, 0, nil) != 0 else { throw NoPicture() }
        return Array(bytes.prefix(Int(size)))
    }

    struct NoPicture: Error {}
    struct NoPinentry: Error {}
}
