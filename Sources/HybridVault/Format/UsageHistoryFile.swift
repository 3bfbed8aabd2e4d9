// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCBOR
public import HybridCTAP

/// One use of a passkey, or the try of one.
public struct PasskeyUse: Hashable, Sendable {
    /// What was asked for; other values come from later versions.
    public enum Operation: String, Sendable {
        case create
        case signIn = "sign-in"
        case other
    }

    /// What became of it; other values come from later versions.
    public enum Outcome: String, Sendable {
        case done
        case declined
        case unanswered
        case noPasskey = "no-passkey"
        case alreadyRegistered = "already-registered"
        case clientGone = "client-gone"
        case failed
        case other
    }

    /// When, in seconds since 1970 by the clock of the device.
    public let time: UInt64
    /// The relying party.
    public let relyingParty: RelyingPartyID
    /// What was asked for.
    public let operation: Operation
    /// What became of it.
    public let outcome: Outcome
    /// The record of the passkey, if one was used or made.
    public let record: RecordID?

    init(
        time: UInt64,
        relyingParty: RelyingPartyID,
        operation: Operation,
        outcome: Outcome,
        record: RecordID?
    ) {
        self.time = time
        self.relyingParty = relyingParty
        self.operation = operation
        self.outcome = outcome
        self.record = record
    }

    init?(members: CBORMap) {
        guard case .unsigned(let time)? = members["at"],
            let relyingParty = members["rp"]?.text.flatMap({ RelyingPartyID($0) }),
            let operation = members["op"]?.text, let outcome = members["end"]?.text
        else { return nil }
        self.time = time
        self.relyingParty = relyingParty
        self.operation = Operation(rawValue: operation) ?? .other
        self.outcome = Outcome(rawValue: outcome) ?? .other
        self.record = members["record"]?.bytes.flatMap { RecordID(bytes: $0) }
    }

    var members: CBORMap {
        var members: CBORMap = [
            "at": .unsigned(time), "rp": .text(relyingParty.text), "op": .text(operation.rawValue),
            "end": .text(outcome.rawValue),
        ]
        if let record { members["record"] = .bytes(record.bytes) }
        return members
    }
}

/// A piece of the history of one device: only that device adds to it, at the end.
///
/// Magic (8) ‖ format (2) ‖ device ID (8) ‖ segment (4) ‖ entries; each entry is nonce (12) ‖ ciphertext (512) ‖
/// tag (16), and its plaintext is kind (1) ‖ length (4) ‖ CBOR map ‖ zeros. The place of an entry is in its
/// associated data, so that entries can be neither swapped nor copied to another history.
struct UsageHistoryFile: Equatable {
    /// So many entries, then a new segment begins.
    static let maximumEntries = 256
    /// Length of one entry.
    static let entryLength = 12 + 512 + 16
    /// The longest file.
    static let maximumLength = headerLength + maximumEntries * entryLength

    private static let headerLength = 22
    private static let magic = Array("HYBUSESF".utf8)
    private static let label = Array("use v1".utf8)
    private static let kind: UInt8 = 1

    let device: DeviceID
    let segment: UInt32
    /// Sealed entries.
    private(set) var entries: [[UInt8]]

    /// An empty segment.
    init(device: DeviceID, segment: UInt32) {
        self.device = device
        self.segment = segment
        entries = []
    }

    /// Reads header and lengths; a last entry that is not whole is left out.
    init?(bytes: [UInt8]) {
        var reader = FieldReader(bytes)
        guard bytes.count <= Self.maximumLength, reader.take(exactly: Self.magic),
            reader.take(UInt16.self) == VaultIdentity.format,
            let device = reader.take(8).flatMap(DeviceID.init(bytes:)), let segment = reader.take(UInt32.self)
        else { return nil }
        self.device = device
        self.segment = segment
        entries = []
        while let entry = reader.take(Self.entryLength) { entries.append(entry) }
    }

    /// The content of the file.
    var bytes: [UInt8] {
        var bytes = Self.magic
        bytes.append(bigEndian: VaultIdentity.format)
        bytes += device.bytes
        bytes.append(bigEndian: segment)
        return entries.reduce(into: bytes) { $0 += $1 }
    }

    /// Adds one use; `nil` when it is full.
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

    /// The use at a place; `nil` when it is not genuine or of a later version.
    func use(at index: Int, key: SymmetricKey, identity: VaultIdentity) -> PasskeyUse? {
        let body = try? Sealing.open(
            entries[index],
            key: Sealing.derive(key, identity: identity, info: Self.label),
            associatedData: associatedData(index, identity)
        ) { RecordBody(padded: $0) }
        guard let body, body.kind == Self.kind, let members = body.members else { return nil }
        return PasskeyUse(members: members)
    }

    /// The same under another key; entries that are not genuine stay as they are.
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
                            Array(plaintext),
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
