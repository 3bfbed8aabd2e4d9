// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import HybridPinentry

@Suite("Conversations with a pinentry program")
struct ConversationTests {
    @Test("A PIN prompt sends all settings and decodes the answer")
    func pin() async throws {
        let script = try await ScriptedPinentry("GETPIN) echo 'D 12%2534%0A%c3%a4'; echo OK ;;")
        let secret = try await script.client(title: "Sign in").getPIN(
            description: "example.com\n100 %\r",
            prompt: "PIN:",
            error: "Wrong PIN, 2 tries left"
        )
        #expect(secret.text == "12%34\nä")
        #expect(
            script.log == [
                "OPTION ttyname=/dev/null", "OPTION ttytype=dumb", "OPTION lc-ctype=C.UTF-8", "SETTIMEOUT 20",
                "SETTITLE Sign in", "SETDESC example.com%0A100 %25", "SETPROMPT PIN:",
                "SETERROR Wrong PIN, 2 tries left", "GETPIN", "BYE",
            ]
        )
        #expect(!script.isAlive)
    }

    @Test("The external password cache is never allowed and no key is named")
    func noCache() async throws {
        let script = try await ScriptedPinentry("GETPIN) echo 'D 1'; echo OK ;;")
        _ = try await script.pin()
        #expect(!script.log.contains { $0.contains("cache") || $0.contains("SETKEYINFO") })
    }

    @Test("Status lines, comments, empty lines and split data are handled")
    func noise() async throws {
        let cases = "GETPIN) printf '# hello\\n\\nS PASSWORD_FROM_NOWHERE\\nD 12\\nS X y\\nD 34\\r\\nOK done\\n' ;;"
        #expect(try await ScriptedPinentry(cases).pin().text == "1234")
    }

    @Test("An empty answer is an empty secret")
    func empty() async throws {
        #expect(try await ScriptedPinentry("GETPIN) echo OK ;;").pin().count == 0)
    }

    @Test("Unknown settings are ignored, except the description")
    func unknownSettings() async throws {
        let old = try await ScriptedPinentry(
            "GETPIN) echo 'D 7'; echo OK ;; OPTION*|SETTIMEOUT*|SETTITLE*|SETPROMPT*) echo 'ERR 83886254 Unknown option' ;;"
        )
        #expect(try await old.pin().text == "7")
        let blind = try await ScriptedPinentry(
            "GETPIN) echo 'D 7'; echo OK ;; SETDESC*) echo 'ERR 83886355 Unknown command' ;;"
        )
        await #expect(throws: PinentryError.promptFailed(code: 275)) { try await blind.pin() }
        #expect(!blind.log.contains("GETPIN"))
    }

    @Test(
        "Error codes are distinguished",
        arguments: [
            ("ERR 83886179 Operation cancelled <Pinentry>", PinentryError.cancelled),
            ("ERR 99", .cancelled), ("ERR 83886278 cancelled", .cancelled),
            ("ERR 83886142 Timeout <Pinentry>", .timedOut),
            ("ERR 83918950 Inappropriate ioctl for device", .promptFailed(code: 32870)),
            ("ERR x", .protocolViolation), ("ERR", .protocolViolation), ("ERR -1", .protocolViolation),
            ("HTTP/1.1 200 OK", .protocolViolation), ("END", .protocolViolation),
        ]
    )
    func refusals(line: String, error: PinentryError) async throws {
        let script = try await ScriptedPinentry("GETPIN) echo '\(line)'; echo OK ;;")
        await #expect(throws: error) { try await script.pin() }
        #expect(!script.isAlive)
    }

    @Test("Data before an error is not a PIN")
    func dataThenError() async throws {
        let script = try await ScriptedPinentry("GETPIN) echo 'D 1234'; echo 'ERR 83886179 no' ;;")
        await #expect(throws: PinentryError.cancelled) { try await script.pin() }
    }

    @Test("An inquiry is cancelled")
    func inquiry() async throws {
        let script = try await ScriptedPinentry(
            "GETPIN) echo 'INQUIRE QUALITY x'; read -r answer; echo \"D $answer\"; echo OK ;;"
        )
        #expect(try await script.pin().text == "CAN")
    }

    @Test(
        "Buttons",
        arguments: [
            ("OK", ConfirmAnswer.yes), ("ERR 83886194 Not confirmed", .no), ("ERR 114", .no),
            ("ERR 83886179 Cancelled", .cancelled), ("ERR 83886278 Fully cancelled", .cancelled),
        ]
    )
    func buttons(line: String, answer: ConfirmAnswer) async throws {
        let script = try await ScriptedPinentry("CONFIRM) echo '\(line)' ;;")
        let given = try await script.client().confirm(
            description: "Which account?",
            ok: "Use",
            notOK: "Next",
            cancel: "Decline"
        )
        #expect(given == answer)
        #expect(
            script.log.suffix(6) == [
                "SETDESC Which account?", "SETOK Use", "SETNOTOK Next", "SETCANCEL Decline", "CONFIRM", "BYE",
            ]
        )
    }

    @Test("Two buttons have no third label, and other errors are not answers")
    func twoButtons() async throws {
        let script = try await ScriptedPinentry("CONFIRM) echo 'ERR 83886142 Timeout' ;;")
        await #expect(throws: PinentryError.timedOut) {
            try await script.client().confirm(
                description: "d",
                ok: "Yes",
                cancel: "No"
            )
        }
        #expect(!script.log.contains { $0.hasPrefix("SETNOTOK") })
        let broken = try await ScriptedPinentry("CONFIRM) echo 'ERR 1 General error' ;;")
        await #expect(throws: PinentryError.promptFailed(code: 1)) {
            try await broken.client().confirm(
                description: "d",
                ok: "Yes",
                cancel: "No"
            )
        }
    }

    @Test("A message has one button, and closing it is not an error", arguments: ["OK", "ERR 83886179 Cancelled"])
    func message(line: String) async throws {
        let script = try await ScriptedPinentry("CONFIRM*) echo '\(line)' ;;")
        try await script.client().message(description: "Told.")
        #expect(script.log.contains("CONFIRM --one-button"))
    }

    @Test("A prompt that does not fit a line is not shown")
    func tooLong() async throws {
        let script = try await ScriptedPinentry("GETPIN) echo OK ;;")
        await #expect(throws: PinentryError.textTooLong) {
            try await script.client().getPIN(
                description: String(repeating: "x", count: 1000),
                prompt: ""
            )
        }
        #expect(!script.log.contains("GETPIN"))
    }
}

