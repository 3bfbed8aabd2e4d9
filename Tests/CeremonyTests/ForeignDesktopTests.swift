// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// hybrid-auth meets desktops that are not ours.
///
/// One vault with one passkey serves all of them, since each right PIN costs seconds.
@Suite(
    "Foreign desktops",
    .keepsEvidence,
    SharedStage { props in
        let options = try await props.workshop.site("create-options")
        let made = try await props.hybridAuth(meets: "client.py", ["--inspect", "--like-chrome"], asking: options)
        try #require(made.desktop.status == 0 && made.phone.status == 0, "\(made)")
        let verdict = try await props.workshop.site("verify-creation", input: made.desktop.lastOutput)
        try #require(verdict.contains(#""format": "none""#), "\(verdict)")
    },
    .serialized
)
struct ForeignDesktopTests {
    @Test("an old desktop: no hints in its code, padding inside the type byte, CBOR that asks for forgiveness")
    func old() async throws {
        let props = try SharedStage.take()
        let meeting = try await props.hybridAuth(
            ["--inspect", "--qr-omit", "2,3,4,5", "--lower-case", "--padding", "before-type", "--loose"],
            asking: try await props.workshop.site("request-options")
        )
        #expect(meeting.desktop.status == 0 && meeting.phone.status == 0, "\(meeting)")
        try await props.workshop.site("verify-request", input: meeting.desktop.lastOutput)
    }

    @Test("a desktop of tomorrow: unknown keys everywhere, the largest request, no goodbye")
    func new() async throws {
        let props = try SharedStage.take()
        // With its type byte, one byte of padding and the tag it makes a frame of 1 MiB, the most a relay carries.
        let largest = (1 << 20) - 18
        let meeting = try await props.hybridAuth(
            [
                "--inspect", "--qr-add", #"{"6": true, "7": [1, {"a": "b"}], "65535": 0}"#, "--extra-keys",
                "--ask-info", "--updates", "3", "--padding", "least", "--request-bytes", "\(largest)", "--no-uv",
                "--goodbye", "unsaid",
            ],
            asking: try await props.workshop.site("request-options", ["--allow"])
        )
        #expect(meeting.desktop.status == 0 && meeting.phone.status == 0, "\(meeting)")
        try await props.workshop.site("verify-request", input: meeting.desktop.lastOutput)
    }

