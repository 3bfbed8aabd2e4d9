// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// One program ends while the user is asked: the others report which one, as far as they can know.
@Suite("Lost peers", .keepsEvidence)
struct LostPeerTests {
    /// A program that receives a signal, and the expected reports.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var killsRelay = false
        let signal: Int32
        let phone: String
        /// The error code of the authenticator.
        let code: String
        /// The status and last line of the client, unless it was killed.
        var client: (status: Int32, line: String)?
    }

    /// The last event of the authenticator.
    private struct Event: Decodable {
        let code: String
        let message: String
        let remedy: String

        var sentence: String { remedy.isEmpty ? message : "\(message); \(remedy)" }
    }

    static let cases: [Case] = [
        Case(
            testDescription: "the relay is killed",
            killsRelay: true,
            signal: SIGKILL,
            phone: "the connection to the relay was lost before you answered; check the network, and scan a new "
                + "code",
            code: "connection-lost",
            client: (75, "the connection to the relay was lost; try again with a new code")
        ),
        Case(
            testDescription: "the user of the client cancels",
            signal: SIGINT,
            phone: "the other device cancelled before you answered",
            code: "cancelled-by-client",
            client: (130, "interrupted")
        ),
        Case(
            testDescription: "the client is killed",
            signal: SIGKILL,
            phone: "the other device or the relay disconnected before you answered; scan a new code",
            code: "client-vanished"
        ),
    ]

    @Test("while the user is being asked", arguments: cases)
    func whileAsked(_ expected: Case) async throws {
        try await CeremonyEnvironment.run { environment in
            let (program, code) = try await environment.startClient(try await environment.site("create-options"))
            let phone = try environment.startAuthenticator(code, TestUser(confirms: "hang"), extra: ["--json"])
            try await environment.untilAsked()
            (expected.killsRelay ? environment.relay.program : program).send(expected.signal)
            let (asked, answered) = (try await program.ending(), try await phone.ending())
            let event = try JSONDecoder().decode(Event.self, from: Data(answered.lastLine.utf8))
            #expect(event.sentence == expected.phone && event.code == expected.code, "\(answered)")
            #expect(answered.status == 75)
            if let client = expected.client {
                #expect(asked.status == client.status, "\(asked)")
                #expect(asked.lastLine == "hybrid-client: \(client.line)", "\(asked)")
            }
        }
    }
}
