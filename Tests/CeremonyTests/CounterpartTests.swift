// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// A second implementation of client and authenticator, in Python, written from the description of the protocol.
///
/// Two programs by the same author may share a misreading. `ForeignClientTests` and `ForeignAuthenticatorTests` test each of our
/// programs with a counterpart. The tests here show that the counterparts themselves are right.
@Suite("Counterparts", .keepsEvidence, SharedEnvironment(), .serialized)
struct CounterpartTests {
    @Test("the counterparts agree with the published vectors")
    func vectors() async throws {
        let ending = try await CeremonyEnvironment.shared().counterparts.start("test_vectors.py", [], input: "")
            .ending()
        #expect(ending.status == 0, "\(ending)")
        let count = ending.errors.split(separator: "\n").first { $0.hasPrefix("Ran ") }?.split(separator: " ")
        #expect(try #require(count.flatMap { Int($0[1]) }) >= 17, "\(ending)")
    }

    @Test("two counterparts register and sign in through our relay and radio")
    func counterparts() async throws {
        let environment = try CeremonyEnvironment.shared()
        let keys = ["--keys", environment.folder + "/keys.json"]
        for (options, verification) in [("create-options", "verify-creation"), ("request-options", "verify-request")] {
            let result = try await runCounterparts([], requests: try await environment.site(options), with: keys)
            result.expectSuccess()
            try await environment.site(verification, input: result.client.lastOutput)
        }
        try await environment.untilNoAdverts()
    }

    @Test("a client that inspects its authenticator finds each fault")
    func inspectingClient() async throws {
        let environment = try CeremonyEnvironment.shared()
        let created = try await runCounterparts(
            ["--inspect"],
            requests: try await environment.site("create-options"),
            with: [
                "--suffix", "a1011882", "--loose", "--padding", "before-type", "--attestation", "none",
                "--first-padding", "9",
            ]
        )
        #expect(created.client.status == 3, "\(created)")
        for fault in [
            "service data of [24] bytes", "the first message is not canonical", "keys [0, 1, 3, 77]",
            "getInfo is not canonical", "algorithms None", "a padded message of", "the answer is not canonical",
            "attestation none", "flags 0x5d",
        ] {
            #expect(created.client.errors.contains(fault), "\(fault): \(created.client)")
        }
    }

    @Test("an authenticator that inspects its client finds each fault")
    func inspectingAuthenticator() async throws {
        let foreign = #"{"publicKey": {"rpId": "example.com", "challenge": "AAAA"}}"#
        let asked = try await runCounterparts(
            ["--qr-omit", "4", "--qr-add", #"{"5": "mc", "9": 1}"#, "--loose", "--padding", "least", "--no-uv"],
            requests: foreign,
            with: ["--inspect"]
        )
        #expect(asked.authenticator.status == 3, "\(asked)")
        for fault in [
            "keys [0, 1, 2, 3, 5, 9] in the code", "linking None", "a padded message of",
            "the request is not canonical",
            "command 0x02 after the hint mc", "options {}",
        ] {
            #expect(asked.authenticator.errors.contains(fault), "\(fault): \(asked.authenticator)")
        }
    }

    private func runCounterparts(
        _ client: [String],
        requests: String,
        with authenticator: [String]
    ) async throws -> CeremonyResult {
        let environment = try CeremonyEnvironment.shared()
        let client = try environment.startCounterpart("client.py", client, input: requests)
        let code = try await client.firstLine()
        let authenticator = try environment.startCounterpart("authenticator.py", authenticator, input: code)
        return CeremonyResult(client: try await client.ending(), authenticator: try await authenticator.ending())
    }
}
