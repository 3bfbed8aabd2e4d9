// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import TestSupport

@testable import HybridVault

/// Fuzzes files of a vault, which a hostile file sync may have written, and of the local state.
///
/// The first byte selects the kind.
///
/// No fuzzer can guess a tag or a checksum, so some are computed here over the fuzzer's choices.
func fuzzVault(_ input: [UInt8]) throws -> Bool {
    guard let kind = input.first else { return false }
    let body = Array(input.dropFirst())
    return switch kind % 8 {
    case 0: try record(body)
    case 1: try recordBody(body)
    case 2: try identity(body)
    case 3: try revisionName(body)
    case 4: try slot(body)
    case 5: try attempts(body)
    case 6: try seen(body)
    default: try device(body)
    }
}

private let (key, vault, nonce) = (FuzzedVault.key, FuzzedVault.identity, FuzzedVault.nonce)

private func record(_ bytes: [UInt8]) throws -> Bool {
    guard let file = RecordFile(bytes: bytes) else { return false }
    try invariant(file.bytes == bytes && file.revision.counter > 0, "a record is written back byte for byte")
    try invariant(Revision.nameKind(file.revision.fileName) == .proper, "a revision has a valid file name")
    let other = VaultIdentity(id: vault.id, isTest: true)
    try invariant(file.open(key: key, identity: other) == nil, "a record opens in no other vault")
    guard let body = file.open(key: key, identity: vault) else { return false }
    let again = RecordFile(
        sealing: RecordBody(kind: body.kind, members: try present(body.members, "what was sealed here is a map")),
        id: file.id,
        revision: file.revision,
        key: key,
        identity: vault,
        nonce: Array(file.nonce)
    )
    try invariant(again == file, "an opened record is sealed to the same bytes")
    return true
}

/// Fuzzes plaintexts: kind, claimed length, CBOR, and padding that is correct unless it is damaged on purpose.
private func recordBody(_ bytes: [UInt8]) throws -> Bool {
    var choices = Choices(bytes)
    let (kind, lie, dirt) = (choices.byte(), choices.number(below: 16), choices.number(below: 16))
    let cbor = choices.remaining()
    let claimed = UInt32(cbor.count) + (lie == 15 ? 1 : 0)
    var padded = [kind]
    padded.append(bigEndian: claimed)
    padded += cbor
    padded += [UInt8](repeating: 0, count: (512 - padded.count % 512) % 512)
    let isFull = 5 + cbor.count == padded.count
    if dirt == 15 { padded[padded.count - 1] ^= 1 }
    guard let body = padded.withUnsafeBytes({ RecordBody(padded: $0) }) else {
        try invariant(lie == 15 || dirt == 15, "a correct padding is accepted")
        return false
    }
    try invariant(dirt != 15 || isFull || claimed > cbor.count, "the padding is zeros")
    let listedUsability = try present(
        padded.withUnsafeBytes { bytes in RecordListing(padded: bytes).map { $0.passkey?.isUsable } },
        "a body that is read is listed"
    )
    guard let members = body.members else { return false }
    let isUsable = PasskeyBody(members: members).passkey != nil
    try invariant(
        kind != RecordBody.passkey || listedUsability == isUsable,
        "a listing states whether a passkey can be used"
    )
    try invariant(RecordBody(kind: kind, members: members).padded == padded, "a body is written as it was read")
    let revision = Revision(counter: 7, device: try present(DeviceID(bytes: Array(0..<8)), "8 bytes are a device"))
    let id = try present(RecordID(bytes: Array(0..<16)), "16 bytes are a record")
    let file = try present(
        RecordFile(sealing: body, id: id, revision: revision, key: key, identity: vault, nonce: nonce),
        "a short body is sealed"
    )
    try invariant(try record(file.bytes), "a sealed record opens")
    try passkey(members)
    return true
}

private func passkey(_ members: CBORMap) throws {
    var body = PasskeyBody(members: members)
    if let passkey = body.passkey {
        let again = PasskeyBody(passkey, order: body.order, created: body.created)
        let read = try present(again.passkey, "a passkey reads back")
        try invariant(read.id == passkey.id && read.relyingParty == passkey.relyingParty, "a passkey keeps its IDs")
        try invariant(
            read.user == passkey.user && read.isBackupEligible == passkey.isBackupEligible,
            "a passkey keeps its account"
        )
        let keys = (read.privateKey.rawRepresentation, passkey.privateKey.rawRepresentation)
        try invariant(keys.0 == keys.1, "a passkey keeps its private key")
        try invariant(read.isDiscoverable == passkey.isDiscoverable, "a passkey keeps its options")
        let secrets = [read, passkey].map { $0.prfSecret?.withUnsafeBytes { Array($0) } }
        try invariant(secrets[0] == secrets[1], "a passkey keeps its secret")
    }
    let before = body
    body.rename(name: "new", displayName: "New")
    let kept = members.keys.filter { $0 != "user" }.allSatisfy { body.members[$0] == members[$0] }
    try invariant(kept, "renaming changes nothing else")
    try invariant((body.passkey == nil) == (before.passkey == nil), "renaming keeps a passkey usable")
    if let user = body.user {
        try invariant(user.name == "new" && user.id == before.user?.id, "renaming changes the names only")
    }
}