@Suite("New PINs")
struct NewPINTests {
    private func newPIN(_ script: ScriptedPinentry) async throws -> PinentrySecret {
        try await script.client().getNewPIN(description: "d") { secret in
            secret.count < 4 ? "A PIN has at least 4 characters" : nil
        }
    }

    @Test("A program that repeats the prompt itself is asked once")
    func repeated() async throws {
        let script = try await ScriptedPinentry("GETPIN) echo 'S PIN_REPEATED'; echo 'D 1234'; echo OK ;;")
        #expect(try await newPIN(script).text == "1234")
        #expect(script.log.filter { $0 == "GETPIN" }.count == 1)
        #expect(script.log.contains("SETREPEAT Repeat the PIN:"))
        #expect(script.log.contains("SETREPEATERROR The two PINs differ; try again"))
    }

    @Test("A program that ignores SETREPEAT is asked a second time")
    func notRepeated() async throws {
        let script = try await ScriptedPinentry("GETPIN) echo 'D 1234'; echo OK ;;")
        #expect(try await newPIN(script).text == "1234")
        #expect(script.log.filter { $0 == "GETPIN" }.count == 2)
        #expect(script.log.contains("SETPROMPT Repeat the PIN:"))
    }

    /// A program that says in each prompt that the user has repeated the PIN, and types the next of three.
    private func repeating(_ pins: (String, String, String), flavor: String) async throws -> ScriptedPinentry {
        try await ScriptedPinentry(
            """
                'GETINFO flavor') echo 'D \(flavor)'; echo OK ;;
                GETPIN) echo 'S PIN_REPEATED'
                    case $turn in 1) echo 'D \(pins.0)' ;; 2) echo 'D \(pins.1)' ;; *) echo 'D \(pins.2)' ;; esac; echo OK ;;
            """
        )
    }

