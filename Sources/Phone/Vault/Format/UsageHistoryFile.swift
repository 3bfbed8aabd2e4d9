// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCBOR
package import HybridCTAP
internal import HybridPrimitives

/// One use of a passkey, an attempt to use or create one, or its transfer.
package struct PasskeyUse: Hashable, Sendable {
    /// Operations that a client can request, and both sides of a transfer to another vault.
    package enum Operation: String, Sendable {
        case create
        case signIn = "sign-in"
        case sign
        case give
        case receive
        case other
    }

    /// Outcomes of a use.
    package enum Outcome: String, Sendable {
        case done
        case declined
        case unanswered
        case noPasskey = "no-passkey"
        case alreadyRegistered = "already-registered"
        case clientGone = "client-gone"
        case failed
        case other
    }

    /// Time in seconds since 1970, by the clock of the device that served the request.
    package let time: UInt64
    /// The relying party.
    package let relyingParty: RelyingPartyID
    /// The requested operation.
    package let operation: Operation
    /// The outcome.
    package let outcome: Outcome
    /// Record of the passkey that was used, created or transferred, if any.
    package let record: RecordID?
    /// Name of the other side of a transfer, as it gave it, at most ``maximumPeerLength`` bytes long; otherwise `nil`.
    package let peer: String?

    /// Maximum length of the other side's name in bytes of UTF-8; with it, every entry fits its block.
    static let maximumPeerLength = 128

    /// Creates a use; the name of the other side is shortened.
    init(
        time: UInt64,
        relyingParty: RelyingPartyID,
        operation: Operation,
        outcome: Outcome,
        record: RecordID?,
        peer: String? = nil
    ) {
        self.time = time
        self.relyingParty = relyingParty
        self.operation = operation
        self.outcome = outcome
        self.record = record
        self.peer = peer.map(Self.shortened)
    }

    private static func shortened(_ name: String) -> String {
        var (short, length) = ("", 0)
        for character in name {
            length += character.utf8.count
            guard length <= maximumPeerLength else { break }
            short.append(character)
        }
        return short
    }
}

extension PasskeyUse {
    init?(members: CBORMap) {
        guard case .unsigned(let time)? = members["at"],
            let relyingParty = members["rp"]?.text.flatMap({ RelyingPartyID(stored: $0) }),
            let operation = members["op"]?.text, let outcome = members["end"]?.text
        else { return nil }
        self.time = time
        self.relyingParty = relyingParty
        self.operation = Operation(rawValue: operation) ?? .other
        self.outcome = Outcome(rawValue: outcome) ?? .other
        self.record = members["record"]?.bytes.flatMap { RecordID(bytes: $0) }
        self.peer = members["peer"]?.text
    }

    var members: CBORMap {
        var members: CBORMap = [
            "at": .unsigned(time), "rp": .text(relyingParty.text), "op": .text(operation.rawValue),
            "end": .text(outcome.rawValue),
        ]
        if let record { members["record"] = .bytes(record.bytes) }
        if let peer { members["peer"] = .text(peer) }
        return members
    }
}

/// A segment of one device's usage history; only that device appends to it.
///
/// Magic (8) ‖ format (2) ‖ device ID (8) ‖ segment (4) ‖ entries. Each entry is nonce (12) ‖ ciphertext (512) ‖ tag
/// (16); its plaintext is kind (1) ‖ length (4) ‖ CBOR map ‖ zeros. The position of an entry is in its associated data,
/// so entries can be neither swapped nor copied to another history.
struct UsageHistoryFile: Equatable {
    /// Number of entries after which a new segment begins.
    static let maximumEntries = 256
    /// Length of one entry, in bytes.
    static let entryLength = 12 + 512 + 16
    /// Maximum length of the file, in bytes.
    static let maximumLength = headerLength + maximumEntries * entryLength

    private static let headerLength = 22
    private static let magic = Array("HYBUSESF".utf8)
    private static let label = Array("use v1".utf8)
    private static let kind: UInt8 = 1

    let device: DeviceID
    let segment: UInt32
    /// The sealed entries, each of ``entryLength`` bytes.
    private(set) var entries: [[UInt8]]

    /// Creates an empty segment.
    init(device: DeviceID, segment: UInt32) {
        self.device = device
        self.segment = segment
        entries = []
    }

    /// Parses the header and splits the rest into entries; an incomplete last entry is dropped.
    init?(bytes: [UInt8]) {
        guard bytes.count <= Self.maximumLength, var reader = BinaryFieldReader(bytes, magic: Self.magic),
            let device = reader.takeDeviceID(), let segment = reader.take(UInt32.self)
        else { return nil }
        self.device = device
        self.segment = segment
        entries = []
        while let entry = reader.take(Self.entryLength) { entries.append(entry) }
    }

    /// Contents of the file.
    var bytes: [UInt8] {
        var bytes = .header(magic: Self.magic) + device.bytes
        bytes.append(bigEndian: segment)
        return entries.reduce(into: bytes) { $0 += $1 }
    }

    /// Returns the segment with one more use; `nil` if the segment is full or the use is too long.
    func adding(
        _ use: PasskeyUse,
        key: SymmetricKey,
        identity: VaultIdentity,
        nonce: [UInt8]? = nil
    ) -> UsageHistoryFile? {
        let plaintext = RecordBody(kind: Self.kind, members: use.members).padded
        guard entries.count < Self.maximumEntries, plaintext.count == RecordFile.block,
            let sealed = try? Sealing.seal(
                plaintext,
                key: Sealing.derive(key, identity: identity, info: Self.label),
                associatedData: associatedData(entries.count, identity),
                nonce: nonce
            )
        else { return nil }
        var file = self
        file.entries.append(sealed)
        return file
    }

    /// Returns the use at an index; `nil` if it is not authentic or was written by a later version.
    func use(at index: Int, key: SymmetricKey, identity: VaultIdentity) -> PasskeyUse? {
        let body = try? Sealing.open(
            entries[index],
            key: Sealing.derive(key, identity: identity, info: Self.label),
            associatedData: associatedData(index, identity)
        ) { RecordBody(padded: $0) }
        guard let body, body.kind == Self.kind, let members = body.members else { return nil }
        return PasskeyUse(members: members)
    }

    /// Returns the segment sealed under another key; entries that are not authentic stay unchanged.
    func resealed(from old: [SymmetricKey], to new: SymmetricKey, identity: VaultIdentity) -> UsageHistoryFile {
        var file = self
        for index in entries.indices {
            for key in old {
                let sealed = try? Sealing.open(
                    entries[index],
                    key: Sealing.derive(key, identity: identity, info: Self.label),
                    associatedData: associatedData(index, identity),
                    { plaintext in
                        try? Sealing.seal(
                            plaintext,
                            key: Sealing.derive(new, identity: identity, info: Self.label),
                            associatedData: associatedData(index, identity)
                        )
                    }
                )
                if let sealed { file.entries[index] = sealed }
            }
        }
        return file
    }

    private func associatedData(_ index: Int, _ identity: VaultIdentity) -> [UInt8] {
        var data = Self.label + identity.associatedData + device.bytes
        data.append(bigEndian: segment)
        data.append(bigEndian: UInt32(index))
        return data
    }
}
