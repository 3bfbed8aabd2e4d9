// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// A second implementation of desktop and phone, in Python, written from the protocol's description.
///
/// Two programs by the same hand may share a misreading. `ForeignDesktopTests` and `ForeignPhoneTests` let each of
/// ours meet a stranger; the tests here see to it that a stranger's own mistake is told apart from one of ours.
@Suite("Counterparts", .keepsEvidence, SharedStage(), .serialized)
struct CounterpartTests {
    @Test("the counterparts agree with the published vectors")
    func vectors() async throws {
        let ending = try await SharedStage.take().workshop.start("test_vectors.py", [], input: "").ending()
        #expect(ending.status == 0, "\(ending)")
        let count = ending.errors.split(separator: "\n").first { $0.hasPrefix("Ran ") }?.split(separator: " ")
        #expect(try #require(count.flatMap { Int($0[1]) }) >= 17, "\(ending)")
    }

    @Test("two strangers register and sign in through our relay and radio")
    func strangers() async throws {
        let props = try SharedStage.take()
        let keys = ["--keys", props.stage.folder + "/keys.json"]
        for (options, verification) in [("create-options", "verify-creation"), ("request-options", "verify-request")] {
            let meeting = try await props.strangers([], asking: try await props.workshop.site(options), meet: keys)
            #expect(meeting.desktop.status == 0 && meeting.phone.status == 0, "\(meeting)")
            try await props.workshop.site(verification, input: meeting.desktop.lastOutput)
        }
        try await props.stage.expectSilence()
    }

    @Test("a desktop that inspects its phone finds each fault")
    func inspectingDesktop() async throws {
        let props = try SharedStage.take()
        let created = try await props.strangers(
            ["--inspect"],
            asking: try await props.workshop.site("create-options"),
            meet: [
                "--suffix", "a1011882", "--loose", "--padding", "before-type", "--attestation", "none",
                "--first-padding", "9",
            ]
        )
        #expect(created.desktop.status == 3, "\(created)")
        for fault in [
            "service data of [24] bytes", "the first message is not canonical", "keys [0, 1, 3, 77]",
            "getInfo is not canonical", "algorithms None", "a padded message of", "the answer is not canonical",
            "attestation none", "flags 0x5d",
        ] {
            #expect(created.desktop.errors.contains(fault), "\(fault): \(created.desktop)")
        }
    }

    @Test("a phone that inspects its desktop finds each fault")
    func inspectingPhone() async throws {
        let props = try SharedStage.take()
        let foreign = #"{"publicKey": {"rpId": "example.com", "challenge": "AAAA"}}"#
        let asked = try await props.strangers(
            ["--qr-omit", "4", "--qr-add", #"{"5": "mc", "9": 1}"#, "--loose", "--padding", "least", "--no-uv"],
            asking: foreign,
            meet: ["--inspect"]
        )
        #expect(asked.phone.status == 3, "\(asked)")
        for fault in [
            "keys [0, 1, 2, 3, 5, 9] in the code", "linking None", "a padded message of",
            "the request is not canonical",
            "command 0x02 behind the hint mc", "options {}",
        ] {
            #expect(asked.phone.errors.contains(fault), "\(fault): \(asked.phone)")
        }
    }
}