private func identity(_ bytes: [UInt8]) throws -> Bool {
    let identity: VaultIdentity
    do throws(VaultError) {
        identity = try VaultIdentity.read(bytes)
    } catch {
        if case .unsupportedFormat(let format) = error { try invariant(format != 1, "format 1 is this one") }
        return false
    }
    try invariant(Array(identity.text.utf8) == bytes, "there is one spelling")
    return true
}

private func revisionName(_ bytes: [UInt8]) throws -> Bool {
    let name = String(decoding: bytes, as: UTF8.self)
    let kind = Revision.nameKind(name)
    let parts = name.utf8.split(separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
    let digits = parts[0].allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    let isNumber = (1...20).contains(parts[0].count) && digits && parts[0].first != UInt8(ascii: "0")
    let device = parts.count == 2 ? Array(parts[1]) : []
    let isDevice = device.count >= 16 && device.prefix(16).allSatisfy { "0123456789abcdef".utf8.contains($0) }
    try invariant((kind != nil) == (isNumber && isDevice), "a revision is number, hyphen and device")
    try invariant((kind == .proper) == (isNumber && isDevice && device.count == 16), "a proper name has no suffix")
    return kind != nil
}

private func slot(_ bytes: [UInt8]) throws -> Bool {
    let file = bytes + Sealing.checksum(bytes)
    guard let slot = PINSlot(bytes: file) else { return false }
    try invariant(slot.bytes == file, "a slot is written back byte for byte")
    let lowest: UInt8 = slot.header.identity.isTest ? 10 : 15
    try invariant((lowest...20).contains(slot.header.scrypt.logN) && slot.header.scrypt.r == 8, "its cost is bounded")
    try invariant((1...4).contains(slot.header.scrypt.p), "its cost is bounded")
    try invariant(PINSlot(bytes: bytes + [UInt8](repeating: 0, count: 32)) == nil, "the checksum is verified")
    return true
}

/// Fuzzes an attempt counter, followed by the present time.
private func attempts(_ bytes: [UInt8]) throws -> Bool {
    let content = Array(bytes.prefix(22))
    let file = content + Sealing.checksum(content)
    guard var counter = AttemptCounter(bytes: file) else { return false }
    try invariant(counter.bytes == file, "a counter is written back byte for byte")
    let now = bytes.dropFirst(22).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let (wait, wrong) = (counter.wait, counter.wrong)
    try invariant(wait <= AttemptCounter.longestWait && (0...5).contains(counter.left), "a wait is bounded")
    try invariant(counter.remaining(now: now) <= wait, "no clock extends the wait")
    try invariant(counter.remaining(now: .max) == 0 || counter.last > .max - wait, "the wait ends")
    counter.begin(now: now)
    try invariant(counter.wrong == (wrong == .max ? .max : wrong + 1) && counter.wait >= wait, "attempts are counted")
    return true
}

private func seen(_ plaintext: [UInt8]) throws -> Bool {
    let label = Array("seen v1".utf8)
    let sealed = try Sealing.seal(
        plaintext,
        key: Sealing.derive(key, identity: vault, info: label),
        associatedData: label + vault.associatedData,
        nonce: nonce
    )
    let file = Array("HYBSEENR".utf8) + sealed
    guard let seen = SeenRevisions(bytes: file, key: key, identity: vault) else {
        try invariant(plaintext.count % 33 != 0, "whole entries are read")
        return false
    }
    try invariant(plaintext.count % 33 == 0, "half an entry is refused")
    let again = SeenRevisions(bytes: try seen.bytes(key: key, identity: vault), key: key, identity: vault)
    try invariant(again == seen, "the seen revisions read back")
    for (id, entry) in seen.entries {
        var extended = seen
        extended.insert(id, newest: Revision(counter: 5, device: entry.newest.device), isDeleted: false)
        let after = try present(extended.entries[id], "nothing is forgotten")
        try invariant(after.newest >= entry.newest && (after.isDeleted || !entry.isDeleted), "no revision is undone")
    }
    return !seen.entries.isEmpty
}

private func device(_ bytes: [UInt8]) throws -> Bool {
    let file = bytes + Sealing.checksum(bytes)
    guard let device = Device(bytes: file) else { return false }
    try invariant(device.bytes == file, "a device is written back byte for byte")
    return true
}
