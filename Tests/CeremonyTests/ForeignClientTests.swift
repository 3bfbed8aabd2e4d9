// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// hybrid-auth with foreign clients.
///
/// All tests share one vault with one passkey, because unlocking a vault takes seconds.
@Suite(
    "Foreign clients",
    .keepsEvidence,
    SharedEnvironment { environment in
        let options = try await environment.site("create-options")
        let made = try await environment.runAuthenticator(
            with: "client.py",
            ["--inspect", "--like-chrome"],
            requests: options
        )
        try #require(made.isSuccess, "\(made)")
        let verdict = try await environment.site("verify-creation", input: made.client.lastOutput)
        try #require(verdict.contains(#""format": "none""#), "\(verdict)")
    },
    .serialized
)
struct ForeignClientTests {
    @Test("an old client: no hints in its code, padding before the type byte, non-canonical CBOR")
    func old() async throws {
        let environment = try CeremonyEnvironment.shared()
        let result = try await environment.runAuthenticator(
            ["--inspect", "--qr-omit", "2,3,4,5", "--lower-case", "--padding", "before-type", "--loose"],
            requests: try await environment.site("request-options")
        )
        result.expectSuccess()
        try await environment.site("verify-request", input: result.client.lastOutput)
    }

    @Test("a future client: unknown keys everywhere, the largest request, no shutdown message")
    func new() async throws {
        let environment = try CeremonyEnvironment.shared()
        // With the type byte, one byte of padding and the tag, this is a frame of 1 MiB, the limit of a relay.
        let largest = (1 << 20) - 18
        let result = try await environment.runAuthenticator(
            [
                "--inspect", "--qr-add", #"{"6": true, "7": [1, {"a": "b"}], "65535": 0}"#, "--extra-keys",
                "--ask-info", "--updates", "3", "--padding", "least", "--request-bytes", "\(largest)", "--no-uv",
                "--goodbye", "unsaid",
            ],
            requests: try await environment.site("request-options", ["--allow"])
        )
        result.expectSuccess()
        try await environment.site("verify-request", input: result.client.lastOutput)
    }

    @Test("three requests in one tunnel, two of them refused, by a client that also offers the Bluetooth channel")
    func several() async throws {
        let environment = try CeremonyEnvironment.shared()
        let exclude = try await environment.site("create-options", ["--exclude"])
        let foreign = #"{"publicKey": {"rpId": "other.example", "challenge": "AAAA"}}"# + "\n"
        let use = try await environment.site("request-options")
        let result = try await environment.runAuthenticator(
            ["--inspect", "--qr-add", #"{"6": [0, 1]}"#],
            requests: exclude + foreign + use
        )
        result.expectSuccess()
        let answers = result.client.output.split(separator: "\n").dropFirst()
        #expect(answers.prefix(2).elementsEqual([#"{"status": 25}"#, #"{"status": 46}"#]), "\(result.client)")
        try await environment.site("verify-request", input: result.client.lastOutput)
        try await environment.untilNoAdverts()
    }

    @Test("four requests in one tunnel: the user is asked for three, and the last is refused at once")
    func tooMany() async throws {
        let environment = try CeremonyEnvironment.shared()
        let asked = environment.pinentryLog.ranges(of: "GETPIN").count
        let foreign = #"{"publicKey": {"rpId": "other.example", "challenge": "AAAA"}}"# + "\n"
        let result = try await environment.runAuthenticator(
            ["--inspect"],
            requests: String(repeating: foreign, count: 4)
        )
        let answers = result.client.output.split(separator: "\n").dropFirst()
        #expect(answers.elementsEqual([46, 46, 46, 39].map { #"{"status": \#($0)}"# }), "\(result.client)")
        result.authenticator.expect(77, "this code's limit (3 requests, 6 prompts) is used up")
        #expect(environment.pinentryLog.ranges(of: "GETPIN").count == asked + 3)
    }

    @Test("a user who enters the PIN and then declines", arguments: ["request-options", "create-options"])
    func declined(_ command: String) async throws {
        let environment = try CeremonyEnvironment.shared()
        let before = environment.passkeys()
        let options = try await environment.site(command)
        let result = try await environment.runAuthenticator(
            for: TestUser(confirms: "no"),
            ["--inspect"],
            requests: options
        )
        #expect(result.client.status == 0, "\(result.client)")
        #expect(result.client.lastOutput == #"{"status": 39}"#, "\(result.client)")
        #expect(
            result.authenticator.status == 77 && result.authenticator.lastLine.contains("you declined"),
            "\(result.authenticator)"
        )
        #expect(environment.passkeys() == before)
    }

