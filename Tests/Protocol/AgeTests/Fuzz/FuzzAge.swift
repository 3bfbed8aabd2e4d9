// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridPrimitives
import TestSupport

@testable import HybridAge

/// Fuzzes the text of identities, keys and recipients.
func fuzzAgeIdentity(_ input: [UInt8]) throws -> Bool {
    let text = String(decoding: input, as: UTF8.self)
    if let (prefix, data) = Bech32.decode(input) {
        let again = Bech32.decode(Bech32.encode(prefix: prefix, data))
        try invariant(again?.prefix == prefix && again?.data == data, "a text is read as it was written")
    }
    if let recipient = try? AgeRecipient(parsing: text) {
        try invariant(recipient.description == text.lowercased(), "a recipient has one text")
        return true
    }
    if let key = try? AgeSecretKey(lines: input) {
        let again = try? AgeSecretKey(parsing: key.text)
        try invariant(again?.recipient == key.recipient, "a key is read as it was written")
        return true
    }
    guard let identity = try? PluginIdentity(parsing: text) else { return false }
    try check(identity)
    return true
}

/// Fuzzes the data of identities behind their checksum; the first byte selects the kind.
func fuzzAgeSealed(_ input: [UInt8]) throws -> Bool {
    guard let kind = input.first else { return false }
    let prefix = kind % 2 == 0 ? SealedKey.prefix : PasskeyIdentity.prefix
    let text = String(decoding: Bech32.encode(prefix: prefix, Array(input.dropFirst())), as: UTF8.self)
    guard let identity = try? PluginIdentity(parsing: text) else { return false }
    try check(identity)
    return identity != .onlyKey
}

private func check(_ identity: PluginIdentity) throws {
    switch identity {
    case .onlyKey: break
    case .passkey(let passkey):
        let again = try? PluginIdentity(parsing: passkey.text)
        try invariant(again == identity, "a passkey is read as it was written")
    case .sealed(let key):
        let again = try? PluginIdentity(parsing: key.text)
        try invariant(again == identity, "a sealed key is read as it was written")
        try invariant((1...16).contains(key.phones.count), "it has phones")
        let other = try FuzzedPhone.results(for: key.nonce)
        if let opened = key.open(with: other, of: nil) {
            try invariant(opened.recipient == key.recipient, "only the named key comes out")
        }
    }
}

/// Fuzzes age files.
func fuzzAgeFile(_ input: [UInt8]) throws -> Bool {
    guard let file = try? AgeFile(parsing: input) else { return false }
    try invariant(file.encoded == input, "a file has one encoding")
    for stanza in file.stanzas {
        if let known = try? PRFStanza(stanza) { try invariant(known.stanza == stanza, "a stanza has one encoding") }
        if let known = try? X25519Stanza(stanza) { try invariant(known.stanza == stanza, "so has another one") }
    }
    try invariant(file.open(with: AgeFileKey(checked: [UInt8](repeating: 7, count: 16))) == nil, "no key is guessed")
    return true
}

/// Fuzzes the input of the plug-in; the first byte selects the machine, the second one the answers of the phone.
func fuzzAgePlugin(_ input: [UInt8]) throws -> Bool {
    guard input.count >= 2 else { return false }
    var reader = PluginInput()
    guard let stanzas = try? reader.add(input.dropFirst(2)) else { return false }
    for stanza in stanzas {
        var again = PluginInput()
        try invariant(try again.add(stanza.encoded) == [stanza], "a stanza is read as it was written")
    }
    let part = Array(stanzas.prefix { $0.type != PluginMachine.end })
    var conversation: any PluginConversation = FileWrapping(part, onlyKey: nil)
    if input[0] % 2 == 0 {
        guard let machine = try? FileUnwrapping(part, onlyKey: nil) else { return false }
        conversation = machine
    }
    try run(conversation, FuzzedPhone(mode: input[1]), count: part.count)
    return !part.isEmpty
}

private func run(_ machine: any PluginConversation, _ phone: FuzzedPhone, count: Int) throws {
    var (machine, opened, asked): (any PluginConversation, Set<String>, Set<PRFNonce>) = (machine, [], [])
    // Each question belongs to a stanza or a file key, and an identity.
    for _ in 0...(3 * (count + 1) * (count + 1)) {
        switch machine.next() {
        case .done: return
        case .command(let stanza):
            let known: Set = ["msg", "error", "file-key", "recipient-stanza"]
            try invariant(known.contains(stanza.type), "only known commands are sent")
            guard stanza.type == "file-key" else { continue }
            try invariant(opened.insert(stanza.arguments[0]).inserted, "a file has one key")
            try invariant(stanza.body.count == 16, "of 16 bytes")
        case .ask(let question):
            if question.purpose == .encrypt { try invariant(asked.insert(question.nonce).inserted, "a new nonce") }
            machine.receive(try phone.answer(question))
        }
    }
    try invariant(false, "a conversation ends")
}

/// A phone whose results follow from the nonce.
private struct FuzzedPhone {
    let mode: UInt8

    static func results(for nonce: PRFNonce) throws -> PRFKey {
        let first = PRFResult(checked: nonce.bytes + nonce.bytes)
        return try present(PRFKey(PRFOutput(first: first, second: first)), "there is a key")
    }

    func answer(_ question: PhoneQuestion) throws -> PhoneAnswer {
        switch mode % 4 {
        case 0: .noPasskey("no")
        case 1: .failed("declined")
        default: .results(try Self.results(for: question.nonce), of: question.passkeys.first?.id)
        }
    }
}
