// SPDX-License-Identifier: Apache-2.0

import HybridAge
import HybridCTAP
import HybridPrimitives
import TestSupport
import Testing

@Suite("Conversations of the plug-in with an age client")
struct ConversationTests {
    /// A machine of either kind.
    enum Machine {
        case wrapping(FileWrapping)
        case unwrapping(FileUnwrapping)

        init(_ name: String, _ stanzas: [AgeStanza], onlyKey: SealedKey? = nil) throws {
            switch try #require(PluginMachine(rawValue: name)) {
            case .recipient: self = .wrapping(FileWrapping(stanzas, onlyKey: onlyKey))
            case .identity: self = .unwrapping(try FileUnwrapping(stanzas, onlyKey: onlyKey))
            }
        }

        mutating func next() -> PluginStep {
            switch self {
            case .wrapping(var machine):
                defer { self = .wrapping(machine) }
                return machine.next()
            case .unwrapping(var machine):
                defer { self = .unwrapping(machine) }
                return machine.next()
            }
        }

        mutating func receive(_ answer: PhoneAnswer) {
            switch self {
            case .wrapping(var machine):
                machine.receive(answer)
                self = .wrapping(machine)
            case .unwrapping(var machine):
                machine.receive(answer)
                self = .unwrapping(machine)
            }
        }

        /// Runs the machine with a phone; returns the commands without messages, and the questions.
        mutating func run(_ phone: ScriptedPhone) throws -> (commands: [AgeStanza], questions: [PhoneQuestion]) {
            var (commands, questions): ([AgeStanza], [PhoneQuestion]) = ([], [])
            while true {
                switch next() {
                case .command(let stanza): if stanza.type != "msg" { commands.append(stanza) }
                case .ask(let question):
                    questions.append(question)
                    receive(try phone.answer(question))
                case .done: return (commands, questions)
                }
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
            var machine = try Machine(try vector.text("machine"), stanzas)
            let (commands, questions) = try machine.run(ScriptedPhone(script: try vector.text("test_phone")))
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
        var machine = try Machine("identity-v1", [AgeStanza("add-identity", [identity])] + twice)
        let (commands, questions) = try machine.run(ScriptedPhone(script: "key:" + secret))
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

    @Test("use the only key of the user for an identity without data, and say so without one")
    func onlyKey() throws {
        let vectors = try AgeVectors.all.get().value("sealed_identity")
        let sealed = try AgeVectors.sealed(try #require(try vectors.list("valid").first).text("identity"))
        let key = AgeFileKey.random()
        let stanza = try #require(X25519Stanza(key, for: sealed.recipient)).stanza
        let file = AgeStanza("recipient-stanza", ["0", stanza.type] + stanza.arguments, body: stanza.body)
        let identity = AgeStanza("add-identity", ["AGE-PLUGIN-PHONE-1RSN8H8"])
        let phone = ScriptedPhone(script: "key:" + (try vectors.value("phone_1").text("secret_hex")))
        var machine = try Machine("identity-v1", [identity, file], onlyKey: sealed)
        #expect(try machine.run(phone).commands.map(\.body) == [key.bytes])
        var without = try Machine("identity-v1", [identity, file])
        #expect(try without.run(phone).commands.map(\.arguments) == [["identity", "0"]])
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

    @Test("never use a nonce for two file keys")
    func nonces() throws {
        let identity = try #require(try AgeVectors.list("fido2prf_identity").first).text("identity")
        let keys = (0..<8).map { _ in AgeStanza("wrap-file-key", body: AgeFileKey.random().bytes) }
        var machine = try Machine("recipient-v1", [AgeStanza("add-identity", [identity])] + keys)
        let secret = String(repeating: "07", count: 32)
        let (commands, questions) = try machine.run(ScriptedPhone(script: "key:" + secret))
        #expect(Set(questions.map(\.nonce)).count == 8)
        #expect(Set(commands.map { $0.arguments[2] }).count == 8)
    }
}
