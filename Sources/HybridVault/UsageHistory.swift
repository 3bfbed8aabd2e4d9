// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridAuthenticator
public import HybridCTAP
internal import HybridPrimitives

/// When which passkey was used: `uses/<device ID>/<segment>`, one history for each device, added to by it alone.
///
/// Histories of several devices never meet in one file, so any union of two copies holds both. A history serves
/// people and decides nothing: what is not genuine in it is noted and left out, never a reason to stay closed, and
/// entries that a sync server withholds are not missed.
extension VaultFiles {
    /// Histories of more devices than that are not read.
    static let maximumDevices = 32
    /// More files than that of one history are not read.
    static let maximumSegments = 200

    /// One file of a history.
    private struct Segment {
        let directory: String
        let name: String
        let file: UsageHistoryFile
    }

    /// Adds a use that ended now to this device's history, durably.
    func append(
        _ relyingParty: RelyingPartyID,
        _ operation: PasskeyUse.Operation,
        _ outcome: PasskeyUse.Outcome,
        credential: CredentialID?,
        key: SymmetricKey
    ) throws(VaultError) {
        var record: RecordID?
        // Records that can't be read now are no reason to leave no trace of a use.
        if let credential { record = (try? load(key: key))?.passkey(credential, of: relyingParty) }
        let use = PasskeyUse(
            time: clock.now(),
            relyingParty: relyingParty,
            operation: operation,
            outcome: outcome,
            record: record
        )
        try append(use, key: key)
    }

    /// Adds one use to this device's history, durably.
    func append(_ use: PasskeyUse, key: SymmetricKey) throws(VaultError) {
        try state.locked { () throws(VaultError) in
            // The key must still be the one that counts.
            _ = try ring(key)
            let device = try state.device().id
            let name = Hex.encode(device.bytes)
            var notes: [VaultNote] = []
            let current = try segments(&notes, of: name)
                .filter { $0.name == "\($0.file.segment)" }
                .max { $0.file.segment < $1.file.segment }?
                .file
            do {
                let uses = try directory.makeSubdirectory(VaultDirectory.usesName).makeSubdirectory(name)
                var next = current?.adding(use, key: key, identity: identity)
                var segment = current?.segment ?? 0
                while next == nil {
                    segment += 1
                    // What stands there and can't be read is not overwritten.
                    guard segment <= Self.maximumSegments else { throw FileFailure.tooLarge }
                    guard !uses.contains("\(segment)") else { continue }
                    next = UsageHistoryFile(device: device, segment: segment).adding(use, key: key, identity: identity)
                    guard next != nil else { throw FileFailure.tooLarge }
                }
                if let next { try uses.write("\(next.segment)", next.bytes, replacing: true) }
            } catch let failure as FileFailure {
                throw VaultError.cannotWrite("\(directory.path)/\(VaultDirectory.usesName): \(failure.words)")
            } catch {
                throw VaultError.cannotWrite("\(directory.path)/\(VaultDirectory.usesName)")
            }
        }
    }

    /// All uses on all devices, the last first, and what was left out.
    func uses(key: SymmetricKey) throws(VaultError) -> (uses: [PasskeyUse], notes: [VaultNote]) {
        try state.locked { () throws(VaultError) in
            _ = try ring(key)
            var notes: [VaultNote] = []
            // The same entry may stand in a file and in its conflict copies.
            var found: [UsageKey: Set<PasskeyUse>] = [:]
            for segment in try segments(&notes) {
                var isWhole = true
                for index in segment.file.entries.indices {
                    if let use = segment.file.use(at: index, key: key, identity: identity) {
                        let place = UsageKey(device: segment.file.device, segment: segment.file.segment, index: index)
                        found[place, default: []].insert(use)
                    } else {
                        isWhole = false
                    }
                }
                if !isWhole {
                    let path = "\(VaultDirectory.usesName)/\(segment.directory)/\(segment.name)"
                    notes.append(VaultNote(path: path, reason: "entries that are not genuine, or of another key"))
                }
            }
            let ordered = found.sorted { left, right in left.key < right.key }
            let uses = ordered.flatMap { $0.value.sorted { $0.time > $1.time } }
            // A stable order by time, then by place.
            let sorted = uses.enumerated().sorted { ($0.element.time, $1.offset) > ($1.element.time, $0.offset) }
            return (sorted.map(\.element), notes)
        }
    }

    /// Seals all histories under the newest key; entries that are under it already stay as they are.
    func sealUses(_ ring: KeyRing) throws(VaultError) {
        guard ring.keys.count > 1 else { return }
        var notes: [VaultNote] = []
        for segment in try segments(&notes, refusing: true) {
            let sealed = segment.file.resealed(from: Array(ring.keys.dropFirst()), to: ring.newest, identity: identity)
            guard sealed != segment.file else { continue }
            do {
                let uses = try directory.subdirectory(VaultDirectory.usesName).subdirectory(segment.directory)
                try uses.write(segment.name, sealed.bytes, replacing: true)
            } catch {
                throw .cannotWrite("\(directory.path)/\(VaultDirectory.usesName): \(error.words)")
            }
        }
    }

    private struct UsageKey: Hashable, Comparable {
        let device: DeviceID
        let segment: UInt32
        let index: Int

