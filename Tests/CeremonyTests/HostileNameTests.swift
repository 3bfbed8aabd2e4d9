// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// Names that a malicious client chooses, as Debian's pinentry shows them on a terminal.
@Suite("Hostile names on a real terminal", .keepsEvidence, SharedEnvironment(), .serialized)
struct HostileNameTests {
    static let pinentry = "/usr/bin/pinentry-tty"
    static let isInstalled = access(pinentry, X_OK) == 0

    /// Names, and the text that may be shown.
    static let names: [(name: String, shown: String)] = [
        ("mallory\"\n\nexample.org\nSave a passkey", "\"mallory'example.orgSave a passkey\""),
        ("x\nOK\nD 1234\nBYE", "\"xOKD 1234BYE\""),
        ("\u{202E}gro.elpmaxe\u{202C}<b>!</b>", "\"gro.elpmaxeb!/b\""),
        (String(repeating: "long ", count: 2048), "\"" + String(repeating: "long ", count: 12) + "lon…\""),
    ]

    @Test(
        "the prompt on the terminal is correct, and the name is stored unchanged",
        .enabled(if: isInstalled, "pinentry-tty is not installed"),
        arguments: 0..<names.count
    )
    func shown(index: Int) async throws {
        let environment = try CeremonyEnvironment.shared()
        let (name, shown) = Self.names[index]
        // The first ceremony creates the vault, with scripted answers.
        let user = "user\(index)@example.com"
        let old = try await environment.create(user: user)
        let (creation, prompt) = try await read(
            try await environment.site(
                "create-options",
                ["--user", user],
                with: ["user": ["name": name, "displayName": name]]
            ),
            answers: "r",
            "Create a passkey for this site?"
        )
        #expect(
            prompt == [
                "example.com", "Replace the passkey of this account with a new one?",
                "The old one is deleted permanently.",
                "\"\(user)\"", "The new one is for", shown, "VIRTUAL RADIO: no proximity proof",
            ]
        )
        let made = try await environment.site("verify-creation", input: creation.client.lastOutput)
        let new = try JSONDecoder().decode(Verdict.self, from: Data(made.utf8))
        #expect(new.id != old.id)

        let (use, question) = try await read(
            try await environment.site("request-options", ["--only=\(new.id)"]),
            answers: "u",
            "Sign in to this site?"
        )
        let text = "Sign in as this account?"
        #expect(question == ["example.com", text, shown, "VIRTUAL RADIO: no proximity proof"])
        try await environment.site("verify-request", input: use.client.lastOutput)
    }

    /// Runs a ceremony with a user at a terminal, and returns its result and the lines of the prompt after the PIN.
    private func read(
        _ options: String,
        answers: String,
        _ purpose: String
    ) async throws -> (CeremonyResult, [String]) {
        let environment = try CeremonyEnvironment.shared()
        let user = try environment.counterparts.start("person.py", [TestUser.rightPIN, answers], input: "")
        let terminal = try await user.firstLine()
        let client = try environment.startCounterpart("client.py", ["--inspect"], input: options)
        let authenticator = try environment.startAuthenticator(
            try await client.firstLine(),
            pinentry: Self.pinentry,
            variables: ["GPG_TTY": terminal, "TERM": "vt100", "LC_ALL": "C.UTF-8"]
        )
        let result = CeremonyResult(client: try await client.ending(), authenticator: try await authenticator.ending())
        try #require(result.isSuccess, "\(result)")
        let screen = try await user.ending().output
        let rows = screen.split(whereSeparator: \.isNewline).dropFirst().map(String.init)
        // The prompt for the PIN names the site and the purpose, before any name that the client chose.
        #expect(rows.prefix(2) == ["example.com", purpose], "\(screen)")
        let start = try #require(rows.lastIndex { $0 == "example.com" })
        // After the text come the buttons, which begin with two blanks.
        return (result, Array(rows[start...].prefix { !$0.hasPrefix("  ") }))
    }
}
