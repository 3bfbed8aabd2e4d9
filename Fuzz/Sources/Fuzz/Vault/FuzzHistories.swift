// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridCTAP

@testable import HybridVault

/// Histories of use.
///
/// The first byte says whether the file is the fuzzer's (even), or its plaintexts are, sealed as
/// this device would (odd).
func fuzzVaultUses(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    return choices.flag() ? try sealedUses(&choices) : try usesFile(choices.remaining())
}

private func usesFile(_ bytes: [UInt8]) throws -> Bool {
    guard let file = UsageHistoryFile(bytes: bytes) else { return false }
    let whole = file.bytes
    try invariant(bytes.starts(with: whole), "a history is kept byte for byte")
    try invariant(bytes.count - whole.count < UsageHistoryFile.entryLength, "but for an entry that is not whole")
    try invariant(file.entries.count <= UsageHistoryFile.maximumEntries, "it is bounded")
    try invariant(UsageHistoryFile(bytes: whole) == file, "and reads back")
    var genuine = 0
    for index in file.entries.indices {
        if try use(file, index) != nil { genuine += 1 }
    }
    return file.entries.isEmpty || genuine > 0
}

/// Entries as a later version, or a bug, may have sealed them.
private func sealedUses(_ choices: inout Choices) throws -> Bool {
    let device = try present(DeviceID(bytes: Array(0x40..<0x48)), "8 bytes are a device")
    let segment = UInt32(choices.byte())
    var bytes = UsageHistoryFile(device: device, segment: segment).bytes
    var plaintexts: [[UInt8]] = []
    while !choices.isEmpty, plaintexts.count < 4 {
        let (kind, lie) = (choices.byte(), choices.byte())
        let cbor = choices.bytes(min(choices.number(below: 65536), 507))
        var plaintext = [kind]
        plaintext.append(bigEndian: UInt32(cbor.count) + (lie == 255 ? 1 : 0))
        plaintext += cbor
        plaintext += [UInt8](repeating: lie == 254 ? 1 : 0, count: 512 - plaintext.count)
        var place = Array("use v1".utf8) + FuzzedVault.identity.associatedData + device.bytes
        place.append(bigEndian: segment)
        place.append(bigEndian: UInt32(plaintexts.count))
        bytes += try Sealing.seal(
            plaintext,
            key: Sealing.derive(FuzzedVault.key, identity: FuzzedVault.identity, info: Array("use v1".utf8)),
            associatedData: place,
            nonce: FuzzedVault.nonce
        )
        plaintexts.append(plaintext)
    }
    let file = try present(UsageHistoryFile(bytes: bytes), "whole entries are a history")
    try invariant(file.entries.count == plaintexts.count && file.bytes == bytes, "as it was written")
    var uses: [PasskeyUse] = []
    for index in file.entries.indices {
        guard let use = try use(file, index) else { continue }
        uses.append(use)
        try invariant(file.use(at: index, key: FuzzedVault.old, identity: FuzzedVault.identity) == nil, "under one key")
        let resealed = file.resealed(from: [FuzzedVault.key], to: FuzzedVault.old, identity: FuzzedVault.identity)
        let again = resealed.use(at: index, key: FuzzedVault.old, identity: FuzzedVault.identity)
        try invariant(again == use, "another key changes no use")
    }
    for use in uses {
        guard let longer = file.adding(use, key: FuzzedVault.key, identity: FuzzedVault.identity) else { continue }
        let last = longer.entries.count - 1
        try invariant(try present(UsageHistoryFile(bytes: longer.bytes), "reads back") == longer, "a use can be added")
        try invariant(longer.use(at: last, key: FuzzedVault.key, identity: FuzzedVault.identity) == use, "and is there")
        try invariant(longer.bytes.starts(with: file.bytes), "behind all others")
    }
    if file.entries.count > 1, uses.count > 1 {
        let pieces = (bytes.prefix(22), bytes.dropFirst(22).prefix(540), bytes.dropFirst(562).prefix(540))
        let swapped = try present(UsageHistoryFile(bytes: Array(pieces.0 + pieces.2 + pieces.1)), "reads")
        for index in 0..<2 { try invariant(try use(swapped, index) == nil, "an entry has one place") }
    }
    return !uses.isEmpty
}

