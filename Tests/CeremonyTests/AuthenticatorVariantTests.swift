// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Properties in which real phones differ, one by one: hybrid-client accepts them, and two relying parties agree.
@Suite(
    "Variants of authenticators",
    .keepsEvidence,
    SharedEnvironment { environment in
        _ = try await environment.verdict(
            on: try await environment.site("create-options"),
            ["--keys", environment.folder + "/phone.json", "--inspect"]
        )
    },
    .serialized
)
struct AuthenticatorVariantTests {
    /// A variant, as flags of the foreign authenticator.
    struct Variant: Sendable, CustomTestStringConvertible {
        let flags: [String]
        /// True if the website lists the passkeys that it knows.
        var listed = false
        /// The end of the session as the authenticator reports it.
        var end = "goodbye"

        init(_ flags: String..., listed: Bool = false, end: String = "goodbye") {
            (self.flags, self.listed, self.end) = (flags, listed, end)
        }

        var testDescription: String { flags.joined(separator: " ") }
    }

    /// Variants in sign-ins.
    static let signIns: [Variant] = [
        // Adverts: the UUID, bytes after the first twenty, other data, and the duration.
        Variant("--older-uuid"), Variant("--both-uuids"), Variant("--list-uuid"), Variant("--connectable"),
        Variant("--suffix", "a1011882"), Variant("--suffix", "ff00ff"), Variant("--suffix", "00"),
        Variant("--strangers", "4"), Variant("--other-service"), Variant("--renew", "4"), Variant("--stay-on-air"),
        // The post-handshake message.
        Variant("--introduction", "android_chrome_2022"), Variant("--introduction", "ios16"),
        Variant("--introduction", "iphone_2026"), Variant("--features", "null"),
        Variant("--features", #"["dc","ctap",7]"#),
        Variant("--first-padding", "300"), Variant("--link-first"), Variant("--more-info"), Variant("--lacks", "prf"),
        Variant("--lacks", "uv"), Variant("--lists", "hmac-secret", "--lists", "credProtect"),
        // Frames and messages.
        Variant("--padding", "before-type"), Variant("--padding", "least"), Variant("--loose"),
        Variant("--update", "empty"), Variant("--update", "link"), Variant("--update", "unknown"),
        Variant("--late-updates", "3"), Variant("--update-after"), Variant("--delay", "0.4"),
        // The end.
        Variant("--end", "close", end: "closed"), Variant("--end", "goodbye", end: "closed"),
        Variant("--end", "long-goodbye", end: "closed"), Variant("--end", "drop", end: "dropped"),
        Variant("--end", "linger", end: "code 1000"), Variant("--update-after", "--end", "close", end: "closed"),
        // Responses.
        Variant("--more-members"), Variant("--transports-told"), Variant("--names"), Variant("--not-selected"),
        Variant("--one-of-one"), Variant("--user-always", listed: true), Variant("--empty-account", listed: true),
        Variant("--signed-extensions"), Variant("--device-bound"), Variant("--counter", "7"),
        Variant("--answer-bytes", "300000"),
        // Several at once. The largest response is a frame of 1 MiB, with type byte, padding and tag.
        Variant("--padding", "least", "--answer-bytes", "\((1 << 20) - 18)", listed: true),
        Variant("--strangers", "4", listed: true), Variant("--older-uuid", "--renew", "3", "--features", "null"),
        Variant("--update", "link", "--late-updates", "15", "--loose", "--more-members", listed: true),
    ]

    @Test("in sign-ins", arguments: signIns)
    func signIn(_ variant: Variant) async throws {
        let environment = try CeremonyEnvironment.shared()
        let options = try await environment.site("request-options", variant.listed ? ["--allow"] : [])
        let used = try await environment.runClient(
            options,
            ["--inspect", "--keys", environment.folder + "/phone.json"] + variant.flags
        )
        used.expectSuccess()
        try await environment.site("verify-request", input: used.client.output)
        #expect(used.authenticator.lastOutput.contains(#""end": "\#(variant.end)""#), "\(used.authenticator)")
    }

    /// Variants in registrations.
    static let creations: [Variant] = [
        Variant("--algorithm", "eddsa"), Variant("--algorithm", "rs256"), Variant("--id-bytes", "1023"),
        Variant("--id-bytes", "1"), Variant("--model", "00112233445566778899aabbccddeeff"),
        Variant("--model", "00000000000000000000000000000000"), Variant("--device-bound"), Variant("--counter", "1"),
        Variant("--signed-extensions"), Variant("--only-discoverable"), Variant("--attestation", "packed"),
        Variant("--attestation", "certified"), Variant("--more-members"), Variant("--loose"),
        Variant("--update", "link", "--end", "drop", end: "dropped"), Variant("--lists-algorithm", "es256"),
        Variant("--lists-format", "packed"),
        Variant("--attestation", "packed", "--introduction", "iphone_2026"),
        Variant(
            "--attestation",
            "packed",
            "--loose",
            "--more-members",
            "--more-info",
            "--first-padding",
            "200",
            "--padding",
            "before-type",
            "--end",
            "close",
            end: "closed"
        ),
    ]

    @Test("in registrations, with a sign-in afterwards", arguments: creations)
    func registration(_ variant: Variant) async throws {
        let environment = try CeremonyEnvironment.shared()
        let keys = ["--keys", "\(environment.folder)/\(UUID().uuidString).json", "--inspect"]
        let algorithms = [-8, -257, -7].map { ["type": "public-key", "alg": $0] as [String: Any] }
        let options = try await environment.site("create-options", with: ["pubKeyCredParams": algorithms])
        let made = try await environment.verdict(on: options, keys + variant.flags)
        #expect(made.format == "none", "the website asked for no attestation")
        let used = try await environment.verdict(
            on: try await environment.site("request-options", ["--only=\(made.id)"]),
            keys
        )
        #expect(used.id == made.id)
    }

    @Test("each flag of the foreign authenticator is tested")
    func count() {
        #expect(Self.signIns.count == 52 && Self.creations.count == 19)
        let flags = Set((Self.signIns + Self.creations).flatMap(\.flags).filter { $0.hasPrefix("--") })
        #expect(flags.count >= 37, "\(flags.count)")
    }
}
