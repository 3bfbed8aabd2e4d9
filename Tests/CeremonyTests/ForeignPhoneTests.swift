// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridSystemBus
import HybridVirtualBlueZ
import TestSupport
import Testing

/// hybrid-client meets phones that are not ours.
@Suite(
    "Foreign phones",
    .keepsEvidence,
    SharedStage { props in
        // A passkey that the tests sign in with.
        let made = try await props.hybridClient(
            asking: try await props.workshop.site("create-options"),
            meets: "authenticator.py",
            ["--keys", props.passkeys, "--inspect"]
        )
        try #require(made.desktop.status == 0 && made.phone.status == 0, "\(made)")
        try await props.workshop.site("verify-creation", input: made.desktop.output)
    },
    .serialized
)
struct ForeignPhoneTests {
    @Test(
        "attestation that nobody asked for does not reach the website",
        arguments: [
            ["--introduction", "iphone_2026"],
            [
                "--loose", "--more-members", "--more-info", "--first-padding", "200", "--padding", "before-type",
                "--end", "close",
            ],
        ]
    )
    func creation(_ quirks: [String]) async throws {
        let props = try SharedStage.take()
        let options = try await props.workshop.site("create-options")
        let made = try await props.hybridClient(asking: options, ["--attestation", "packed"] + quirks)
        #expect(made.desktop.status == 0 && made.phone.status == 0, "\(made)")
        let verdict = try await props.workshop.site("verify-creation", input: made.desktop.output)
        #expect(verdict.contains(#""format": "none""#), "\(verdict)")
    }

    /// What real phones do differently, several ways to a ceremony.
    struct Quirks: Sendable, CustomTestStringConvertible {
        let flags: [String]
        /// Whether the website lists the passkeys it knows.
        var listed = false

        var testDescription: String { flags.joined(separator: " ") }
    }

    @Test(
        "what real phones do differently is taken all the same, and relying parties agree",
        arguments: [
            Quirks(flags: ["--inspect"]),
            Quirks(flags: ["--inspect", "--strangers", "4"], listed: true),
            // With its type byte, one byte of padding and the tag a frame of 1 MiB, the most a relay carries.
            Quirks(flags: ["--padding", "least", "--answer-bytes", "\((1 << 20) - 18)"], listed: true),
            Quirks(flags: [
                "--suffix", "a1011882", "--connectable", "--features", #"["dc", "ctap", "later", 7, [1]]"#,
            ]),
            Quirks(flags: ["--older-uuid", "--renew", "3", "--features", "null"]),
            Quirks(flags: ["--connectable", "--list-uuid", "--link-first", "--update", "unknown"]),
            Quirks(flags: ["--introduction", "android_chrome_2022", "--update", "empty", "--end", "goodbye"]),
            Quirks(flags: ["--introduction", "ios16", "--end", "close"]),
            Quirks(flags: ["--introduction", "iphone_2026", "--padding", "before-type", "--delay", "0.3"]),
            Quirks(flags: ["--update", "link", "--late-updates", "15", "--loose", "--more-members"], listed: true),
        ]
    )
    func signIn(_ quirks: Quirks) async throws {
        let props = try SharedStage.take()
        let options = try await props.workshop.site("request-options", quirks.listed ? ["--allow"] : [])
        let used = try await props.hybridClient(asking: options, ["--keys", props.passkeys] + quirks.flags)
        #expect(used.desktop.status == 0 && used.phone.status == 0, "\(used)")
        try await props.workshop.site("verify-request", input: used.desktop.output)
        let end = quirks.flags.contains("--end") ? "closed" : "goodbye"
        #expect(used.phone.lastOutput.contains(#""end": "\#(end)""#), "\(used.phone)")
    }

