// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridPrimitives
import Testing

@testable import HybridVault

@Suite("The record of known slots")
struct KnownSlotsTests {
    @Test("The file of known slots is refused with any flipped byte, and keeps the earliest slots of usual cost")
    func knownSlots() throws {
        let key = SymmetricKey(size: .bits256)
        let identity = VaultIdentity.random(isTest: false)
        func slot(_ scrypt: Scrypt = Scrypt.lowest) throws -> PortableSlot {
            try PortableSlot(wrapping: key, secret: .passphrase(.typed()), identity: identity, scrypt: scrypt)
        }
        let first = try slot()
        var known = KnownSlots(current: first.keyID)
        #expect(KnownSlots(bytes: known.bytes) == known)
        let cheap = try slot(#require(Scrypt(logN: 15, r: 8, p: 4)))
        known.insert([first, first, cheap], isOwn: false)
        #expect(known.slots == [first, cheap], "cheaper than usual, and no slot twice")
        let costly = try #require(PortableSlot(bytes: first.changed { $0[60] = 18 }))
        known.insert([costly], isOwn: false)
        #expect(!known.slots.contains(costly))
        let others = (UInt8(0)..<100).compactMap { VaultKeyID(bytes: [UInt8](repeating: $0, count: VaultKeyID.length)) }
        known.follow(others[0], replacing: others)
        #expect(known.replaced == [] && !known.isReplaced, "a thief may add predecessors")
        known.follow(others[1], replacing: [others[9], others[0], first.keyID])
        #expect(known.replaced == [others[0], first.keyID])
        known.insertReplaced(others[1])
        known.insertReplaced(others[1])
        #expect(known.replaced.count == 3 && known.isReplaced)
        #expect(KnownSlots(bytes: known.bytes) == known)
        for index in known.bytes.indices {
            var bytes = known.bytes
            bytes[index] ^= 1
            #expect(KnownSlots(bytes: bytes) == nil, "byte \(index)")
        }
        for length in 0..<known.bytes.count { #expect(KnownSlots(bytes: Array(known.bytes.prefix(length))) == nil) }
        let content = Array(known.bytes.dropLast(32))
        for index in [26, content.count - 1] {
            var changed = content
            if index == 26 { changed[26] = 255 } else { changed.removeLast() }
            #expect(KnownSlots(bytes: changed + Sealing.checksum(changed)) == nil, "with a correct checksum")
        }
        known.removeReplaced(others[1])
        #expect(!known.isReplaced)
        let many = try (UInt8(0)..<100).filter { $0 != first.id[0] }
            .map { number in try #require(PortableSlot(bytes: first.changed { $0[28] = number })) }
        let own = try #require(many.last)
        known.insert(many, isOwn: false)
        #expect(known.slots.count == KnownSlots.maximumCount && known.slots.first == first)
        known.insert([own], isOwn: true)
        #expect(known.slots.count == KnownSlots.maximumCount && known.slots.prefix(2) == [own, first])
        for key in others { known.insertReplaced(key) }
        #expect(known.replaced.count == KnownSlots.maximumCount && known.replaced.last == others.last)
        #expect(known.bytes.count <= KnownSlots.maximumLength && KnownSlots(bytes: known.bytes) == known)
    }

    @Test("The fingerprint is that of docs/vault.md")
    func fingerprint() {
        let identity = VaultIdentity(id: Vectors.counting(from: 0x20, 16), isTest: false)
        let vectors: [(first: UInt8, fingerprint: String)] = [
            (0x00, "75572 13702 34096 76817 09854 73115"), (0x40, "71548 71520 87198 17556 45245 47368"),
        ]
        for (first, fingerprint) in vectors {
            let key = VaultKeyID(of: SymmetricKey(data: Vectors.counting(from: first, 32)), identity: identity)
            #expect("\(VaultKeyFingerprint(of: key, identity: identity))" == fingerprint)
        }
    }
}

extension PortableSlot {
    /// Returns the slot with other bytes and a correct checksum.
    func changed(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
        var body = Array(bytes.dropLast(32))
        change(&body)
        return body + Sealing.checksum(body)
    }

    /// Returns the slot with other bytes, which a holder of the vault key recognizes as authentic.
    func changed(
        markedUnder key: SymmetricKey,
        _ identity: VaultIdentity,
        _ change: (inout [UInt8]) -> Void
    ) -> [UInt8] {
        changed { body in
            change(&body)
            let marking = Sealing.derive(key, identity: identity, info: Array("slot v1 made".utf8))
            let mac = HMAC<SHA256>.authenticationCode(for: body.prefix(155), using: marking)
            body.replaceSubrange(155..<187, with: Array(mac))
        }
    }
}