        static func < (left: UsageKey, right: UsageKey) -> Bool {
            if left.device != right.device {
                return left.device.bytes.lexicographicallyPrecedes(right.device.bytes)
            }
            return (left.segment, left.index) > (right.segment, right.index)
        }
    }

    /// All pieces of all histories, or of that of one device alone.
    ///
    /// - Parameter refusesBroken: Whether what the disk does not give is damage, not something to note: what is not
    ///   sealed anew with the rest can't be read again.
    private func segments(
        _ notes: inout [VaultNote],
        of device: String? = nil,
        refusing refusesBroken: Bool = false
    ) throws(VaultError) -> [Segment] {
        func unlessBroken<Value>(
            _ path: String,
            _ reason: String?,
            _ value: @autoclosure () throws(FileFailure) -> Value
        ) throws(VaultError) -> Value? {
            do throws(FileFailure) {
                return try value()
            } catch {
                if refusesBroken, case .system = error { throw .damaged("\(path) can't be read: \(error.words)") }
                if error != .absent { notes.append(VaultNote(path: path, reason: reason ?? error.words)) }
                return nil
            }
        }
        let top = VaultDirectory.usesName
        guard let root = try unlessBroken(top, nil, try directory.subdirectory(top)) else { return [] }
        var segments: [Segment] = []
        let devices =
            if let device {
                root.contains(device) ? [device] : []
            } else {
                try unlessBroken(top, nil, try Self.histories(in: root)) ?? []
            }
        for name in devices where !name.hasPrefix(".") {
            let path = "\(top)/\(name)"
            guard Hex.decode(name, length: 8, lowercaseOnly: true) != nil else {
                notes.append(VaultNote(path: path, reason: Self.noHistory))
                continue
            }
            guard let directory = try unlessBroken(path, Self.noHistory, try root.subdirectory(name)) else { continue }
            for file in try unlessBroken(
                path,
                nil,
                try directory.firstNames(Self.maximumSegments) { !$0.hasPrefix(".") }
            ) ?? []
            where !file.hasPrefix(".") {
                let path = "\(path)/\(file)"
                let bytes = try unlessBroken(
                    path,
                    Self.noPiece,
                    try directory.read(file, limit: UsageHistoryFile.maximumLength)
                )
                guard let bytes else { continue }
                guard let read = UsageHistoryFile(bytes: bytes), Hex.encode(read.device.bytes) == name else {
                    notes.append(VaultNote(path: path, reason: Self.noPiece))
                    continue
                }
                segments.append(Segment(directory: name, name: file, file: read))
            }
        }
        return segments
    }

    /// The first histories by name, and a few other things that are noted; what is more keeps none from being read.
    private static func histories(in root: Directory) throws(FileFailure) -> [String] {
        try root.firstNames(maximumDevices) { Hex.decode($0, length: 8, lowercaseOnly: true) != nil }
            + root.firstNames(8) { Hex.decode($0, length: 8, lowercaseOnly: true) == nil }
    }

    private static let noHistory = "not the history of a device"
    private static let noPiece = "not a piece of a history"
}

extension UnlockedVault {
    /// Adds what became of a request to this device's history; it is durable when this returns.
    public func record(_ request: ServedRequest) async throws(StoreFailure) {
        let (relyingParty, operation): (RelyingPartyID, PasskeyUse.Operation) =
            switch request.operation {
            case .create(let relyingParty): (relyingParty, .create)
            case .signIn(let relyingParty): (relyingParty, .signIn)
            }
        try await besides { () async throws(StoreFailure) in
            try await asStore(otherwise: StoreFailure.notWritten) { key, files throws(VaultError) in
                try files.append(
                    relyingParty,
                    operation,
                    PasskeyUse.Outcome(request.outcome),
                    credential: request.credential,
                    key: key
                )
            }
        }
    }

    /// Adds a use, or the try of one, to this device's history; it is durable when this returns.
    ///
    /// - Parameters:
    ///   - relyingParty: For whom.
    ///   - operation: What was asked for.
    ///   - outcome: What became of it.
    ///   - credential: The passkey, if one was used or made.
    /// - Throws: ``VaultError``.
    public func noteUse(
        for relyingParty: RelyingPartyID,
        _ operation: PasskeyUse.Operation,
        _ outcome: PasskeyUse.Outcome,
        credential: CredentialID? = nil
    ) async throws(VaultError) {
        try await perform { key, files throws(VaultError) in
            try files.append(relyingParty, operation, outcome, credential: credential, key: key)
        }
    }

    /// Every use on every device that has written to the vault, the last first, and what was left out.
    ///
    /// - Throws: ``VaultError``.
    public func uses() async throws(VaultError) -> (uses: [PasskeyUse], notes: [VaultNote]) {
        try await perform { key, files throws(VaultError) in try files.uses(key: key) }
    }
}

extension PasskeyUse.Outcome {
    /// As the history writes how a request ended.
    init(_ outcome: ServedRequest.Outcome) {
        self =
            switch outcome {
            case .done: .done
            case .declined: .declined
            case .unanswered: .unanswered
            case .noPasskey: .noPasskey
            case .alreadyRegistered: .alreadyRegistered
            case .clientGone: .clientGone
            case .failed: .failed
            }
    }
}
