// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// What real phones do each in their own way, one by one: hybrid-client takes it, and two relying parties agree.
@Suite(
    "Habits of phones",
    .keepsEvidence,
    SharedStage { props in
        _ = try await props.judged(
            try await props.options("create-options"),
            ["--keys", props.stage.folder + "/phone.json", "--inspect"]
        )
    },
    .serialized
)
struct PhoneHabitTests {
    /// One habit.
    struct Habit: Sendable, CustomTestStringConvertible {
        let flags: [String]
        /// Whether the website lists the passkeys it knows.
        var listed = false
        /// How the session ends as the phone sees it.
        var end = "goodbye"

        init(_ flags: String..., listed: Bool = false, end: String = "goodbye") {
            (self.flags, self.listed, self.end) = (flags, listed, end)
        }

        var testDescription: String { flags.joined(separator: " ") }
    }

    /// In sign-ins.
    static let signIns: [Habit] = [
        // On the air: which UUID, what stands behind the twenty bytes, what else is there, and for how long.
        Habit("--older-uuid"), Habit("--both-uuids"), Habit("--list-uuid"), Habit("--connectable"),
        Habit("--suffix", "a1011882"), Habit("--suffix", "ff00ff"), Habit("--suffix", "00"),
        Habit("--strangers", "4"), Habit("--other-service"), Habit("--renew", "4"), Habit("--stay-on-air"),
        // The first message.
        Habit("--introduction", "android_chrome_2022"), Habit("--introduction", "ios16"),
        Habit("--introduction", "iphone_2026"), Habit("--features", "null"), Habit("--features", #"["dc","ctap",7]"#),
        Habit("--first-padding", "300"), Habit("--link-first"), Habit("--more-info"), Habit("--lacks", "prf"),
        Habit("--lacks", "uv"), Habit("--lists", "hmac-secret", "--lists", "credProtect"),
        // Frames and messages.
        Habit("--padding", "before-type"), Habit("--padding", "least"), Habit("--loose"),
        Habit("--update", "empty"), Habit("--update", "link"), Habit("--update", "unknown"),
        Habit("--late-updates", "3"), Habit("--update-after"), Habit("--delay", "0.4"),
        // The end.
        Habit("--end", "close", end: "closed"), Habit("--end", "goodbye", end: "closed"),
        Habit("--end", "long-goodbye", end: "closed"), Habit("--end", "drop", end: "dropped"),
        Habit("--end", "linger", end: "code 1000"), Habit("--update-after", "--end", "close", end: "closed"),
        // Answers.
        Habit("--more-members"), Habit("--transports-told"), Habit("--names"), Habit("--not-selected"),
        Habit("--one-of-one"), Habit("--user-always", listed: true), Habit("--nobody", listed: true),
        Habit("--signed-extensions"), Habit("--device-bound"), Habit("--counter", "7"),
        Habit("--answer-bytes", "300000"),
    ]

    @Test("in sign-ins", arguments: signIns)
    func signIn(_ habit: Habit) async throws {
        let props = try SharedStage.take()
        let options = try await props.options("request-options", habit.listed ? ["--allow"] : [])
        let used = try await props.hybridClient(
            asking: options,
            ["--inspect", "--keys", props.stage.folder + "/phone.json"] + habit.flags
        )
        #expect(used.desktop.status == 0 && used.phone.status == 0, "\(used)")
        try await props.workshop.site("verify-request", input: used.desktop.output)
        #expect(used.phone.lastOutput.contains(#""end": "\#(habit.end)""#), "\(used.phone)")
    }

    /// In registrations.
    static let creations: [Habit] = [
        Habit("--algorithm", "eddsa"), Habit("--algorithm", "rs256"), Habit("--id-bytes", "1023"),
        Habit("--id-bytes", "1"), Habit("--model", "00112233445566778899aabbccddeeff"),
        Habit("--model", "00000000000000000000000000000000"), Habit("--device-bound"), Habit("--counter", "1"),
        Habit("--signed-extensions"), Habit("--only-discoverable"), Habit("--attestation", "packed"),
        Habit("--attestation", "certified"), Habit("--more-members"), Habit("--loose"),
        Habit("--update", "link", "--end", "drop", end: "dropped"), Habit("--lists-algorithm", "es256"),
        Habit("--lists-format", "packed"),
    ]

    @Test("in registrations, and the passkey signs in afterwards", arguments: creations)
    func registration(_ habit: Habit) async throws {
        let props = try SharedStage.take()
        let keys = ["--keys", "\(props.stage.folder)/\(UUID().uuidString).json", "--inspect"]
        let algorithms = [-8, -257, -7].map { ["type": "public-key", "alg": $0] as [String: Any] }
        let options = try await props.options("create-options", with: ["pubKeyCredParams": algorithms])
        let made = try await props.judged(options, keys + habit.flags)
        #expect(made.format == "none", "nobody asked for attestation")
        let used = try await props.judged(try await props.options("request-options", ["--only=\(made.id)"]), keys)
        #expect(used.id == made.id)
    }

    @Test("the habits are as many as were counted")
    func count() {
        #expect(Self.signIns.count == 48 && Self.creations.count == 17)
        // Each switch of the phone that stands for a habit is used somewhere here.
        let used = Set((Self.signIns + Self.creations).flatMap(\.flags).filter { $0.hasPrefix("--") })
        #expect(used.count >= 37, "\(used.count)")
    }
}