    @Test("an answer may leave out which credential signed, if only one was listed")
    func onlyOne() async throws {
        let props = try SharedStage.take()
        let passkeys = try JSONDecoder().decode(
            [String: [String: String]].self,
            from: Data(contentsOf: URL(fileURLWithPath: props.passkeys))
        )
        var site =
            try JSONSerialization.jsonObject(
                with: Data(try await props.workshop.site("request-options").utf8)
            ) as? [String: [String: Any]]
        site?["publicKey"]?["allowCredentials"] = try passkeys.keys.map { identifier in
            ["type": "public-key", "id": Self.base64URL(try #require(Hexadecimal.bytes(identifier)))]
        }
        let options = String(decoding: try JSONSerialization.data(withJSONObject: try #require(site)), as: UTF8.self)
        let used = try await props.hybridClient(asking: options, ["--keys", props.passkeys, "--no-credential"])
        #expect(passkeys.count == 1 && used.desktop.status == 0, "\(used)")
        try await props.workshop.site("verify-request", input: used.desktop.output)
    }

    /// Something that ends without an answer for the website.
    struct Failure: Sendable, CustomTestStringConvertible {
        let name: String
        /// hybrid-client's exit status and a piece of its last line.
        let status: Int32
        let words: String

        init(_ name: String, _ status: Int32, _ words: String) {
            (self.name, self.status, self.words) = (name, status, words)
        }

        var testDescription: String { name }

        /// What every failure has in common: one line, and nothing on standard output.
        func expect(_ ending: RunningProgram.Ending) {
            #expect(ending.status == status && ending.lastLine.contains(words), "\(ending)")
            #expect(ending.lastLine.hasPrefix("hybrid-client: ") && ending.output.isEmpty, "\(ending)")
        }
    }

    @Test(
        "a refusal is told as what it is, and the phone is told goodbye",
        arguments: [
            Failure("0x27", 77, "declined on the phone (NotAllowedError)"),
            Failure("0x2e", 77, "no passkey for example.com (NotAllowedError)"),
            Failure("0x19", 77, "has a passkey for this account at example.com already (InvalidStateError)"),
            Failure("0x2d", 75, "cancelled before anybody confirmed on the phone; try again (NotAllowedError)"),
            Failure("0x2f", 75, "the phone waited for its user in vain; try again (NotAllowedError)"),
            Failure("0x06", 75, "it is busy with another request (CTAP 0x06); try again (UnknownError)"),
            Failure("0x3a", 75, "what was begun was not ended in time (CTAP 0x3A); try again (NotAllowedError)"),
            Failure("0x26", 77, "none of the kinds of keys that the website takes (NotSupportedError)"),
            Failure("0x2b", 77, "need not be named (residentKey: required) (ConstraintError)"),
            Failure("0x28", 77, "delete a passkey there (ConstraintError)"),
            Failure("0x3c", 77, "unlock it and try again (NotAllowedError)"),
            Failure("0x12", 77, "the phone refused: the request could not be read (CTAP 0x12) (UnknownError)"),
            Failure("0x7f", 77, "CTAP 0x7F) (UnknownError)"),
            Failure("0xe0", 77, "an extension failed (CTAP 0xE0) (UnknownError)"),
            Failure("0xf2", 77, "an error of its maker's own (CTAP 0xF2) (UnknownError)"),
        ]
    )
    func refused(_ refusal: Failure) async throws {
        let props = try SharedStage.take()
        let options = try await props.workshop.site("request-options")
        let meeting = try await props.hybridClient(asking: options, ["--inspect", "--status", refusal.name])
        refusal.expect(meeting.desktop)
        #expect(meeting.phone.status == 0 && meeting.phone.lastOutput.contains(#""end": "goodbye""#), "\(meeting)")
    }

    @Test("one that breaks the rules gives nothing to the website", arguments: attacks)
    func broken(_ attack: Failure) async throws {
        let props = try SharedStage.take()
        let options = try await props.workshop.site("request-options")
        let meeting = try await props.hybridClient(asking: options, meets: "hostile_authenticator.py", [attack.name])
        attack.expect(meeting.desktop)
        let seen = meeting.phone.lastOutput
        #expect(meeting.phone.status == 0 && seen.contains(#""joined": true"#), "\(meeting.phone)")
        #expect(!seen.contains(#""end": null"#), "the tunnel was ended, not waited out: \(seen)")
        if let isAsked = Self.isAsked(by: attack.name) { #expect(seen.contains(#""asked": \#(isAsked)"#), "\(seen)") }
    }

    /// Whether the desktop has sent its request before the rule is broken: only to who introduced itself well.
    ///
    /// `nil` where the desktop may or may not have got to it.
    private static func isAsked(by name: String) -> Bool? {
        if name == "first frame twice" || name == "vanished" { return nil }
        let first = attacks.firstIndex { $0.name == "empty message" } ?? attacks.endIndex
        return name == "goodbye instead of an answer" || attacks[first...].contains { $0.name == name }
    }

    @Test("adverts with a wrong tag, an unassigned relay or a reserved bit are not heard; the scan ends with the wait")
    func unheard() async throws {
        let props = try SharedStage.take()
        let options = try await props.workshop.site("request-options")
        async let meets = props.hybridClient(
            asking: options,
            extra: ["--timeout", "30"],
            meets: "hostile_authenticator.py",
            ["adverts that are not for it"]
        )
        // All four are on the air while the desktop listens; without that the rest would show nothing.
        try await Waiting.until("four adverts") { try await props.stage.air.activeAdverts().count == 4 }
        #expect(try await props.stage.isScanning())
        let meeting = try await meets
        Failure("", 75, "no phone was heard nearby").expect(meeting.desktop)
        #expect(meeting.phone.lastOutput.contains(#""joined": false"#), "\(meeting.phone)")
        try await props.stage.expectSilence()
        try await props.stage.expectNoScan()
    }

    static let attacks: [Failure] = [
        Failure("short second message", 65, "can't be opened"),
        Failure("long second message", 65, "can't be opened"),
        Failure("first message sent back", 65, "did not scan this code"),
        Failure("second message off the curve", 65, "did not scan this code"),
        Failure("second message of another handshake", 65, "did not scan this code"),
        // The relay ends these itself, so that the desktop only learns that the phone is gone.
        Failure("oversized second message", 75, "went away"),
        Failure("text for a second message", 75, "went away"),
        Failure("oversized frame", 75, "went away"),
        Failure("left at the handshake", 75, "went away"),
        Failure("vanished", 75, "went away"),
        Failure("goodbye instead of an answer", 75, "went away"),
        Failure("garbage for a frame", 65, "can't be opened"),
        Failure("first frame with a later counter", 65, "can't be opened"),
        Failure("first frame twice", 65, "can't be opened"),
        Failure("empty introduction", 65, "first message can't be read"),
        Failure("introduction that is not CBOR", 65, "first message can't be read"),
        Failure("introduction with bytes behind it", 65, "first message can't be read"),
        Failure("introduction with a key twice", 65, "first message can't be read"),
        Failure("introduction without getInfo", 65, "first message can't be read"),
        Failure("features that are no list", 65, "first message can't be read"),
        Failure("link that is cut short", 65, "first message can't be read"),
        Failure("getInfo that is not CBOR", 65, "description of itself"),
        Failure("getInfo without versions", 65, "description of itself"),
        Failure("no CTAP", 65, "can't use passkeys"),
        Failure("empty message", 65, "a message can't be read"),
        Failure("unknown message type", 65, "a message can't be read"),
        Failure("update with a damaged link", 65, "a message can't be read"),
        Failure("updates without end", 65, "news without end"),
        Failure("empty answer", 65, "answer can't be read"),
        Failure("success without a body", 65, "answer can't be read"),
        Failure("answer that is not CBOR", 65, "answer can't be read"),
        Failure("answer with bytes behind it", 65, "answer can't be read"),
        Failure("answer that is no map", 65, "answer can't be read"),
        Failure("answer as JSON", 65, "JSON"),
        Failure("another site's answer", 65, "another website"),
        Failure("user neither present nor verified", 65, "without asking its user"),
        Failure("user not verified", 65, "did not verify"),
        Failure("backed up without being eligible", 65, "contradicts itself"),
        Failure("answer without a credential", 65, "which passkey"),
        Failure("answer without a user", 65, "which account"),
        Failure("answer without a signature", 65, "answer can't be read"),
    ]
}

extension SharedStage.Props {
    /// Where the foreign phones keep their passkeys.
    fileprivate var passkeys: String { stage.folder + "/phone.json" }
}

extension ForeignPhoneTests {
    private static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

extension Stage {
    /// Whether an adapter is scanning.
    fileprivate func isScanning() async throws -> Bool {
        let connection = try await BusConnection.connect(to: bus.busAddress)
        var isScanning = false
        for adapter in ["hci0", "hci1"] {
            let answer = try await connection.call(
                "org.bluez",
                "/org/bluez/\(adapter)",
                BusNames.properties,
                "Get",
                [.string("org.bluez.Adapter1"), .string("Discovering")]
            )
            if answer.first?.flag != false { isScanning = true }
        }
        await connection.close()
        return isScanning
    }

    /// Waits until no adapter is scanning, and fails if that takes longer.
    fileprivate func expectNoScan(within limit: Duration = .seconds(60)) async throws {
        try await Waiting.until("the end of the scan", within: limit) { try await !isScanning() }
    }
}
