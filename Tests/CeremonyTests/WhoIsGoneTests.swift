// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// While the phone's user is being asked somebody goes away: each side is told who, as far as that can be known.
@Suite("Who is gone", .keepsEvidence)
struct WhoIsGoneTests {
    /// Whose program gets which signal, and what both say then.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var killsRelay = false
        let signal: Int32
        let phone: String
        /// The cause for programs.
        let code: String
        /// The desktop's status and last line, where it lives to say one.
        var desktop: (status: Int32, line: String)?
    }

    /// The phone's last event.
    private struct Told: Decodable {
        let code: String
        let message: String
        let remedy: String

        var sentence: String { remedy.isEmpty ? message : "\(message); \(remedy)" }
    }

    static let cases: [Case] = [
        Case(
            testDescription: "the relay dies",
            killsRelay: true,
            signal: SIGKILL,
            phone: "the connection to the relay was lost before you had answered; check the network, and scan a new "
                + "code",
            code: "connection-lost",
            desktop: (75, "the connection to the relay was lost; try again with a new code")
        ),
        Case(
            testDescription: "the desktop's user cancels",
            signal: SIGINT,
            phone: "the other device cancelled before you had answered",
            code: "cancelled-by-client",
            desktop: (130, "interrupted")
        ),
        Case(
            testDescription: "the desktop dies",
            signal: SIGKILL,
            phone: "the other device went away before you had answered, or the relay did; scan a new code",
            code: "client-vanished"
        ),
    ]

    @Test("while the user is being asked", arguments: cases)
    func whileAsked(_ expected: Case) async throws {
        try await Stage.set { stage in
            let (client, code) = try await stage.startClient(try await RelyingParty(stage).run("create-options"))
            let phone = try stage.startAuthenticator(code, Person(confirms: "hang"), extra: ["--json"])
            try await Waiting.until("the question", within: .seconds(60)) { Person.log(stage).contains("CONFIRM") }
            (expected.killsRelay ? stage.relay : client).send(expected.signal)
            let (asked, answered) = (try await client.ending(), try await phone.ending())
            let told = try JSONDecoder().decode(Told.self, from: Data(answered.lastLine.utf8))
            #expect(told.sentence == expected.phone && told.code == expected.code, "\(answered)")
            #expect(answered.status == 75)
            if let desktop = expected.desktop {
                #expect(asked.status == desktop.status, "\(asked)")
                #expect(asked.lastLine == "hybrid-client: \(desktop.line)", "\(asked)")
            }
        }
    }
}
