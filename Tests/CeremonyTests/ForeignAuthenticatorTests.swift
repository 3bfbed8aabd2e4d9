// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridDBus
import HybridPrimitives
import HybridVirtualBlueZ
import IntegrationTestSupport
import TestSupport
import Testing

/// hybrid-client with foreign authenticators.
@Suite(
    "Foreign authenticators",
    .keepsEvidence,
    SharedEnvironment { environment in
        // The passkey for the tests.
        let made = try await environment.runClient(
            try await environment.site("create-options"),
            with: "authenticator.py",
            ["--keys", environment.keyFile, "--inspect"]
        )
        try #require(made.isSuccess, "\(made)")
        try await environment.site("verify-creation", input: made.client.output)
    },
    .serialized
)
struct ForeignAuthenticatorTests {
    @Test("a response may omit the credential if only one was listed")
    func onlyOne() async throws {
        let environment = try CeremonyEnvironment.shared()
        let passkeys = try JSONDecoder().decode(
            [String: [String: String]].self,
            from: Data(contentsOf: URL(fileURLWithPath: environment.keyFile))
        )
        let allowed = try passkeys.keys.map { identifier in
            ["type": "public-key", "id": Base64URL.encode(try #require(Hexadecimal.bytes(identifier)))]
        }
        let options = try await environment.site("request-options", with: ["allowCredentials": allowed])
        let used = try await environment.runClient(options, ["--keys", environment.keyFile, "--no-credential"])
        #expect(passkeys.count == 1 && used.client.status == 0, "\(used)")
        try await environment.site("verify-request", input: used.client.output)
    }

    /// A ceremony without a response for the website.
    struct Failure: Sendable, CustomTestStringConvertible {
        let name: String
        /// The exit status of hybrid-client, and a part of its last line.
        let status: Int32
        let words: String

        init(_ name: String, _ status: Int32, _ words: String) {
            (self.name, self.status, self.words) = (name, status, words)
        }

        var testDescription: String { name }
    }

    @Test(
        "a refusal is reported with its cause, and the tunnel is shut down properly",
        arguments: [
            Failure("0x27", 77, "declined on the phone; start again, and confirm there (NotAllowedError)"),
            Failure("0x2e", 77, "example.com; use the phone that has it, or register there first (NotAllowedError)"),
            Failure("0x19", 77, "sign in with it, or delete it on the phone first (InvalidStateError)"),
            Failure("0x2d", 75, "cancelled before it was confirmed on the phone; try again (NotAllowedError)"),
            Failure("0x2f", 75, "it was not confirmed on the phone in time; try again (NotAllowedError)"),
            Failure("0x06", 75, "it is busy with another request (CTAP 0x06); try again (UnknownError)"),
            Failure("0x3a", 75, "an action was not completed in time (CTAP 0x3A); try again (NotAllowedError)"),
            Failure("0x26", 77, "the website accepts; use a different phone (NotSupportedError)"),
            Failure("0x2b", 77, "discoverable passkeys (residentKey: required) (ConstraintError)"),
            Failure("0x28", 77, "delete a passkey on it (ConstraintError)"),
            Failure("0x3c", 77, "unlock it and try again (NotAllowedError)"),
            Failure("0x12", 77, "not be read (CTAP 0x12); try again, or use a different phone (UnknownError)"),
            Failure("0x7f", 77, "CTAP 0x7F); try again, or use a different phone (UnknownError)"),
            Failure("0xe0", 77, "an extension failed (CTAP 0xE0); try again, or use a different phone (UnknownError)"),
            Failure("0xf2", 77, "specific error (CTAP 0xF2); try again, or use a different phone (UnknownError)"),
        ]
    )
    func refused(_ refusal: Failure) async throws {
        let environment = try CeremonyEnvironment.shared()
        let options = try await environment.site("request-options")
        let result = try await environment.runClient(options, ["--inspect", "--status", refusal.name])
        result.client.expect(refusal.status, refusal.words)
        #expect(
            result.authenticator.status == 0 && result.authenticator.lastOutput.contains(#""end": "goodbye""#),
            "\(result)"
        )
    }

    @Test("an authenticator that breaks the protocol causes no response to the website", arguments: attacks)
    func broken(_ attack: Failure) async throws {
        let environment = try CeremonyEnvironment.shared()
        let options = try await environment.site("request-options")
        let result = try await environment.runClient(options, with: "hostile_authenticator.py", [attack.name])
        result.client.expect(attack.status, attack.words)
        let seen = result.authenticator.lastOutput
        #expect(result.authenticator.status == 0 && seen.contains(#""joined": true"#), "\(result.authenticator)")
        #expect(!seen.contains(#""end": null"#), "the tunnel was closed before the timeout: \(seen)")
        if let isAsked = Self.isAsked(by: attack.name) { #expect(seen.contains(#""asked": \#(isAsked)"#), "\(seen)") }
    }

    /// Returns true if the client sends its request before the attack, which needs a correct post-handshake message.
    ///
    /// - Returns: `nil` if that depends on timing.
    private static func isAsked(by name: String) -> Bool? {
        if name == "first frame twice" || name == "vanished" { return nil }
        let first = attacks.firstIndex { $0.name == "empty message" } ?? attacks.endIndex
        return name == "goodbye instead of an answer" || attacks[first...].contains { $0.name == name }
    }

    @Test("adverts with a wrong tag, an unassigned relay or a reserved bit are ignored; the scan ends at the timeout")
    func ignoredAdverts() async throws {
        let environment = try CeremonyEnvironment.shared()
        let options = try await environment.site("request-options")
        async let ceremony = environment.runClient(
            options,
            extra: ["--timeout", "30"],
            with: "hostile_authenticator.py",
            ["adverts that are not for it"]
        )
        // All four are on the air while the client scans; otherwise the test would prove nothing.
        try await Waiting.until("four adverts") { try await environment.air.activeAdverts().count == 4 }
        #expect(try await environment.isScanning())
        let result = try await ceremony
        result.client.expect(75, "no phone was found nearby")
        #expect(result.authenticator.lastOutput.contains(#""joined": false"#), "\(result.authenticator)")
        try await environment.untilNoAdverts()
        try await environment.untilNoScan()
    }

    static let attacks: [Failure] = [
        Failure("short second message", 65, "can't be opened"),
        Failure("long second message", 65, "can't be opened"),
        Failure("first message sent back", 65, "did not scan this code"),
        Failure("second message off the curve", 65, "did not scan this code"),
        Failure("second message of another handshake", 65, "did not scan this code"),
        // The relay closes these tunnels, so the client learns nothing else.
        Failure("oversized second message", 75, "the phone or the relay disconnected"),
        Failure("text for a second message", 75, "the phone or the relay disconnected"),
        Failure("oversized frame", 75, "the phone or the relay disconnected"),
        Failure("left at the handshake", 75, "the phone disconnected before"),
        Failure("vanished", 75, "the phone or the relay disconnected"),
        Failure("goodbye instead of an answer", 75, "the phone disconnected before"),
        Failure("garbage for a frame", 65, "can't be opened"),
        Failure("first frame with a later counter", 65, "can't be opened"),
        Failure("first frame twice", 65, "can't be opened"),
        Failure("empty introduction", 65, "first message can't be read"),
        Failure("introduction that is not CBOR", 65, "first message can't be read"),
        Failure("introduction with bytes behind it", 65, "first message can't be read"),
        Failure("introduction with a key twice", 65, "first message can't be read"),
        Failure("introduction without getInfo", 65, "first message can't be read"),
        Failure("features that are no list", 65, "first message can't be read"),
        Failure("getInfo that is not CBOR", 65, "getInfo response"),
        Failure("getInfo without versions", 65, "getInfo response"),
        Failure("no CTAP", 65, "can't use its passkeys"),
        Failure("empty message", 65, "a message can't be read"),
        Failure("unknown message type", 65, "a message can't be read"),
        Failure("updates without end", 65, "too many updates"),
        Failure("empty answer", 65, "answer can't be read"),
        Failure("success without a body", 65, "answer can't be read"),
        Failure("answer that is not CBOR", 65, "answer can't be read"),
        Failure("answer with bytes behind it", 65, "answer can't be read"),
        Failure("answer that is no map", 65, "answer can't be read"),
        Failure("answer as JSON", 65, "JSON"),
        Failure("another site's answer", 65, "a different website"),
        Failure("user neither present nor verified", 65, "without asking its user"),
        Failure("user not verified", 65, "did not verify"),
        Failure("backed up without being eligible", 65, "contradictory"),
        Failure("answer without a credential", 65, "does not state the passkey"),
        Failure("answer without a user", 65, "does not state the account"),
        Failure("answer without a signature", 65, "answer can't be read"),
    ]
}

extension CeremonyEnvironment {
    /// The file in which the foreign authenticators keep their passkeys.
    fileprivate var keyFile: String { folder + "/phone.json" }

    /// Returns true if an adapter is scanning.
    fileprivate func isScanning() async throws -> Bool {
        var isScanning = false
        for adapter in ["hci0", "hci1"] {
            let answer = try await radio.connection.call(
                "org.bluez",
                "/org/bluez/\(adapter)",
                BusNames.properties,
                "Get",
                [.string("org.bluez.Adapter1"), .string("Discovering")]
            )
            if answer.first?.flag != false { isScanning = true }
        }
        return isScanning
    }

    /// Waits until no adapter is scanning.
    fileprivate func untilNoScan() async throws {
        try await Waiting.until("the end of the scan") { try await !isScanning() }
    }
}
