// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import HybridPinentry

/// A pinentry that is a small shell script, and what it was told.
final class ScriptedPinentry: Sendable {
    let root: String
    var path: String { root + "/pinentry" }

    /// Answers as a shell `case` over `$line`; `$turn` counts the commands that were not settings.
    init(_ cases: String, greeting: String = "echo 'OK Pleased to meet you'") async throws {
        var template = Array("/tmp/pinentry-test-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { buffer -> String? in
            guard let base = buffer.baseAddress, mkdtemp(base) != nil else { return nil }
            return String(cString: base)
        }
        root = try #require(made)
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

    /// A script of its own, without the loop.
    init(whole script: String) async throws {
        var template = Array("/tmp/pinentry-test-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { buffer -> String? in
            guard let base = buffer.baseAddress, mkdtemp(base) != nil else { return nil }
            return String(cString: base)
        }
        root = try #require(made)
        try await Self.write(path, "#!/bin/sh\necho $$ > \(root)/pid\n" + script + "\n")
    }

    deinit {
        for name in ["pinentry", "pid", "log"] { unlink(root + "/" + name) }
        rmdir(root)
    }

    /// The client for it.
    func client(
        environment: [String: String] = ["GPG_TTY": "/dev/null", "TERM": "dumb", "LANG": "C.UTF-8"],
        limits: Pinentry.Limits = .patient
    ) throws -> Pinentry {
        try Pinentry(program: path, environment: environment, limits: limits)
    }

    /// Asks for a PIN.
    func pin(
        timeout: Duration = .seconds(20),
        limits: Pinentry.Limits = .patient
    ) async throws -> PinentrySecret {
        try await client(limits: limits).getPIN(
            title: "t",
            description: "example.com",
            prompt: "PIN:",
            timeout: timeout
        )
    }

    /// Asks for a PIN and tells why there was none.
    func pinFailure(timeout: Duration) async -> PinentryError? {
        do {
            _ = try await pin(timeout: timeout)
            return nil
        } catch {
            return error as? PinentryError
        }
    }

    /// Every line it was sent.
    var log: [String] { Self.read(root + "/log").split(separator: "\n").map(String.init) }

    /// Whether its process is there still, dead and unburied included.
    var isAlive: Bool {
        guard let identifier = pid_t(Self.read(root + "/pid").split(separator: "\n").first ?? "") else { return false }
        return kill(identifier, 0) == 0
    }

    /// Whether it has begun.
    var hasStarted: Bool { !Self.read(root + "/pid").isEmpty }

    /// Writes an executable file from another process: a file that this one has open for writing, even in a
    /// child that another test is just starting, can't be executed.
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
    /// With all the time that a busy machine takes; tests of impatience say how little they want.
    static let patient = Pinentry.Limits(greeting: .seconds(60), reply: .seconds(60), grace: .seconds(60))
}

/// Waits for a state, at most a minute; other tests may keep all processors busy.
func until(_ condition: () -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while !condition() {
        try #require(ContinuousClock.now < deadline, "the state never came")
        try await Task.sleep(for: .milliseconds(5))
    }
}

extension PinentrySecret {
    /// What was typed, for comparison in tests.
    var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
