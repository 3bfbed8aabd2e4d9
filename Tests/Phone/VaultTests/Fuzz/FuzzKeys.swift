// SPDX-License-Identifier: Apache-2.0

import Crypto
import TestSupport

@testable import HybridVault

/// Fuzzes slots of a vault directory: untrusted bytes with a correct checksum.
///
/// An odd first byte adds the MAC of the vault key. No key is derived with scrypt, because reading comes before that.
func fuzzVaultSlot(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    let hasMAC = choices.flag()
    var body = choices.remaining()
    if hasMAC, body.count >= 28 {
        let identity = VaultIdentity(id: Array(body[11..<27]), isTest: body[27] == 1)
        let marking = Sealing.derive(FuzzedVault.key, identity: identity, info: Array("slot v1 made".utf8))
        body += HMAC<SHA256>.authenticationCode(for: body, using: marking)
    }
    let file = body + Sealing.checksum(body)
    try invariant(PortableSlot(bytes: body + [UInt8](repeating: 0, count: 32)) == nil, "the checksum is verified")
    guard let slot = PortableSlot(bytes: file) else { return false }
    try invariant(file.count == PortableSlot.length && slot.bytes == file, "a slot is written back byte for byte")
    let lowest: UInt8 = slot.identity.isTest ? 10 : 15
    try invariant((lowest...20).contains(slot.scrypt.logN) && slot.scrypt.r == 8, "its cost is bounded")
    try invariant((1...4).contains(slot.scrypt.p), "its cost is bounded")
    try invariant(slot.isAuthentic(under: FuzzedVault.key) || !hasMAC, "a MAC of the vault key is authentic")
    try invariant(!slot.isAuthentic(under: FuzzedVault.old), "the MAC is not authentic under another key")
    try invariant(VaultPath("slots/\(slot.fileName)") != nil, "it has a valid file name")
    return true
}

/// Fuzzes links between keys: untrusted bytes, or, if the first byte is odd, an authentic link with one bit changed.
func fuzzVaultLink(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    guard choices.flag() else { return try link(choices.remaining()) }
    let isTest = choices.flag()
    let (old, new) = (SymmetricKey(data: key(&choices)), SymmetricKey(data: key(&choices)))
    let identity = VaultIdentity(id: FuzzedVault.identity.id, isTest: isTest)
    let made = try KeyLink(from: old, to: new, identity: identity)
    guard made.old != made.new else {
        try invariant(KeyLink(bytes: made.bytes) == nil, "no key follows itself")
        return false
    }
    let read = try present(KeyLink(bytes: made.bytes), "a link reads back")
    try invariant(read == made && read.identity == identity, "it is read completely")
    try invariant(read.open(with: new) == old && read.isAuthentic(under: old), "a link is valid under both its keys")
    try invariant(
        read.open(with: old) == nil && !read.isAuthentic(under: new),
        "the keys of a link cannot be exchanged"
    )
    if let damaged = KeyLink(bytes: FuzzedVault.damaged(made.bytes, &choices)) {
        let isAuthentic = damaged.open(with: new) != nil && damaged.isAuthentic(under: old)
        try invariant(!isAuthentic, "every bit of it counts")
    }
    return true
}

private func link(_ bytes: [UInt8]) throws -> Bool {
    guard let link = KeyLink(bytes: bytes) else { return false }
    try invariant(link.bytes == bytes && bytes.count == KeyLink.length, "a link is written back byte for byte")
    try invariant(link.new != link.old, "no key follows itself")
    try invariant(VaultPath("keys/\(link.fileName)") != nil, "it has a valid file name")
    // Forged without the keys, or a seed.
    if link.open(with: FuzzedVault.key) != nil {
        try invariant(link.new == VaultKeyID(of: FuzzedVault.key, identity: link.identity), "a link names its key")
    }
    return true
}

/// Fuzzes pending keys: untrusted bytes, or, if the first byte is odd, an authentic file with one bit changed.
func fuzzVaultPending(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    guard choices.flag() else {
        let bytes = choices.remaining()
        let ring = VaultKeyRing(FuzzedVault.old)
        guard let read = PendingVaultKey.read(bytes, ring: ring, identity: FuzzedVault.identity) else { return false }
        try invariant(
            bytes.count == PendingVaultKey.length && read.old == FuzzedVault.old,
            "a pending key is under a key of the ring"
        )
        return true
    }
    let isCommitted = choices.flag()
    let (old, new) = (SymmetricKey(data: key(&choices)), SymmetricKey(data: key(&choices)))
    let identity = FuzzedVault.identity
    let made = try PendingVaultKey.bytes(new, under: old, isCommitted: isCommitted, identity: identity)
    let read = try present(
        PendingVaultKey.read(made, ring: VaultKeyRing(old), identity: identity),
        "a pending key reads back"
    )
    try invariant(read == (old, new, isCommitted), "it is read completely")
    let damaged = FuzzedVault.damaged(made, &choices)
    try invariant(
        PendingVaultKey.read(damaged, ring: VaultKeyRing(old), identity: identity) == nil,
        "every bit of it counts"
    )
    let other = VaultIdentity(id: identity.id, isTest: true)
    try invariant(
        PendingVaultKey.read(made, ring: VaultKeyRing(old), identity: other) == nil,
        "a pending key belongs to one vault"
    )
    return true
}

private func key(_ choices: inout Choices) -> [UInt8] {
    let bytes = choices.bytes(32)
    return bytes + [UInt8](repeating: 0, count: 32 - bytes.count)
}
