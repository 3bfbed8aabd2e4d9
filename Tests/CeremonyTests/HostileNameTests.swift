// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// A desktop that chooses the names, hybrid-auth, and Debian's pinentry on a terminal, read by a person.
@Suite("Hostile names on a real terminal", .keepsEvidence, SharedStage(), .serialized)
struct HostileNameTests {
    static let pinentry = "/usr/bin/pinentry-tty"
    static let isInstalled = access(pinentry, X_OK) == 0

    /// Names, and what may be left of them.
    static let names: [(name: String, shown: String)] = [
        ("mallory\"\n\nexample.org\nSave a passkey", "\"mallory'example.orgSave a passkey\""),
        ("x\nOK\nD 1234\nBYE", "\"xOKD 1234BYE\""),
        ("\u{202E}gro.elpmaxe\u{202C}<b>!</b>", "\"gro.elpmaxeb!/b\""),
        (String(repeating: "long ", count: 2048), "\"" + String(repeating: "long ", count: 12) + "lon…\""),
    ]

    @Test(
        "what the person reads is true, and the name is kept as it came",
        .enabled(if: isInstalled, "pinentry-tty is not installed"),
        arguments: 0..<names.count
    )
    func shown(index: Int) async throws {
        let props = try SharedStage.take()
        let (name, shown) = Self.names[index]
        // The first ceremony makes the vault, with a script at the keys.
        let user = "user\(index)@example.com"
        let old = try await props.create(user: user)
        let more = try JSONSerialization.data(withJSONObject: ["user": ["name": name, "displayName": name]])
        let flags = ["--user", user, "--with", String(decoding: more, as: UTF8.self)]
        let (creation, asked) = try await read(
            try await props.workshop.site("create-options", flags),
            answers: "r",
            "Create a passkey for this site?"
        )
        #expect(
            asked == [
                "example.com", "Replace the passkey of this account by a new one?", "The old is deleted for ever.",
                "\"\(user)\"", "The new one is for", shown, "VIRTUAL RADIO: no proximity proof",
            ]
        )
        let made = try await props.workshop.site("verify-creation", input: creation.desktop.lastOutput)
        let new = try JSONDecoder().decode(Verdict.self, from: Data(made.utf8))
        #expect(new.id != old.id)

        let (use, question) = try await read(
            try await props.workshop.site("request-options", ["--only=\(new.id)"]),
            answers: "u",
            "Sign in to this site?"
        )
        let text = "Sign in as this account?"
        #expect(question == ["example.com", text, shown, "VIRTUAL RADIO: no proximity proof"])
        try await props.workshop.site("verify-request", input: use.desktop.lastOutput)
    }

    /// A ceremony with a person at a terminal: how it ended, and the rows of the question behind the one for the PIN.
    private func read(
        _ options: String,
        answers: String,
        _ purpose: String
    ) async throws -> (Meeting, [String]) {
        let props = try SharedStage.take()
        let person = try props.workshop.start("person.py", [Person.rightPIN, answers], input: "")
        let terminal = try await person.firstLine()
        let desktop = try props.workshop.start("client.py", on: props.stage, ["--inspect"], input: options)
        let phone = try props.stage.startAuthenticator(
            try await desktop.firstLine(),
            pinentry: Self.pinentry,
            variables: ["GPG_TTY": terminal, "TERM": "vt100", "LC_ALL": "C.UTF-8"]
        )
        let meeting = Meeting(desktop: try await desktop.ending(), phone: try await phone.ending())
        try #require(meeting.desktop.status == 0 && meeting.phone.status == 0, "\(meeting)")
        let screen = try await person.ending().output
        let rows = screen.split(whereSeparator: \.isNewline).dropFirst().map(String.init)
        // The question for the PIN names the site and the purpose, before any name of the desktop's choice.
        #expect(rows.prefix(2) == ["example.com", purpose], "\(screen)")
        let start = try #require(rows.lastIndex { $0 == "example.com" })
        // Behind the question come the buttons, which begin with two blanks.
        return (meeting, Array(rows[start...].prefix { !$0.hasPrefix("  ") }))
    }
}
