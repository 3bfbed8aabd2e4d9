// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import HybridCTAP
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridAge

@Suite("The formats of age, and of secrets from passkeys")
struct FormatVectorTests {
    @Test("inputs, keys and stanzas of passkeys")
    func stanzas() throws {
        for vector in try AgeVectors.list("fido2prf_stanza") {
            let nonce = try #require(PRFNonce(bytes: try vector.hex("nonce_hex")))
            #expect(nonce.salts.first.bytes == (try vector.hex("first_salt_hex")))
            #expect(nonce.salts.second?.bytes == (try vector.hex("second_salt_hex")))
            let key = try AgeVectors.key(vector)
            let fileKey = try #require(AgeFileKey(bytes: try vector.hex("file_key_hex")))
            let stanza = try #require(PRFStanza(fileKey, key: key, nonce: nonce))
            let expected = try vector.text("stanza")
            #expect(String(decoding: stanza.stanza.encoded, as: UTF8.self) == expected)
            let again = try PRFStanza(try AgeVectors.stanza(expected))
            let parsed = try #require(again)
            #expect(parsed == stanza)
            #expect(parsed.open(with: key)?.bytes == fileKey.bytes)
        }
    }

    @Test("stanzas of passkeys that are malformed, or do not open")
    func wrongStanzas() throws {
        let vectors = try AgeVectors.all.get().value("fido2prf_stanza_invalid")
        let key = try AgeVectors.key(vectors)
        var counts: [String: Int] = [:]
        for vector in try vectors.list("cases") {
            let (text, expected) = (try vector.text("stanza"), try vector.text("expect"))
            counts[expected, default: 0] += 1
            switch expected {
            case "malformed":
                #expect(throws: AgeFormatError.self, "\(vector)") {
                    _ = try PRFStanza(try AgeVectors.stanza(text))
                }
            case "does not open":
                let parsed = try PRFStanza(try AgeVectors.stanza(text))
                let stanza = try #require(parsed)
                #expect(stanza.open(with: key) == nil, "\(vector)")
            default:
                let stanza = try PRFStanza(try AgeVectors.stanza(text))
                #expect(stanza == nil, "\(vector)")
            }
        }
        #expect(counts.values.sorted() == [2, 3, 10])
    }

    @Test("identities of passkeys")
    func identities() throws {
        for vector in try AgeVectors.list("fido2prf_identity") {
            let text = try vector.text("identity")
            guard case .passkey(let identity) = try PluginIdentity(parsing: text) else {
                Issue.record("\(text)")
                continue
            }
            #expect(identity.credential.id.bytes == (try vector.hex("credential_id_hex")))
            #expect(identity.relyingPartyID.text == (try vector.text("rp_id")))
            let transports = try vector.list("transports")
            #expect(identity.credential.transports.map(JSONValue.text) == transports)
            #expect(identity.text == text)
        }
    }

    @Test("identities that are malformed", arguments: ["fido2prf_identity_invalid", "sealed_identity_invalid"])
    func wrongIdentities(list: String) throws {
        // The contents of the age file are known only when it is opened.
        let opensOnly: Set = ["another public key", "payload cut off", "two keys inside", "empty key inside"]
        let results = try AgeVectors.key(try AgeVectors.all.get().value("sealed_identity").value("phone_1"))
        for vector in try AgeVectors.list(list) {
            let (name, text) = (try vector.text("name"), try vector.text("identity"))
            let identity = try? PluginIdentity(parsing: text)
            if list == "sealed_identity_invalid", opensOnly.contains(name) {
                if case .sealed(let key)? = identity {
                    let opened = key.open(with: results, of: nil)
                    #expect(opened == nil, "\(name)")
                }
            } else {
                #expect(identity == nil || identity == .onlyKey, "\(name)")
            }
        }
    }

    @Test("keys of age, and keys that phones open")
    func sealedKeys() throws {
        let vectors = try AgeVectors.all.get().value("sealed_identity")
        let key = try AgeSecretKey(parsing: Array(try vectors.text("age_identity").utf8))
        #expect(String(decoding: key.text, as: UTF8.self) == (try vectors.text("age_identity")))
        #expect(key.recipient.description == (try vectors.text("recipient")))
        #expect(try AgeRecipient(parsing: key.recipient.description) == key.recipient)
        let phones = try ["phone_1", "phone_2"].map { try vectors.value($0) }
        for vector in try vectors.list("valid") {
            let sealed = try AgeVectors.sealed(try vector.text("identity"))
            #expect(sealed.text == (try vector.text("identity")))
            #expect(sealed.name.text == (try vector.text("key_name")))
            #expect(sealed.relyingPartyID.text == (try vector.text("rp_id")))
            #expect(sealed.recipient == key.recipient)
            #expect(Base64.encode(sealed.file.encoded).elementsEqual(try vector.text("file_b64").utf8))
            for (passkey, phone) in zip(sealed.phones, phones) {
                let results = try AgeVectors.key(phone)
                #expect(sealed.open(with: results, of: passkey.id)?.recipient == key.recipient)
                #expect(sealed.open(with: results, of: nil)?.recipient == key.recipient)
            }
            let results = try AgeVectors.key(phones[0])
            #expect(sealed.open(with: results, of: CredentialID(bytes: [1])) == nil)
        }
    }

    @Test("a second phone is added as another implementation adds it")
    func addition() throws {
        let vectors = try AgeVectors.all.get().value("sealed_identity")
        let valid = try vectors.list("valid")
        let one = try #require(try valid.first { try $0.text("name") == "one phone" })
        let two = try #require(try valid.first { try $0.text("name").hasPrefix("the second phone added") })
        let sealed = try AgeVectors.sealed(try one.text("identity"))
        let expected = try AgeVectors.sealed(try two.text("identity"))
        let (first, second) = (try vectors.value("phone_1"), try vectors.value("phone_2"))
        let added = sealed.adding(
            expected.phones[1],
            try AgeVectors.key(second),
            openedWith: try AgeVectors.key(first),
            of: sealed.phones[0].id
        )
        #expect(added == expected)
        #expect(added?.text == expected.text)
        // The results of a stranger's phone open nothing, so nothing is added.
        let stranger = sealed.adding(
            expected.phones[1],
            try AgeVectors.key(first),
            openedWith: try AgeVectors.key(second),
            of: nil
        )
        #expect(stranger == nil)
    }

    @Test("a new key opens with the same results only, and other recipients open its file")
    func sealing() throws {
        let vectors = try AgeVectors.all.get().value("sealed_identity")
        let other = try AgeSecretKey(
            parsing: Array(try vectors.value("other_recipient").text("identity").utf8)
        )
        let (key, nonce) = (AgeSecretKey.random(), PRFNonce.random())
        let id = try #require(CredentialID(bytes: [7, 7]))
        let results = try AgeVectors.key(try vectors.value("phone_1"))
        let new = SealedKey(
            sealing: key,
            name: try #require(SecretName("backup")),
            relyingPartyID: try #require(RelyingPartyID("secret-abcdefghijklmnop.invalid")),
            phone: CredentialDescriptor(id: id, transports: ["hybrid", "internal"]),
            results: results,
            nonce: nonce,
            others: [other.recipient]
        )
        let sealed = try #require(new)
        #expect(try AgeVectors.sealed(sealed.text) == sealed)
        #expect(sealed.nonce == nonce)
        #expect(sealed.open(with: results, of: id)?.recipient == key.recipient)
        #expect(sealed.open(with: try AgeVectors.key(try vectors.value("phone_2")), of: id) == nil)
        let stanza = try #require(try X25519Stanza(sealed.file.stanzas[1]))
        #expect(stanza.open(with: other) != nil)
        #expect(stanza.open(with: key) == nil)
    }

    @Test("a file whose header was changed does not open")
    func changedHeader() throws {
        let vectors = try AgeVectors.all.get().value("sealed_identity")
        let valid = try vectors.list("valid")
        let vector = try #require(try valid.first { try $0.text("name") == "two phones and another recipient" })
        let file = try AgeVectors.sealed(try vector.text("identity")).file
        let results = try AgeVectors.key(try vectors.value("phone_1"))
        let stanza = try PRFStanza(file.stanzas[0])
        let fileKey = try #require(stanza?.open(with: results))
        #expect(file.open(with: fileKey) != nil)
        // Without the last recipient, under the old code.
        let last = try #require(file.stanzas.last).encoded
        var bytes = file.encoded
        let range = try #require(bytes.firstRange(of: last))
        bytes.removeSubrange(range)
        let changed = try AgeFile(parsing: bytes)
        #expect(changed.stanzas.count == file.stanzas.count - 1)
        #expect(changed.open(with: fileKey) == nil)
    }

    @Test("secrets for a purpose")
    func namedSecrets() throws {
        for vector in try AgeVectors.list("named_secret") {
            let key = try AgeSecretKey(parsing: Array(try vector.text("age_identity").utf8))
            let secret = key.named(try #require(SecretPurpose(try vector.text("purpose"))))
            #expect(secret.bytes == (try vector.hex("raw_hex")))
            #expect(String(decoding: secret.text, as: UTF8.self) == (try vector.text("text")))
            #expect("\(secret)" == "NamedSecret(hidden)")
        }
        #expect(SecretPurpose("") == nil)
        #expect(SecretPurpose("a\nb") == nil)
        #expect(SecretPurpose("a\u{FFFD}") == nil)
        #expect(SecretPurpose(String(repeating: "x", count: 256)) == nil)
    }

    @Test("requests and results of phones")
    func messages() throws {
        let vectors = try AgeVectors.all.get().value("ctap")
        let identity = try #require(try AgeVectors.list("fido2prf_identity").first).text("identity")
        let stanza = try #require(try AgeVectors.list("fido2prf_stanza").first).text("stanza")
        let question = try Self.question(identity, stanza)
        let request = CTAPRequest.getAssertion(question.request).encoded
        #expect(request == (try vectors.hex("get_assertion")))
        let answer = PhoneAnswer(
            try ScriptedPhone.response(to: question, try Self.map(vectors.hex("get_assertion_output_8"))),
            to: question
        )
        guard case .results = answer else {
            Issue.record("\(answer)")
            return
        }
        for vector in try vectors.list("output_invalid") {
            let outputs = try Self.map(vector.hex("cbor"))
            let answer = PhoneAnswer(try ScriptedPhone.response(to: question, outputs), to: question)
            guard case .failed = answer else {
                Issue.record("\(vector)")
                continue
            }
        }
        let unverified = try ScriptedPhone.response(
            to: question,
            flags: [.userPresent],
            try Self.map(vectors.hex("get_assertion_output_8"))
        )
        guard case .failed = PhoneAnswer(unverified, to: question) else {
            Issue.record("results without the user's verification")
            return
        }
    }

    private static func map(_ bytes: [UInt8]) throws -> CBORMap {
        try #require(try CBORDecoder.decode(bytes, mode: .strict).map)
    }

    private static func question(_ identity: String, _ stanza: String) throws -> PhoneQuestion {
        let head = AgeStanza("add-identity", [identity])
        let known = try AgeVectors.stanza(stanza)
        let file = AgeStanza("recipient-stanza", ["0", known.type] + known.arguments, body: known.body)
        var machine = try FileUnwrapping([head, file], onlyKey: nil)
        guard case .ask(let question) = machine.next() else { throw JSONValue.Missing.kind("question") }
        return question
    }
}
