// SPDX-License-Identifier: Apache-2.0

import HybridAge
import HybridCTAP
import HybridPrimitives
import TestSupport
import Testing

@Suite("Conversations of the plug-in with an age client")
struct ConversationTests {
    static func machine(
        _ name: String,
        _ stanzas: [AgeStanza],
        onlyKey: SealedKey? = nil
    ) throws -> any PluginConversation {
        switch try #require(PluginMachine(rawValue: name)) {
        case .recipient: FileWrapping(stanzas, onlyKey: onlyKey)
        case .identity: try FileUnwrapping(stanzas, onlyKey: onlyKey)
        }
    }

    /// Runs a machine with a phone; returns the commands without messages, and the questions.
    static func run(
        _ machine: any PluginConversation,
        _ phone: ScriptedPhone
    ) throws -> (commands: [AgeStanza], questions: [PhoneQuestion]) {
        var (machine, commands, questions): (any PluginConversation, [AgeStanza], [PhoneQuestion]) = (machine, [], [])
        while true {
            switch machine.next() {
            case .command(let stanza): if stanza.type != "msg" { commands.append(stanza) }
            case .ask(let question):
                questions.append(question)
                machine.receive(try phone.answer(question))
            case .done: return (commands, questions)
            }
        }
    }

    /// Returns the stanzas of the client's part, without the last command, read in pieces.
    static func stanzas(_ text: String, pieces: Int) throws -> [AgeStanza] {
        var input = PluginInput()
        var (stanzas, rest): ([AgeStanza], ArraySlice<UInt8>) = ([], Array(text.utf8)[...])
        while !rest.isEmpty {
            stanzas += try input.add(rest.prefix(pieces))
            rest = rest.dropFirst(pieces)
        }
        #expect(stanzas.last?.type == PluginMachine.end)
        return stanzas.dropLast()
    }

    @Test("have the commands and the number of questions that the vectors name", arguments: [1, 7, 4096])
    func vectors(pieces: Int) throws {
        let cases = try AgeVectors.all.get().value("plugin").list("cases")
        #expect(cases.count == 27)
        for vector in cases {
            let name = try vector.text("name")
            let stanzas = try Self.stanzas(try vector.text("phase1"), pieces: pieces)
            let machine = try Self.machine(try vector.text("machine"), stanzas)
            let (commands, questions) = try Self.run(machine, ScriptedPhone(script: try vector.text("test_phone")))
            #expect(questions.count == (try vector.number("approvals")), "\(name)")
            let expected = try vector.list("expect")
            #expect(commands.map(\.type) == (try expected.map { try $0.text("command") }), "\(name)")
            for (command, expected) in zip(commands, expected) {
                let arguments = try expected.list("args")
                if expected["random"] != nil {
                    let known = command.arguments.prefix(arguments.count).map(JSONValue.text)
                    #expect(known == arguments, "\(name)")
                    #expect(command.arguments.count == arguments.count + 1 && command.body.count == 32, "\(name)")
                } else {
                    #expect(command.arguments.map(JSONValue.text) == arguments, "\(name)")
                }
                if expected["body_hex"] != nil {
                    #expect(command.body == (try expected.hex("body_hex")), "\(name)")
                }
            }
        }
    }

    @Test("name the attempt if a file has stanzas of several passkeys, and ask once for each nonce")
    func attempts() throws {
        let vectors = try AgeVectors.all.get()
        let identity = try #require(try vectors.list("fido2prf_identity").first).text("identity")
        let secret = try #require(try vectors.list("fido2prf_stanza").first).text("secret_hex")
        let stanzas = try (0..<3).map { index in
            let (nonce, other) = (PRFNonce.random(), ScriptedPhone(script: "key:" + String(repeating: "00", count: 32)))
            let phone = index == 2 ? ScriptedPhone(script: "key:" + secret) : other
            return try Self.stanza(nonce, phone)
        }
        let twice = [stanzas[0], stanzas[0], stanzas[1], stanzas[2]]
        let machine = try Self.machine("identity-v1", [AgeStanza("add-identity", [identity])] + twice)
        let (commands, questions) = try Self.run(machine, ScriptedPhone(script: "key:" + secret))
        #expect(questions.map(\.purpose) == (1...3).map { .decrypt(attempt: $0, of: 3) })
        #expect(commands.map(\.type) == ["file-key"])
    }

    /// Returns the command with a stanza that a passkey opens.
    private static func stanza(_ nonce: PRFNonce, _ phone: ScriptedPhone) throws -> AgeStanza {
        let secret = try #require(Hexadecimal.bytes(String(phone.script.dropFirst(4))))
        let second = try #require(nonce.salts.second)
        let output = PRFOutput(
            first: try ScriptedPhone.result(nonce.salts.first, secret),
            second: try ScriptedPhone.result(second, secret)
        )
        let key = try #require(PRFKey(output))
        let stanza = try #require(PRFStanza(.random(), key: key, nonce: nonce)).stanza
        return AgeStanza("recipient-stanza", ["0", stanza.type] + stanza.arguments, body: stanza.body)
    }

    @Test("open no file with a malformed stanza, also if another one of the file is right")
    func malformedFile() throws {
        let identity = try #require(try AgeVectors.list("fido2prf_identity").first).text("identity")
        let secret = try #require(try AgeVectors.list("fido2prf_stanza").first).text("secret_hex")
        let phone = ScriptedPhone(script: "key:" + secret)
        let right = try Self.stanza(.random(), phone)
        let wrong = AgeStanza("recipient-stanza", ["0", PRFStanza.type])
        for stanzas in [[right, wrong], [wrong, right]] {
            let machine = try Self.machine("identity-v1", [AgeStanza("add-identity", [identity])] + stanzas)
            let (commands, questions) = try Self.run(machine, phone)
            #expect(commands.map(\.type) == ["error"] && questions.isEmpty)
        }
    }

    @Test("send no stanza if one of several file keys can't be wrapped")
    func partialWrapping() throws {
        let identity = try #require(try AgeVectors.list("fido2prf_identity").first).text("identity")
        let keys = (0..<2).map { _ in AgeStanza("wrap-file-key", body: AgeFileKey.random().bytes) }
        var machine = try Self.machine("recipient-v1", [AgeStanza("add-identity", [identity])] + keys)
        let answers = [
            ScriptedPhone(script: "key:" + String(repeating: "07", count: 32)), ScriptedPhone(script: "deny"),
        ]
        for phone in answers {
            guard case .ask(let question) = machine.next() else {
                Issue.record("no question")
                return
            }
            machine.receive(try phone.answer(question))
        }
        let rest = try Self.run(machine, answers[1])
        #expect(rest.commands.map(\.type) == ["error"] && rest.questions.isEmpty)
    }

    @Test("use the only key of the user for an identity without data, and say so without one")
    func onlyKey() throws {
        let vectors = try AgeVectors.all.get().value("sealed_identity")
        let sealed = try AgeVectors.sealed(try #require(try vectors.list("valid").first).text("identity"))
        let key = AgeFileKey.random()
        let stanza = try #require(X25519Stanza(key, for: sealed.recipient)).stanza
        let file = AgeStanza("recipient-stanza", ["0", stanza.type] + stanza.arguments, body: stanza.body)
        let identity = AgeStanza("add-identity", ["AGE-PLUGIN-PHONE-1RSN8H8"])
        let phone = ScriptedPhone(script: "key:" + (try vectors.value("phone_1").text("secret_hex")))
        let machine = try Self.machine("identity-v1", [identity, file], onlyKey: sealed)
        #expect(try Self.run(machine, phone).commands.map(\.body) == [key.bytes])
        let without = try Self.machine("identity-v1", [identity, file])
        #expect(try Self.run(without, phone).commands.map(\.arguments) == [["identity", "0"]])
    }

    @Test("end with an error if the client's part is malformed")
    func malformed() throws {
        for text in ["x\n", "->\n", "-> \n", "-> a  b\n\n", "-> a\nQQ==\n", "-> a\nQR\n", "-> a\n\u{e9}\n"] {
            var input = PluginInput()
            #expect(throws: AgeFormatError.stanza, "\(text)") { _ = try input.add(text.utf8) }
        }
        let back = ["1", "0"].map { AgeStanza("recipient-stanza", [$0, "X25519"]) }
        #expect(throws: AgeFormatError.stanza) { _ = try FileUnwrapping(back, onlyKey: nil) }
        #expect(throws: AgeFormatError.stanza) {
            _ = try FileUnwrapping([AgeStanza("recipient-stanza", ["0"])], onlyKey: nil)
        }
    }

    @Test("end above the limit of the client's part")
    func limit() throws {
        var input = PluginInput()
        let line = [UInt8](repeating: UInt8(ascii: "-"), count: PluginInput.maximumLength)
        #expect(try input.add(line).isEmpty)
        #expect(throws: AgeFormatError.stanza) { _ = try input.add([UInt8(ascii: "-")]) }
    }

    @Test("never use a nonce for two file keys")
    func nonces() throws {
        let identity = try #require(try AgeVectors.list("fido2prf_identity").first).text("identity")
        let keys = (0..<8).map { _ in AgeStanza("wrap-file-key", body: AgeFileKey.random().bytes) }
        let machine = try Self.machine("recipient-v1", [AgeStanza("add-identity", [identity])] + keys)
        let secret = String(repeating: "07", count: 32)
        let (commands, questions) = try Self.run(machine, ScriptedPhone(script: "key:" + secret))
        #expect(Set(questions.map(\.nonce)).count == 8)
        #expect(Set(commands.map { $0.arguments[2] }).count == 8)
    }
}
