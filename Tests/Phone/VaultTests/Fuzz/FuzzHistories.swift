// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import TestSupport

@testable import HybridVault

/// Fuzzes usage histories.
///
/// An even first byte: the rest is the file. An odd one: the rest holds plaintexts, which are sealed as this device
/// would.
func fuzzVaultUses(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    return choices.flag() ? try sealedUses(&choices) : try usesFile(choices.remaining())
}

private func usesFile(_ bytes: [UInt8]) throws -> Bool {
    guard let file = UsageHistoryFile(bytes: bytes) else { return false }
    let whole = file.bytes
    try invariant(bytes.starts(with: whole), "a history is written back byte for byte")
    try invariant(bytes.count - whole.count < UsageHistoryFile.entryLength, "only an incomplete last entry is dropped")
    try invariant(file.entries.count <= UsageHistoryFile.maximumEntries, "the number of entries is bounded")
    try invariant(UsageHistoryFile(bytes: whole) == file, "the history reads back")
    var genuine = 0
    for index in file.entries.indices {
        if try use(file, index) != nil { genuine += 1 }
    }
    return file.entries.isEmpty || genuine > 0
}

/// Fuzzes entries that a later version, or a bug, may have sealed.
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
        var position = Array("use v1".utf8) + FuzzedVault.identity.associatedData + device.bytes
        position.append(bigEndian: segment)
        position.append(bigEndian: UInt32(plaintexts.count))
        bytes += try Sealing.seal(
            plaintext,
            key: Sealing.derive(FuzzedVault.key, identity: FuzzedVault.identity, info: Array("use v1".utf8)),
            associatedData: position,
            nonce: FuzzedVault.nonce
        )
        plaintexts.append(plaintext)
    }
    let file = try present(UsageHistoryFile(bytes: bytes), "complete entries form a history")
    try invariant(
        file.entries.count == plaintexts.count && file.bytes == bytes,
        "the history is read as it was written"
    )
    var uses: [PasskeyUse] = []
    for index in file.entries.indices {
        guard let use = try use(file, index) else { continue }
        uses.append(use)
        try invariant(
            file.use(at: index, key: FuzzedVault.old, identity: FuzzedVault.identity) == nil,
            "an entry opens under one key only"
        )
        let resealed = file.resealed(from: [FuzzedVault.key], to: FuzzedVault.old, identity: FuzzedVault.identity)
        let again = resealed.use(at: index, key: FuzzedVault.old, identity: FuzzedVault.identity)
        try invariant(again == use, "resealing changes no use")
    }
    for use in uses {
        guard let longer = file.adding(use, key: FuzzedVault.key, identity: FuzzedVault.identity) else { continue }
        let last = longer.entries.count - 1
        try invariant(try present(UsageHistoryFile(bytes: longer.bytes), "reads back") == longer, "a use can be added")
        try invariant(
            longer.use(at: last, key: FuzzedVault.key, identity: FuzzedVault.identity) == use,
            "the added use can be read"
        )
        try invariant(longer.bytes.starts(with: file.bytes), "a use is appended")
    }
    if file.entries.count > 1, uses.count > 1 {
        let pieces = (bytes.prefix(22), bytes.dropFirst(22).prefix(540), bytes.dropFirst(562).prefix(540))
        let swapped = try present(UsageHistoryFile(bytes: Array(pieces.0 + pieces.2 + pieces.1)), "reads")
        for index in 0..<2 { try invariant(try use(swapped, index) == nil, "an entry is valid at one position only") }
    }
    return !uses.isEmpty
}

private func use(_ file: UsageHistoryFile, _ index: Int) throws -> PasskeyUse? {
    guard let use = file.use(at: index, key: FuzzedVault.key, identity: FuzzedVault.identity) else { return nil }
    try invariant(PasskeyUse(members: use.members) == use, "a use is written as it was read")
    return use
}

/// Fuzzes backups.
///
/// An even first byte: the rest is the file. An odd one: the rest is its content, sealed as this vault would.
func fuzzVaultBackup(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    return choices.flag() ? try sealedBackup(&choices) : try backupFile(choices.remaining())
}

/// Corrects the checksums of slots, which no fuzzer can guess.
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
    try invariant(bytes.starts(with: header) && bytes.count > header.count, "the header is written back byte for byte")
    for slot in file.slots {
        try invariant(slot.identity == file.identity && slot.keyID == file.keyID, "the slots belong to this backup")
    }
    if let entries = file.open(key: FuzzedVault.key) { try paths(entries) }
    return true
}

private func sealedBackup(_ choices: inout Choices) throws -> Bool {
    let count = 1 + choices.number(below: 3)
    var flips = Choices(choices.bytes(3))
    let plaintext = choices.remaining()
    let (key, identity) = (FuzzedVault.key, FuzzedVault.identity)
    let keyID = VaultKeyID(of: key, identity: identity)
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
    try invariant(
        file.slots.count == count && file.open(key: FuzzedVault.old) == nil,
        "a backup opens under one key only"
    )
    let damaged = try present(BackupFile(bytes: header + FuzzedVault.damaged(sealed, &flips)), "read without a key")
    try invariant(damaged.open(key: key) == nil, "every bit is authenticated")
    guard let entries = file.open(key: key) else { return false }
    try paths(entries)
    // Invalid UTF-8 in paths was repaired when they were read.
    let bytes = try BackupFile.seal(entries, slots: file.slots, key: key, identity: identity)
    let again = try present(BackupFile(bytes: bytes), "opened entries can be sealed")
    try invariant(again.open(key: key) == entries, "resealed entries are unchanged")
    return !entries.isEmpty
}

/// Checks the paths to which a backup may write.
private func paths(_ entries: [BackupFile.Entry]) throws {
    for entry in entries {
        guard let path = VaultPath(entry.path) else { continue }
        let parts = path.folders + [path.name]
        try invariant(
            parts.joined(separator: "/") == entry.path && (2...3).contains(parts.count),
            "an accepted path is unchanged"
        )
        try invariant(
            ["records", "slots", "keys", "uses"].contains(path.folders[0]),
            "a path is in a folder of the vault"
        )
        for part in parts {
            let isPlain = part.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
            try invariant(
                !part.isEmpty && isPlain && !part.hasPrefix("."),
                "a path has only names that the program writes"
            )
        }
    }
}