private func use(_ file: UsageHistoryFile, _ index: Int) throws -> PasskeyUse? {
    guard let use = file.use(at: index, key: FuzzedVault.key, identity: FuzzedVault.identity) else { return nil }
    try invariant(PasskeyUse(members: use.members) == use, "a use is written as it was read")
    return use
}

/// Backups.
///
/// The first byte says whether the file is the fuzzer's (even), or what is in it is, sealed as this vault
/// would (odd).
func fuzzVaultBackup(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    return choices.flag() ? try sealedBackup(&choices) : try backupFile(choices.remaining())
}

/// No fuzzer makes checksums of slots, so they are put right here.
private func backupFile(_ bytes: [UInt8]) throws -> Bool {
    var bytes = bytes
    if bytes.count > 44 {
        for index in 0..<Int(bytes[43]) {
            let end = 44 + (index + 1) * PortableSlot.length
            guard end <= bytes.count else { break }
            let slot = Array(bytes[(end - PortableSlot.length)..<(end - 32)])
            bytes.replaceSubrange((end - 32)..<end, with: Sealing.checksum(slot))
        }
    }
    guard let file = BackupFile(bytes: bytes) else { return false }
    try invariant((1...32).contains(file.slots.count), "the slots are bounded")
    let header = bytes.prefix(44) + file.slots.flatMap(\.bytes)
    try invariant(bytes.starts(with: header) && bytes.count > header.count, "and kept byte for byte")
    for slot in file.slots {
        try invariant(slot.identity == file.identity && slot.keyID == file.keyID, "they are this backup's")
    }
    if let entries = file.open(key: FuzzedVault.key) { try paths(entries) }
    return true
}

private func sealedBackup(_ choices: inout Choices) throws -> Bool {
    let count = 1 + choices.number(below: 3)
    var flips = Choices(choices.bytes(3))
    let plaintext = choices.remaining()
    let (key, identity) = (FuzzedVault.key, FuzzedVault.identity)
    let keyID = KeyID(of: key, identity: identity)
    var header = Array("HYBBACKP".utf8) + identity.associatedData + keyID.bytes + [UInt8(count)]
    for number in 0..<count {
        var slot = Array("HYBVSLOT".utf8) + [0, 1, 2] + identity.id + [0]
        slot += [UInt8](repeating: UInt8(number), count: 16) + keyID.bytes + [17, 8, 1]
        slot += [UInt8](repeating: 7, count: 32 + 60 + 32)
        header += slot + Sealing.checksum(slot)
    }
    let sealed = try Sealing.seal(
        plaintext,
        key: Sealing.derive(key, identity: identity, info: Array("backup v1".utf8)),
        associatedData: header,
        nonce: FuzzedVault.nonce
    )
    let file = try present(BackupFile(bytes: header + sealed), "a backup is read")
    try invariant(file.slots.count == count && file.open(key: FuzzedVault.old) == nil, "and opens under one key")
    let damaged = try present(BackupFile(bytes: header + FuzzedVault.damaged(sealed, &flips)), "read without a key")
    try invariant(damaged.open(key: key) == nil, "every bit of it counts")
    guard let entries = file.open(key: key) else { return false }
    try paths(entries)
    // What is not text was mended on the way in.
    let bytes = try BackupFile.seal(entries, slots: file.slots, key: key, identity: identity)
    let again = try present(BackupFile(bytes: bytes), "what was opened is sealed")
    try invariant(again.open(key: key) == entries, "and opens to the same")
    return !entries.isEmpty
}

/// Where a backup may write.
private func paths(_ entries: [BackupFile.Entry]) throws {
    for entry in entries {
        guard let path = VaultPath(entry.path) else { continue }
        let parts = path.folders + [path.name]
        try invariant(parts.joined(separator: "/") == entry.path && (2...3).contains(parts.count), "a path is itself")
        try invariant(["records", "slots", "keys", "uses"].contains(path.folders[0]), "in a folder of the vault")
        for part in parts {
            let isPlain = part.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
            try invariant(!part.isEmpty && isPlain && !part.hasPrefix("."), "and has a name as we write them")
        }
    }
}
