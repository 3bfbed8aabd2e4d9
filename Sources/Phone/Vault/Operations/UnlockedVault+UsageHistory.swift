// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridAuthenticator
internal import HybridCTAP
internal import HybridPrimitives

extension UnlockedVault {
    /// Adds a served request durably to this device's usage history.
    package func record(_ request: UsageEntry) async throws(StoreFailure) {
        try await performForStore(orThrow: StoreFailure.notWritten) { key, files throws(VaultError) in
            try files.append(request, key: key)
        }
    }

    /// Returns the uses on all devices that write to the vault, the latest first, and warnings about ignored entries.
    ///
    /// - Throws: ``VaultError``.
    package func uses() async throws(VaultError) -> (uses: [PasskeyUse], warnings: [VaultWarning]) {
        try await perform { key, files throws(VaultError) in try files.uses(key: key) }
    }
}

extension PasskeyUse.Operation {
    /// Converts the operation of a served request.
    init(_ operation: RequestedOperation) {
        self =
            switch operation {
            case .create: .create
            case .signIn: .signIn
            case .signSSH: .sign
            }
    }
}

extension PasskeyUse.Outcome {
    /// Converts the outcome of a served request.
    init(_ outcome: UsageEntry.Outcome) {
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

/// Usage histories, `uses/<device ID>/<segment>`: one per device, and only that device appends to it.
///
/// Histories of different devices never share a file, so the union of two copies contains both. A history only informs
/// the user. An entry that is not authentic is therefore ignored with a warning, and never prevents the vault from
/// opening. This program cannot detect that a sync server withholds entries.
extension VaultFiles {
    /// Maximum number of devices whose histories are read.
    static let maximumDevices = 32
    /// Maximum number of files of one history that are read.
    static let maximumSegments = 200

    /// One file of a history and its place in `uses/`.
    private struct Segment {
        let directory: String
        let name: String
        let file: UsageHistoryFile
    }

    /// Adds a served request durably to this device's history.
    func append(_ request: UsageEntry, key: SymmetricKey) throws(VaultError) {
        let relyingParty = request.operation.relyingParty
        let use = PasskeyUse(
            time: location.clock.now(),
            relyingParty: relyingParty,
            operation: PasskeyUse.Operation(request.operation),
            outcome: PasskeyUse.Outcome(request.outcome),
            // The use is recorded even if the records cannot be read.
            record: request.credential.flatMap { (try? records(key: key))?.passkey($0, of: relyingParty) }
        )
        try append(use, key: key)
    }

    /// Adds one use durably to this device's history.
    func append(_ use: PasskeyUse, key: SymmetricKey) throws(VaultError) { try append([use], key: key) }

    /// Adds uses in their order to this device's history; each file is written once and is then durable.
    func append(_ new: [PasskeyUse], key: SymmetricKey) throws(VaultError) {
        guard !new.isEmpty else { return }
        // Throws an error if the key was replaced in the meantime.
        _ = try ring(key)
        let device = try state.device().id
        let name = Hex.encode(device.bytes)
        var warnings: [VaultWarning] = []
        let current = try segments(&warnings, of: name)
            .filter { $0.name == "\($0.file.segment)" }
            .max { $0.file.segment < $1.file.segment }?
            .file
        try accessing("\(directory.path)/\(VaultDirectory.usesName)") { () throws(FileError) in
            let uses = try directory.makeSubdirectory(VaultDirectory.usesName).makeSubdirectory(name)
            // The segment to extend, and whether it differs from its file.
            var (file, isChanged) = (current, false)
            for use in new {
                if let longer = file?.adding(use, key: key, identity: identity) {
                    (file, isChanged) = (longer, true)
                    continue
                }
                if isChanged, let file { try uses.write("\(file.segment)", file.bytes, replacing: true) }
                var segment = file?.segment ?? 0
                repeat {
                    segment += 1
                    guard segment <= Self.maximumSegments else { throw FileError.tooLarge }
                    // An unreadable file is not overwritten.
                } while uses.contains("\(segment)")
                let empty = UsageHistoryFile(device: device, segment: segment)
                guard let next = empty.adding(use, key: key, identity: identity) else { throw FileError.tooLarge }
                (file, isChanged) = (next, true)
            }
            if isChanged, let file { try uses.write("\(file.segment)", file.bytes, replacing: true) }
        }
    }

    /// Returns the uses on all devices, the latest first, and warnings about ignored entries.
    func uses(key: SymmetricKey) throws(VaultError) -> (uses: [PasskeyUse], warnings: [VaultWarning]) {
        _ = try ring(key)
        var warnings: [VaultWarning] = []
        // The same entry may be in a file and in its conflict copies.
        var found: [EntryPosition: Set<PasskeyUse>] = [:]
        for segment in try segments(&warnings) {
            var isWhole = true
            for index in segment.file.entries.indices {
                guard let use = segment.file.use(at: index, key: key, identity: identity) else {
                    isWhole = false
                    continue
                }
                let (device, number) = (segment.file.device, segment.file.segment)
                found[EntryPosition(device: device, segment: number, index: index), default: []].insert(use)
            }
            if !isWhole {
                let path = "\(VaultDirectory.usesName)/\(segment.directory)/\(segment.name)"
                let reason = "entries that are not authentic, or were made with a different key"
                warnings.append(VaultWarning(path: path, reason: reason))
            }
        }
        let uses = found.sorted { $0.key < $1.key }.flatMap { $0.value.sorted { $0.time > $1.time } }
        // Sorted by time; equal times keep the order by position.
        let sorted = uses.enumerated().sorted { ($0.element.time, $1.offset) > ($1.element.time, $0.offset) }
        return (sorted.map(\.element), warnings)
    }

    /// Seals all histories again under the newest key; entries that already are under it stay unchanged.
    func resealUsageHistory(_ ring: VaultKeyRing) throws(VaultError) {
        guard ring.keys.count > 1 else { return }
        var warnings: [VaultWarning] = []
        for segment in try segments(&warnings, refusing: true) {
            let sealed = segment.file.resealed(from: Array(ring.keys.dropFirst()), to: ring.newest, identity: identity)
            guard sealed != segment.file else { continue }
            try accessing("\(directory.path)/\(VaultDirectory.usesName)") { () throws(FileError) in
                let uses = try directory.subdirectory(VaultDirectory.usesName).subdirectory(segment.directory)
                try uses.write(segment.name, sealed.bytes, replacing: true)
            }
        }
    }

    /// Position of an entry among all histories.
    private struct EntryPosition: Hashable, Comparable {
        let device: DeviceID
        let segment: UInt32
        let index: Int

        static func < (left: EntryPosition, right: EntryPosition) -> Bool {
            if left.device != right.device {
                return left.device.bytes.lexicographicallyPrecedes(right.device.bytes)
            }
            return (left.segment, left.index) > (right.segment, right.index)
        }
    }

    /// Returns all files of all histories, or of one device's history.
    ///
    /// - Parameters:
    ///   - warnings: The list to which warnings about ignored files are added.
    ///   - device: The device ID in hexadecimal, or `nil` for all devices.
    ///   - refusesBroken: True to report a system error while reading as damage instead of as a warning. After a rekey,
    ///     a skipped file could never be decrypted again.
    private func segments(
        _ warnings: inout [VaultWarning],
        of device: String? = nil,
        refusing refusesBroken: Bool = false
    ) throws(VaultError) -> [Segment] {
        func readIfPresent<Value>(
            _ path: String,
            _ reason: String?,
            _ value: @autoclosure () throws(FileError) -> Value
        ) throws(VaultError) -> Value? {
            do throws(FileError) {
                return try value()
            } catch {
                if refusesBroken, case .system = error { throw .damaged("\(path) can't be read: \(error.reason)") }
                if error != .absent { warnings.append(VaultWarning(path: path, reason: reason ?? error.reason)) }
                return nil
            }
        }
        let top = VaultDirectory.usesName
        guard let root = try readIfPresent(top, nil, try directory.subdirectory(top)) else { return [] }
        var segments: [Segment] = []
        let devices =
            if let device {
                root.contains(device) ? [device] : []
            } else {
                try readIfPresent(top, nil, try Self.histories(in: root)) ?? []
            }
        for name in devices where !name.hasPrefix(".") {
            let path = "\(top)/\(name)"
            guard Hex.decode(name, length: 8, lowercaseOnly: true) != nil else {
                warnings.append(VaultWarning(path: path, reason: Self.notAHistory))
                continue
            }
            guard let directory = try readIfPresent(path, Self.notAHistory, try root.subdirectory(name)),
                let files = try readIfPresent(
                    path,
                    nil,
                    try directory.firstNames(Self.maximumSegments) { !$0.hasPrefix(".") }
                )
            else { continue }
            for file in files {
                let path = "\(path)/\(file)"
                let limit = UsageHistoryFile.maximumLength
                guard let bytes = try readIfPresent(path, Self.notASegment, try directory.read(file, limit: limit))
                else { continue }
                guard let read = UsageHistoryFile(bytes: bytes), Hex.encode(read.device.bytes) == name else {
                    warnings.append(VaultWarning(path: path, reason: Self.notASegment))
                    continue
                }
                segments.append(Segment(directory: name, name: file, file: read))
            }
        }
        return segments
    }

    /// Returns the first histories by name, and a few other names for warnings, which cannot displace histories.
    private static func histories(in root: Directory) throws(FileError) -> [String] {
        try root.firstNames(maximumDevices) { Hex.decode($0, length: 8, lowercaseOnly: true) != nil }
            + root.firstNames(8) { Hex.decode($0, length: 8, lowercaseOnly: true) == nil }
    }

    private static let notAHistory = "not the history of a device"
    private static let notASegment = "not a segment of a history"
}
