// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// What the person at the phone does: a script that speaks pinentry's protocol.
struct Person: Sendable {
    static let rightPIN = "correct horse"

    var pin = rightPIN
    /// What CONFIRM is answered with: `yes`, `no`, `hang`, `wait` (yes as soon as there is a file `go`), or `pick:TEXT`
    /// (yes where the text stands in the question, else the next account).
    var confirms = "yes"

    /// The variables that the script reads.
    func variables(_ stage: Stage) -> [String: String] {
        [
            "TEST_PIN": pin, "TEST_CONFIRMS": confirms, "TEST_LOG": stage.folder + "/pinentry.log",
            "TEST_GO": stage.folder + "/go",
        ]
    }

    /// The dialogues so far, as the program asked them.
    static func log(_ stage: Stage) -> String {
        String(decoding: FileManager.default.contents(atPath: stage.folder + "/pinentry.log") ?? Data(), as: UTF8.self)
    }

    /// The script, which a stage has in its folder.
    static func program(in folder: String) -> String { folder + "/pinentry" }

    /// Writes it.
    static func writeProgram(in folder: String) async throws {
        let script = """
            #!/bin/sh
            echo "OK ready"
            while read -r line; do
              echo "$line" >> "$TEST_LOG"
              case "$line" in
                SETDESC*) asked=$line; echo OK ;;
                GETPIN*) echo "D $TEST_PIN"; echo OK ;;
                CONFIRM*) case "$TEST_CONFIRMS" in
                    yes) echo OK ;;
                    wait) while [ ! -e "$TEST_GO" ]; do sleep 0.05; done; echo OK ;;
                    pick:*) case "$asked" in
                        *"${TEST_CONFIRMS#pick:}"*) echo OK ;;
                        *) echo "ERR 83886194 Not confirmed <Pinentry>" ;;
                      esac ;;
                    no) echo "ERR 83886194 Not confirmed <Pinentry>" ;;
                    hang) exec sleep 300 ;;
                  esac ;;
                BYE*) echo OK; exit 0 ;;
                *) echo OK ;;
              esac
            done
            """
        try await ShellScript.write(script, to: program(in: folder))
    }
}

/// The website's server, in Python.
struct RelyingParty: Sendable {
    struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    static let origin = "https://example.com"
    /// An interpreter with fido2 and webauthn; `scripts/test` makes one and says where.
    static let interpreter = ProcessInfo.processInfo.environment["HYBRID_TEST_PYTHON"]

    let stage: Stage
    private var state: String { stage.folder + "/site.json" }

    init(_ stage: Stage) { self.stage = stage }

    @discardableResult
    func run(_ command: String, _ flags: [String] = [], input: String? = nil) async throws -> String {
        guard let python = Self.interpreter else { throw Refused(description: "HYBRID_TEST_PYTHON is not set") }
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/relying_party.py"
        let program = try RunningProgram(
            python,
            [script, command, state] + flags,
            in: stage.folder,
            environment: ProcessInfo.processInfo.environment,
            input: input
        )
        let ending = try await program.ending()
        guard ending.status == 0 else { throw Refused(description: "\(command): \(ending)") }
        return ending.output
    }
}