    @Test("a client that sends no request")
    func idle() async throws {
        let result = try await CeremonyEnvironment.shared().runAuthenticator(["--inspect"], requests: "")
        #expect(result.client.status == 0, "\(result.client)")
        #expect(
            result.authenticator.status == 75 && result.authenticator.lastLine.contains("without sending a request"),
            "\(result.authenticator)"
        )
    }

    @Test("a client that breaks the protocol gets no response, causes no prompt and no change", arguments: attacks)
    func broken(_ attack: Attack) async throws {
        let environment = try CeremonyEnvironment.shared()
        let (before, passkeys, asked) = (environment.vaultContents(), environment.passkeys(), environment.pinentryLog)
        let valid = try await environment.site("create-options")
        // The user never confirms.
        let result = try await environment.runAuthenticator(
            for: TestUser(confirms: "hang"),
            with: "hostile_client.py",
            [attack.name],
            requests: valid,
            extra: attack.extra
        )
        let client = result.client
        result.authenticator.expect(attack.status, attack.words)
        #expect(client.status == 0 && client.lastOutput.contains(attack.answers), "\(client)")
        #expect(attack.beginsValid || environment.pinentryLog == asked)
        #expect(environment.passkeys() == passkeys)
        // If a request came before the attack, the user may have entered the PIN, which the history records.
        #expect(attack.beginsValid || environment.vaultContents() == before)
        try await environment.untilNoAdverts()
    }

    /// An attack and its expected result.
    struct Attack: Sendable, CustomTestStringConvertible {
        let name: String
        /// The exit status of hybrid-auth, and a part of its last line.
        let status: Int32
        let words: String
        /// A part of the attacker's output: the responses that it received.
        var answers = #""answers": []"#
        /// True if a valid request precedes the attack, so that the user may be asked.
        var beginsValid = false
        /// Further options of hybrid-auth.
        var extra: [String] = []

        var testDescription: String { name }

        /// Returns a first message without proof of proximity.
        static func unverified(_ name: String) -> Attack {
            Attack(name: name, status: 65, words: "nothing was answered")
        }

        /// Returns an attack after which the relay or the attacker closes the tunnel, so that the authenticator learns
        /// nothing else.
        static func gone(_ name: String, _ words: String) -> Attack {
            Attack(name: name, status: 75, words: words)
        }

        /// Returns a frame that no correct client sends.
        static func broken(_ name: String, _ words: String, beginsValid: Bool = false) -> Attack {
            Attack(name: name, status: 65, words: words, beginsValid: beginsValid)
        }

        /// Returns a request that is answered with a status.
        static func unusable(_ name: String, _ status: Int, _ words: String = "none of its requests") -> Attack {
            Attack(name: name, status: 65, words: words, answers: #""answers": [\#(status)]"#)
        }
    }

    static let attacks: [Attack] =
        [
            .unverified("short first message"),
            .unverified("long first message"),
            .unverified("first message off the curve"),
            .unverified("first message that proves nothing"),
            .unverified("empty first message"),
            .unverified("largest first message"),
            .gone("oversized first message", "tunnel was closed"),
            .gone("text for a first message", "tunnel was closed"),
            .gone("left before the handshake", "tunnel was closed"),
            Attack(
                name: "silent before the handshake",
                status: 75,
                words: "did not find this one",
                extra: ["--timeout", "40"]
            ),
            .gone("oversized frame", "disconnected before the other device sent"),
            .gone("text for a frame", "disconnected before the other device sent"),
            .gone("vanished", "disconnected before the other device sent"),
            .broken("garbage for a frame", "can't be opened"),
            .broken("short frame", "can't be opened"),
            .broken("truncated frame", "can't be opened"),
            .broken("changed frame", "can't be opened"),
            .broken("first message once more", "can't be opened"),
            .broken("frames in the wrong order", "can't be opened"),
            .broken("the same frame twice", "can't be opened", beginsValid: true),
            .broken("impossible padding", "can't be opened"),
            .broken("two requests at once", "before the last one", beginsValid: true),
            .broken("updates without end", "too many messages"),
            .broken("empty message", "can't be read"),
            .broken("unknown message type", "can't be read"),
            .broken("JSON", "JSON"),
            .broken("damaged update", "can't be read"),
            .unusable("no command", 0x03),
            .unusable("unknown command", 0x01),
            .unusable("request that is not CBOR", 0x12),
            .unusable("bytes behind the request", 0x12),
            .unusable("request nested too deep", 0x12),
            .unusable("request that is no map", 0x11),
            .unusable("request without a hash", 0x14),
            .unusable("relying party with a line break", 0x02),
            .unusable("silent request", 0x2B, "without your consent"),
        ] + (Thoroughness.isFull ? [.gone("silent after the handshake", "sent no request")] : [])
}
