// SPDX-License-Identifier: Apache-2.0

import Crypto
import ExchangeTestSupport
import HybridCBOR
import HybridCTAP
import HybridCredentialExchange
import HybridPrimitives
import TestSupport

@testable import HybridVault

/// Passkeys of vaults that are exported and imported.
extension Exchange {
    /// Returns the bodies of all passkeys of a vault without their order and the mark of an import, by credential ID.
    static func bodies(_ vault: UnlockedVault, _ key: SymmetricKey) throws -> [CredentialID: CBORMap] {
        var bodies: [CredentialID: CBORMap] = [:]
        let records = try vault.files.records(key: key)
        for body in records.passkeys.compactMap({ records.reveal($0.id) }) {
            var members = body.members
            members["order"] = nil
            members["imported"] = nil
            if let id = body.id { bodies[id] = members }
        }
        return bodies
    }

    /// Returns a random body as any version may have written it: optional members, unusual names, unknown members.
    static func randomBody(_ random: inout SeededGenerator) -> CBORMap {
        func text() -> String {
            let kinds = [
                "", "ada@example.com", "Ada \u{2013} \u{1F511}", "\"\\\u{0}\u{1F}\u{7F}\n", "\u{202E}evil", "e\u{301}",
            ]
            let text = kinds[random.number(0...kinds.count - 1)]
            return random.number(0...20) == 0 ? String(repeating: "\u{1D11E}", count: 16_000) : text
        }
        var user: CBORMap = [
            "id": .bytes(random.bytes(random.number(1...64))), "name": .text(text()), "displayName": .text(text()),
        ]
        if random.number(0...3) == 0 { user["nick"] = .text(text()) }
        let site = [
            "example.com", "xn--bcher-kva.example", "localhost", String(repeating: "a", count: 63) + ".b", "ssh:",
            "pam://desk",
        ]
        var body: CBORMap = [
            "id": .bytes(random.bytes(random.number(1...20) == 1 ? 1023 : random.number(1...64))),
            "rp": .text(site[random.number(0...5)]), "user": .map(user), "alg": -7,
            "key": .bytes(Array(P256.Signing.PrivateKey().rawRepresentation)),
            "be": .boolean(random.number(0...1) == 0), "order": 1,
            "created": .unsigned(random.number(0...9) == 0 ? .max : UInt64(random.number(0...2_000_000_000))),
        ]
        if random.number(0...1) == 0 { body["rk"] = false }
        if random.number(0...3) == 0 { body["signs"] = "ssh" }
        if random.number(0...1) == 0 {
            body["prf"] = .bytes(random.bytes(32))
            if random.number(0...1) == 0 { body["prf0"] = .bytes(random.bytes(32)) }
        } else if random.number(0...3) == 0 {
            body["prf"] = ["later": .bytes(random.bytes(40))]
            body["prf0"] = .bytes(random.bytes(3))
        }
        if random.number(0...2) == 0 {
            var foreign = ForeignExtensions()
            if random.number(0...1) == 0 { foreign.blob = random.bytes(random.number(0...1024)) }
            if random.number(0...1) == 0 { foreign.payments = random.number(0...1) == 0 }
            if random.number(0...1) == 0 {
                let size = random.number(0...9) == 0 ? 64 << 10 : random.number(0...100)
                foreign.largeBlob = .init(size: random.next(), data: random.bytes(size))
            }
            body["cxf"] = foreign.member
        } else if random.number(0...5) == 0 {
            body["cxf"] = ["blob": "of another shape"]
        }
        if random.number(0...2) == 0 { body["later"] = ["a": [1, -2, .bytes(random.bytes(9))], "b": .null] }
        return body
    }
}

extension ExchangeFile {
    /// Reads a document as ``read(_:)`` reads a file.
    init(json: [UInt8]) throws(ParseError) { try self.init(json, checking: PasskeyBody.check) }
}

extension UnlockedVault {
    /// Adds a record as another version would.
    func put(_ members: CBORMap) async throws {
        try await perform { key, files throws(VaultError) in
            try files.write(key: key) { _ in (.random(), RecordBody(kind: RecordBody.passkey, members: members)) }
        }
    }
}
