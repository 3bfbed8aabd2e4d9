// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import HybridPinentry

/// A pinentry that is a shell script and logs the lines it receives.
final class ScriptedPinentry: Sendable {
    let root: String
    var path: String { root + "/pinentry" }

    /// Creates a script with the given cases over `$line`; `$turn` counts the commands that are not settings.
    init(_ cases: String, greeting: String = "echo 'OK Pleased to meet you'") async throws {
        root = try TestFolder().path
        let script = """
            #!/bin/sh
            echo $$ > \(root)/pid
            \(greeting)
            turn=0
            while IFS= read -r line; do
                printf '%s\\n' "$line" >> \(root)/log
                case "$line" in
                GETPIN|CONFIRM*|MESSAGE) turn=$((turn + 1)) ;;
                esac
                case "$line" in
            \(cases)
                BYE) echo 'OK closing connection'; exit 0 ;;
                *) echo OK ;;
                esac
            done
            """
        try await Self.write(path, script)
    }

    /// Creates a script without the loop.
    init(whole script: String) async throws {
        root = try TestFolder().path
        try await Self.write(path, "#!/bin/sh\necho $$ > \(root)/pid\n" + script + "\n")
    }

    deinit {
        for name in ["pinentry", "pid", "log"] { unlink(root + "/" + name) }
        rmdir(root)
    }

    /// Returns a client that uses the script.
    func client(
        title: String = "t",
        timeout: Duration = .seconds(20),
        environment: [String: String] = ["GPG_TTY": "/dev/null", "TERM": "dumb", "LANG": "C.UTF-8"],
        limits: Pinentry.Limits = .patient
    ) throws -> Pinentry {
        try Pinentry(path, title, timeout, environment: environment, limits: limits)
    }

    /// Asks for a PIN.
    func pin(
        timeout: Duration = .seconds(20),
        limits: Pinentry.Limits = .patient
    ) async throws -> PinentrySecret {
        try await client(timeout: timeout, limits: limits).getPIN(description: "example.com", prompt: "PIN:")
    }

    /// Asks for a PIN and returns the error.
    func pinFailure(timeout: Duration) async -> PinentryError? {
        do {
            _ = try await pin(timeout: timeout)
            return nil
        } catch {
            return error as? PinentryError
        }
    }

    /// Lines that the script received.
    var log: [String] { Self.read(root + "/log").split(separator: "\n").map(String.init) }

    /// True if its process exists, including as a zombie.
    var isAlive: Bool {
        guard let identifier = pid_t(Self.read(root + "/pid").split(separator: "\n").first ?? "") else { return false }
        return kill(identifier, 0) == 0
    }

    /// True if the script has started.
    var hasStarted: Bool { !Self.read(root + "/pid").isEmpty }

    /// Writes an executable file from another process.
    ///
    /// A file that is open for writing, even in a child that another test is just starting, cannot be executed.
    static func write(_ path: String, _ text: String) async throws {
        let writer = try SpawnedProcess(
            ["/bin/sh", "-c", "printf '%s' \"$1\" > \"$0\" && chmod 700 \"$0\"", path, text],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        try #require(try await writer.end() == 0)
    }

    static func read(_ path: String) -> String {
        guard let file = fopen(path, "re") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}

extension Pinentry.Limits {
    /// Limits for a busy computer; tests of timeouts set their own.
    static let patient = Pinentry.Limits(greeting: .seconds(60), reply: .seconds(60), grace: .seconds(60))
}

extension PinentrySecret {
    /// The input as text.
    var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
