// SPDX-License-Identifier: Apache-2.0

import Crypto

@testable import HybridVault

/// Slots of a vault's directory: bytes that a stranger wrote, with the checksum that anybody can make.
///
/// An odd first byte puts the mark of the vault key on them too. Nothing is stretched here: reading comes before that.
func fuzzVaultSlot(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    let isMarked = choices.flag()
    var body = choices.remaining()
    if isMarked, body.count >= 28 {
        let identity = VaultIdentity(id: Array(body[11..<27]), test: body[27] == 1)
        let marking = Sealing.derive(FuzzedVault.key, identity: identity, info: Array("slot v1 made".utf8))
        body += HMAC<SHA256>.authenticationCode(for: body, using: marking)
    }
    let file = body + Sealing.checksum(body)
    try invariant(PortableSlot(bytes: body + [UInt8](repeating: 0, count: 32)) == nil, "its checksum is looked at")
    guard let slot = PortableSlot(bytes: file) else { return false }
    try invariant(file.count == PortableSlot.length && slot.bytes == file, "a slot is kept byte for byte")
    try invariant((15...20).contains(slot.scrypt.logN) && slot.scrypt.r == 8, "its cost is bounded")
    try invariant((1...4).contains(slot.scrypt.p), "its cost is bounded")
    try invariant(slot.isMade(with: FuzzedVault.key) || !isMarked, "who has the vault key made it")
    try invariant(!slot.isMade(with: FuzzedVault.old), "and nobody with another key")
    try invariant(VaultPath("slots/\(slot.fileName)") != nil, "it has a name")
    return true
}

/// Links between keys: bytes that a stranger wrote, or, if the first byte is odd, a genuine link with one bit changed.
func fuzzVaultLink(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    guard choices.flag() else { return try link(choices.remaining()) }
    let isTest = choices.flag()
    let (old, new) = (SymmetricKey(data: key(&choices)), SymmetricKey(data: key(&choices)))
    let identity = VaultIdentity(id: FuzzedVault.identity.id, test: isTest)
    let made = try KeyLink(from: old, to: new, identity: identity)
    guard made.old != made.new else {
        try invariant(KeyLink(bytes: made.bytes) == nil, "no key follows itself")
        return false
    }
    let read = try present(KeyLink(bytes: made.bytes), "a link reads back")
    try invariant(read == made && read.identity == identity, "whole")
    try invariant(read.open(with: new) == old && read.isAnnounced(by: old), "with both its keys")
    try invariant(read.open(with: old) == nil && !read.isAnnounced(by: new), "which are not each other")
    if let damaged = KeyLink(bytes: FuzzedVault.damaged(made.bytes, &choices)) {
        let isGenuine = damaged.open(with: new) != nil && damaged.isAnnounced(by: old)
        try invariant(!isGenuine, "every bit of it counts")
    }
    return true
}

private func link(_ bytes: [UInt8]) throws -> Bool {
    guard let link = KeyLink(bytes: bytes) else { return false }
    try invariant(link.bytes == bytes && bytes.count == KeyLink.length, "a link is kept byte for byte")
    try invariant(link.new != link.old, "no key follows itself")
    try invariant(VaultPath("keys/\(link.fileName)") != nil, "it has a name")
    // Made up without the keys, or a seed.
    if link.open(with: FuzzedVault.key) != nil {
        try invariant(link.new == KeyID(of: FuzzedVault.key, identity: link.identity), "it names its key")
    }
    return true
}

/// The mark of a rekeying in the local state: bytes that somebody wrote, or, if the first byte is odd, a genuine one
/// with one bit changed.
func fuzzVaultPending(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    guard choices.flag() else {
        let bytes = choices.remaining()
        let ring = KeyRing(FuzzedVault.old)
        guard let read = PendingKey.read(bytes, ring: ring, identity: FuzzedVault.identity) else { return false }
        try invariant(bytes.count == PendingKey.length && read.old == FuzzedVault.old, "it is under a key of the ring")
        return true
    }
    let isCommitted = choices.flag()
    let (old, new) = (SymmetricKey(data: key(&choices)), SymmetricKey(data: key(&choices)))
    let identity = FuzzedVault.identity
    let made = try PendingKey.bytes(new, under: old, isCommitted: isCommitted, identity: identity)
    let read = try present(PendingKey.read(made, ring: KeyRing(old), identity: identity), "a mark reads back")
    try invariant(read == (old, new, isCommitted), "whole")
    let damaged = FuzzedVault.damaged(made, &choices)
    try invariant(PendingKey.read(damaged, ring: KeyRing(old), identity: identity) == nil, "every bit of it counts")
    let other = VaultIdentity(id: identity.id, test: true)
    try invariant(PendingKey.read(made, ring: KeyRing(old), identity: other) == nil, "it is of one vault")
    return true
}

private func key(_ choices: inout Choices) -> [UInt8] {
    let bytes = choices.bytes(32)
    return bytes + [UInt8](repeating: 0, count: 32 - bytes.count)
}
