// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import HybridAuth

@Suite("Commands of a session with the passkeys")
struct SessionCommandTests {
    @Test(
        "have an action and a number",
        arguments: [
            (#"{"do":"list","n":1}"#, .list(withHidden: false)),
            (#"{"do":"list","n":1,"hidden":true}"#, .list(withHidden: true)),
            (#"{"n":1,"do":"show","passkey":"f738"}"#, .show("f738")),
            (#"{"n":1,"do":"history"}"#, .history(last: nil)), (#"{"n":1,"do":"history","last":3}"#, .history(last: 3)),
            (#"{"n":1,"do":"rename","passkey":"a","name":"b"}"#, .rename("a", name: "b", displayName: nil)),
            (
                #"{"n":1,"do":"rename","passkey":"a","name":"","displayName":"c"}"#,
                .rename("a", name: "", displayName: "c")
            ),
            (#"{"n":1,"do":"manage","passkey":"a"}"#, .manage("a")),
            (#"{"n":1,"do":"delete","passkey":"a"}"#, .delete("a")),
        ] as [(String, SessionCommand.Action)]
    )
    func actions(line: String, action: SessionCommand.Action) throws {
        let command = try SessionCommand(Array(line.utf8))
        #expect(command.action == action && command.number == 1)
    }

    @Test(
        "are refused, with their number if they have one",
        arguments: [
            ("", nil, "JSON"), ("[]", nil, "the command"), (#"{"do":"list"}"#, nil, "n is missing"),
            (#"{"n":-1,"do":"list"}"#, nil, "n has the wrong type"),
            (#"{"n":4294967296,"do":"list"}"#, nil, "n has the wrong type"),
            (#"{"n":7}"#, 7, "do is missing"), (#"{"n":7,"do":"dance"}"#, 7, "none of list"),
            (#"{"n":7,"do":"show"}"#, 7, "passkey is missing"),
            (#"{"n":7,"do":"show","passkey":7}"#, 7, "passkey has the wrong type"),
            (#"{"n":7,"n":8,"do":"list"}"#, nil, "n"),
            (#"{"n":7,"do":"history","last":-1}"#, 7, "last has the wrong type"),
            (#"{"n":7,"do":"list","x":[\#(String(repeating: "0,", count: 40))0]}"#, nil, "values"),
        ] as [(String, UInt32?, String)]
    )
    func refusals(line: String, number: UInt32?, reason: String) throws {
        let error = #expect(throws: SessionCommand.Malformed.self) { try SessionCommand(Array(line.utf8)) }
        #expect(error?.number == number)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    /// The fuzzer's seeds and former crashes, through the fuzz target itself.
    @Test("hold the rules of their fuzz target")
    func corpus() throws {
        let replay = try FuzzCorpus.replay("session-line", fuzzSessionLine)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5 && replay.refused.count >= 2)
    }
}