    @Test("three requests on one tunnel, of which two are refused, by a desktop that has the BLE channel as well")
    func several() async throws {
        let props = try SharedStage.take()
        let exclude = try await props.workshop.site("create-options", ["--exclude"])
        let foreign = #"{"publicKey": {"rpId": "other.example", "challenge": "AAAA"}}"# + "\n"
        let use = try await props.workshop.site("request-options")
        let meeting = try await props.hybridAuth(
            ["--inspect", "--qr-add", #"{"6": [0, 1]}"#],
            asking: exclude + foreign + use
        )
        #expect(meeting.desktop.status == 0 && meeting.phone.status == 0, "\(meeting)")
        let answers = meeting.desktop.output.split(separator: "\n").dropFirst()
        #expect(answers.prefix(2).elementsEqual([#"{"status": 25}"#, #"{"status": 46}"#]), "\(meeting.desktop)")
        try await props.workshop.site("verify-request", input: meeting.desktop.lastOutput)
        try await props.stage.expectSilence()
    }

    @Test("a user who types the PIN and then declines", arguments: ["request-options", "create-options"])
    func declined(_ command: String) async throws {
        let props = try SharedStage.take()
        let before = props.stage.passkeys()
        let options = try await props.workshop.site(command)
        let meeting = try await props.hybridAuth(for: Person(confirms: "no"), ["--inspect"], asking: options)
        #expect(meeting.desktop.status == 0, "\(meeting.desktop)")
        #expect(meeting.desktop.lastOutput == #"{"status": 39}"#, "\(meeting.desktop)")
        #expect(meeting.phone.status == 77 && meeting.phone.lastLine.contains("you declined"), "\(meeting.phone)")
        #expect(props.stage.passkeys() == before)
    }

    @Test("a desktop that wants nothing")
    func idle() async throws {
        let meeting = try await SharedStage.take().hybridAuth(["--inspect"], asking: "")
        #expect(meeting.desktop.status == 0, "\(meeting.desktop)")
        #expect(meeting.phone.status == 75 && meeting.phone.lastLine.contains("without asking"), "\(meeting.phone)")
    }

    @Test("one that breaks the rules gets nothing, asks nobody, changes nothing, leaves no advert", arguments: attacks)
    func broken(_ attack: Attack) async throws {
        let props = try SharedStage.take()
        let stage = props.stage
        let (before, passkeys, asked) = (stage.snapshot(of: stage.vault), stage.passkeys(), Person.log(stage))
        let valid = try await props.workshop.site("create-options")
        // Should consent ever be asked for, it is not given.
        let meeting = try await props.hybridAuth(
            for: Person(confirms: "hang"),
            meets: "hostile_client.py",
            [attack.name],
            asking: valid,
            extra: attack.extra
        )
        let (desktop, phone) = (meeting.desktop, meeting.phone)
        #expect(phone.status == attack.status && phone.lastLine.contains(attack.words), "\(phone)")
        #expect(phone.lastLine.hasPrefix("hybrid-auth: ") && phone.output.isEmpty, "\(phone)")
        #expect(desktop.status == 0 && desktop.lastOutput.contains(attack.answers), "\(desktop)")
        #expect(attack.beginsValid || Person.log(stage) == asked)
        #expect(stage.passkeys() == passkeys)
        // Where the request came before the attack, the person may have typed the PIN, which the history says.
        #expect(attack.beginsValid || stage.snapshot(of: stage.vault) == before)
        try await stage.expectSilence()
    }

    /// What an attack must come to.
    struct Attack: Sendable, CustomTestStringConvertible {
        let name: String
        /// hybrid-auth's exit status and a piece of its last line.
        let status: Int32
        let words: String
        /// What the attacker must have got, in its own words.
        var answers = #""answers": []"#
        /// Whether a valid request goes ahead, on which the user may be asked until the tunnel ends.
        var beginsValid = false
        /// More options for hybrid-auth.
        var extra: [String] = []

        var testDescription: String { name }

        /// A first message that proves nothing.
        static func unverified(_ name: String) -> Attack {
            Attack(name: name, status: 65, words: "nothing was answered")
        }

        /// The relay ends these itself, or the attacker does: the phone learns only that the tunnel is gone.
        static func gone(_ name: String, _ words: String) -> Attack {
            Attack(name: name, status: 75, words: words)
        }

        /// A frame that no honest desktop sends.
        static func broken(_ name: String, _ words: String, beginsValid: Bool = false) -> Attack {
            Attack(name: name, status: 65, words: words, beginsValid: beginsValid)
        }

        /// A request that is answered with a status.
        static func unusable(_ name: String, _ status: Int, _ words: String = "nothing that it asked") -> Attack {
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
            .gone("oversized first message", "tunnel ended"),
            .gone("text for a first message", "tunnel ended"),
            .gone("left before the handshake", "tunnel ended"),
            Attack(
                name: "silent before the handshake",
                status: 75,
                words: "did not hear this one",
                extra: ["--timeout", "40"]
            ),
            .gone("oversized frame", "went away before it had asked"),
            .gone("text for a frame", "went away before it had asked"),
            .gone("vanished", "went away before it had asked"),
            .broken("garbage for a frame", "can't be opened"),
            .broken("short frame", "can't be opened"),
            .broken("truncated frame", "can't be opened"),
            .broken("changed frame", "can't be opened"),
            .broken("first message once more", "can't be opened"),
            .broken("frames in the wrong order", "can't be opened"),
            .broken("the same frame twice", "can't be opened", beginsValid: true),
            .broken("impossible padding", "can't be opened"),
            .broken("two requests at once", "asked again", beginsValid: true),
            .broken("updates without end", "without end"),
            .broken("empty message", "can't be read"),
            .broken("unknown message type", "can't be read"),
            .broken("JSON", "JSON"),
            .broken("damaged update", "can't be read"),
            .broken("update with a damaged link", "can't be read"),
            .unusable("no command", 0x03),
            .unusable("unknown command", 0x01),
            .unusable("request that is not CBOR", 0x12),
            .unusable("bytes behind the request", 0x12),
            .unusable("request nested too deep", 0x12),
            .unusable("request that is no map", 0x11),
            .unusable("request without a hash", 0x14),
            .unusable("relying party with a line break", 0x02),
            .unusable("silent request", 0x2B, "without your consent"),
        ] + (Thoroughness.isFull ? [.gone("silent after the handshake", "asked for nothing")] : [])
}
