// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// `hybrid-auth vault`, or another command on a vault, with a folder of its own and a person who types prepared answers.
struct VaultProgram: Sendable {
    let folder: String

    var vault: String { folder + "/vault" }
    var state: String { folder + "/state" }

    static let pin = "123456"
    static let passphrase = "correct horse battery staple orbit"

    init(_ folder: String) { self.folder = folder }

    /// Does something in a new folder, which is removed afterwards.
    static func run(_ body: @Sendable (VaultProgram) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/hybrid-vault-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let program = VaultProgram(folder)
        try await program.writePerson()
        try await body(program)
    }

    /// Runs a subcommand to its end; each GETPIN is answered with the next of the answers, then cancelled.
    func callAsFunction(
        _ arguments: [String],
        of command: String? = "vault",
        typing answers: [String] = [],
        confirming: Bool = true,
        variables: [String: String] = [:],
        under tracer: [String] = []
    ) async throws -> RunningProgram.Ending {
        let answerFile = "\(folder)/answers-\(UUID().uuidString.prefix(8))"
        try Data(answers.map { $0 + "\n" }.joined().utf8).write(to: URL(fileURLWithPath: answerFile))
        var environment = ProcessInfo.processInfo.environment
        environment["HOME"] = folder
        environment["XDG_STATE_HOME"] = state
        environment["XDG_DATA_HOME"] = folder + "/data"
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = nil
        environment["TEST_ANSWERS"] = answerFile
        environment["TEST_CONFIRMS"] = confirming ? "yes" : "no"
        environment["TEST_LOG"] = folder + "/pinentry.log"
        environment.merge(variables) { $1 }
        var line = [command].compactMap(\.self) + arguments + ["--vault", vault]
        if arguments.first != "status" { line += ["--pinentry", person] }
        let program = tracer.first ?? "hybrid-auth"
        let before = tracer.isEmpty ? [] : Array(tracer.dropFirst()) + [BuildFolder.program("hybrid-auth")]
        return try await RunningProgram(program, before + line, in: folder, environment: environment).ending()
    }

    /// The dialogues so far.
    var log: String {
        String(decoding: FileManager.default.contents(atPath: folder + "/pinentry.log") ?? Data(), as: UTF8.self)
    }

    /// Every file below a folder with its contents.
    func snapshot(_ path: String) -> [String: Data] {
        var files: [String: Data] = [:]
        for name in FileManager.default.enumerator(atPath: path).map({ Array($0) }) ?? [] {
            guard let name = name as? String else { continue }
            files[name] = FileManager.default.contents(atPath: path + "/" + name)
        }
        return files
    }

    private var person: String { folder + "/pinentry" }

    private func writePerson() async throws {
        let script = """
            #!/bin/sh
            echo "OK ready"
            while read -r line; do
              printf '%s\\n' "$line" >> "$TEST_LOG"
              case "$line" in
                GETPIN*)
                  count=$(($(cat "$TEST_ANSWERS.count" 2> /dev/null || echo 0) + 1))
                  echo $count > "$TEST_ANSWERS.count"
                  answer=$(sed -n "${count}p" "$TEST_ANSWERS")
                  if [ -n "$answer" ]; then echo "D $answer"; echo OK; else echo "ERR 83886179 cancelled"; fi ;;
                CONFIRM*) if [ "$TEST_CONFIRMS" = yes ]; then echo OK; else echo "ERR 83886194 Not confirmed"; fi ;;
                BYE*) echo OK; exit 0 ;;
                *) echo OK ;;
              esac
            done
            """
        try await ShellScript.write(script, to: person)
    }
}