    @Test("pinentry-gnome3 is asked a second time, because its prompter may have one field only")
    func repeatedInGNOME() async throws {
        let same = try await repeating(("1234", "1234", "9"), flavor: "gnome3")
        #expect(try await newPIN(same).text == "1234")
        #expect(same.log.filter { $0 == "GETPIN" }.count == 2)
        #expect(same.log.contains("SETDESC Type the new PIN again to confirm it.%0A%0Ad"))
        let other = try await repeating(("1234", "1235", "9999"), flavor: "gnome3")
        #expect(try await newPIN(other).text == "9999")
        #expect(other.log.contains("SETERROR The two PINs differ; try again"))
    }

    @Test("Other programs are trusted to repeat the prompt", arguments: ["gnome3:curses", "gtk2", "qt", ""])
    func repeatedElsewhere(flavor: String) async throws {
        let script = try await repeating(("1234", "1235", "9"), flavor: flavor)
        #expect(try await newPIN(script).text == "1234")
        #expect(script.log.filter { $0 == "GETPIN" }.count == 1)
    }

    @Test(
        "Only pinentry-gnome3 shows no third button",
        arguments: [("gnome3", false), ("gnome3:curses", true), ("qt", true)]
    )
    func thirdButton(flavor: String, isShown: Bool) async throws {
        let script = try await repeating(("1", "1", "1"), flavor: flavor)
        #expect(try await script.client().showsThirdButton() == isShown)
    }

    @Test("PINs that differ are rejected with the reason and requested again")
    func mismatch() async throws {
        let script = try await ScriptedPinentry(
            "GETPIN) case $turn in 1) echo 'D 1234' ;; 2) echo 'D 1235' ;; *) echo 'D 5678' ;; esac; echo OK ;;"
        )
        #expect(try await newPIN(script).text == "5678")
        #expect(script.log.contains("SETERROR The two PINs differ; try again"))
        #expect(script.log.filter { $0 == "GETPIN" }.count == 4)
    }

    @Test("A PIN that the caller rejects is requested again, at most five times")
    func complaints() async throws {
        let script = try await ScriptedPinentry("GETPIN) echo 'D 12'; echo OK ;;")
        await #expect(throws: PinentryError.tooManyTries) { try await newPIN(script) }
        #expect(script.log.filter { $0 == "GETPIN" }.count == 5)
        #expect(script.log.contains("SETERROR A PIN has at least 4 characters"))
    }

    @Test("Cancelling the second prompt returns no PIN")
    func cancelled() async throws {
        let script = try await ScriptedPinentry(
            "GETPIN) if [ $turn = 1 ]; then echo 'D 1234'; echo OK; else echo 'ERR 83886179 no'; fi ;;"
        )
        await #expect(throws: PinentryError.cancelled) { try await newPIN(script) }
    }

    @Test("Letters that the terminal lacks become question marks in a second attempt")
    func locale() async throws {
        // gpg-error 166: the locale lacks a letter.
        let picky = try await ScriptedPinentry(
            """
                SETDESC*[!\\ -~]*) bad=1; echo OK ;;
                SETDESC*) bad=; echo OK ;;
                CONFIRM*) if [ "$bad" ]; then echo 'ERR 83886246 Locale problem'; else echo OK; fi ;;
            """
        )
        func ask(_ client: Pinentry, _ text: String) async throws -> ConfirmAnswer {
            try await client.confirm(description: text, ok: "y", cancel: "n")
        }
        #expect(try await ask(picky.client(), "example.com\n\"Zoë 李\"") == .yes)
        #expect(picky.log.filter { $0.hasPrefix("SETDESC") }.last == "SETDESC example.com%0A\"Zo? ?\"")
        let hopeless = try await ScriptedPinentry("    CONFIRM*) echo 'ERR 83886246 Locale problem' ;;")
        for (text, times) in [("plain", 1), ("zö", 3)] {
            await #expect(throws: PinentryError.promptFailed(code: 166)) { _ = try await ask(hopeless.client(), text) }
            #expect(hopeless.log.count { $0 == "CONFIRM" } == times)
        }
    }
}
