// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Two readings of the kernel's clocks, in seconds; neither can be set.
package struct BootTime: Hashable, Sendable {
    /// Time since the boot, including suspend (`CLOCK_BOOTTIME`).
    package let total: Double
    /// Time since the boot, without suspend (`CLOCK_MONOTONIC`).
    package let awake: Double

    /// Creates readings.
    package init(total: Double, awake: Double) {
        self.total = total
        self.awake = awake
    }

    /// The present time.
    package static var now: BootTime {
        func read(_ clock: clockid_t) -> Double {
            var time = timespec()
            clock_gettime(clock, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        return BootTime(total: read(CLOCK_BOOTTIME), awake: read(CLOCK_MONOTONIC))
    }

    /// The seconds for which the computer was suspended since an earlier time.
    func suspended(since earlier: BootTime) -> Double { (total - earlier.total) - (awake - earlier.awake) }
}

/// The decisions about keys that the agent holds; sans-IO.
///
/// A key arrives after a PIN. A match of a finger releases it for one request. The key is discarded after 12 hours, three
/// misses in a row, a change of the enrolled fingers, a suspend (unless allowed), and a logout.
struct KeyCustody: Sendable {
    /// Hours after which the PIN is needed again.
    static let lifetimeHours = 12
    /// Fingers that may fail in a row, also in several requests, until the PIN is needed again.
    static let maximumMisses = 3
    /// Maximum number of vaults whose keys are held.
    static let maximumKeys = 8
    /// Maximum number of vaults for which a reason is remembered.
    private static let maximumReasons = 64
    /// Suspended seconds that are attributed to the delay between two readings of the clocks.
    private static let tolerance = 1.0

    /// The permission to release a key after one match.
    struct Permit: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Entry {
        let key: LockedMemory
        let isTest: Bool
        let fingers: [String]
        let since: BootTime
    }

    private let survivesSuspend: Bool
    private var entries: [VaultID: Entry] = [:]
    /// The reasons for which keys were discarded.
    private var reasons: [VaultID: FingerprintFailure] = [:]
    private var pending: (permit: Permit, vault: VaultID)?
    private var nextNumber: UInt64 = 0
    /// Fingers that did not match since the last match, or since misses discarded all keys.
    ///
    /// A new key does not reset it: any program of the user can pass one, for any vault.
    private(set) var misses = 0

    /// Creates a custody without keys.
    ///
    /// - Parameter survivesSuspend: True if keys are kept while the computer is suspended.
    init(survivesSuspend: Bool) { self.survivesSuspend = survivesSuspend }

    /// True if there are no keys.
    var isEmpty: Bool { entries.isEmpty }

    /// Holds the key of a vault, which its PIN has just opened.
    ///
    /// - Parameters:
    ///   - vault: The vault.
    ///   - key: The vault key.
    ///   - isTest: True for a test vault, whose key needs no verified bus.
    ///   - recorded: The fingers that were enrolled at the time of `vault finger enable`.
    ///   - enrolled: The fingers that are enrolled now.
    ///   - now: The present time.
    /// No key displaces that of another vault, because any program of the user can pass keys for vaults that do not exist.
    ///
    /// - Throws: ``FingerprintFailure/fingersChanged``, or ``FingerprintFailure/full`` if the keys of eight other vaults
    ///   are held.
    mutating func hold(
        _ vault: VaultID,
        _ key: LockedMemory,
        isTest: Bool,
        recorded: [String],
        enrolled: [String],
        at now: BootTime
    ) throws(FingerprintFailure) {
        guard recorded == enrolled else {
            discard(vault, because: .fingersChanged)
            throw .fingersChanged
        }
        expire(at: now)
        guard entries[vault] != nil || entries.count < Self.maximumKeys else { throw .full }
        entries[vault] = Entry(key: key, isTest: isTest, fingers: enrolled, since: now)
        reasons[vault] = nil
    }

    /// Checks that a key is held and no request waits for a finger, before the sensor is opened.
    ///
    /// - Throws: ``FingerprintFailure`` if the PIN is needed, or if another request waits for a finger.
    mutating func checkAvailability(of vault: VaultID, at now: BootTime) throws(FingerprintFailure) {
        _ = try entry(of: vault, at: now)
        guard pending == nil else { throw .busy }
    }

    /// Begins a request that a match of a finger may fulfil.
    ///
    /// - Throws: ``FingerprintFailure`` if the PIN is needed, or if another request waits for a finger.
    mutating func begin(_ vault: VaultID, isSystemBus: Bool, at now: BootTime) throws(FingerprintFailure) -> Permit {
        let entry = try entry(of: vault, at: now)
        guard entry.isTest || isSystemBus else { throw .busUnverified }
        guard pending == nil else { throw .busy }
        nextNumber += 1
        let permit = Permit(number: nextNumber)
        pending = (permit, vault)
        return permit
    }

    /// Compares the enrolled fingers once the device is claimed, so that no other program can change them.
    ///
    /// - Throws: ``FingerprintFailure/fingersChanged``; the keys of all vaults are then discarded.
    mutating func check(_ permit: Permit, enrolled: [String]) throws(FingerprintFailure) {
        guard let pending, pending.permit == permit, let entry = entries[pending.vault] else { throw .noKey }
        guard entry.fingers == enrolled else {
            discardAll(because: .fingersChanged)
            throw .fingersChanged
        }
    }

    /// Counts a finger that does not match.
    mutating func miss() {
        misses += 1
        guard misses >= Self.maximumMisses else { return }
        discardAll(because: .tooManyMisses)
        misses = 0
    }

    /// Returns the key after a match; the permit is used up.
    ///
    /// - Throws: ``FingerprintFailure`` if the permit was used, or the key was discarded meanwhile.
    mutating func redeem(_ permit: Permit, at now: BootTime) throws(FingerprintFailure) -> LockedMemory {
        guard let pending, pending.permit == permit else { throw .noKey }
        self.pending = nil
        let entry = try entry(of: pending.vault, at: now)
        misses = 0
        return entry.key
    }

    /// Returns the entry of a vault, unless its key is too old or was discarded.
    private mutating func entry(of vault: VaultID, at now: BootTime) throws(FingerprintFailure) -> Entry {
        expire(at: now)
        guard let entry = entries[vault] else { throw reasons[vault] ?? .noKey }
        return entry
    }

    /// Ends a request without a match.
    mutating func end(_ permit: Permit) {
        if pending?.permit == permit { pending = nil }
    }

    /// Discards the keys that are too old, or that a suspend made useless.
    mutating func expire(at now: BootTime) {
        for (vault, entry) in entries {
            if now.total - entry.since.total >= Double(Self.lifetimeHours) * 3600 || now.total < entry.since.total {
                discard(vault, because: .expired)
            } else if !survivesSuspend, now.suspended(since: entry.since) > Self.tolerance {
                discard(vault, because: .suspended)
            }
        }
    }

    /// Discards all keys before a suspend, unless they may be kept.
    mutating func suspend() { if !survivesSuspend { discardAll(because: .suspended) } }

    /// Discards the key of a vault.
    mutating func discard(_ vault: VaultID, because reason: FingerprintFailure) {
        entries[vault] = nil
        // Callers choose the IDs, so the reasons are bounded, too.
        if reasons[vault] != nil || reasons.count < Self.maximumReasons { reasons[vault] = reason }
    }

    /// Discards all keys.
    mutating func discardAll(because reason: FingerprintFailure) {
        for vault in entries.keys { discard(vault, because: reason) }
    }

    /// The vaults whose keys are held, with the remaining seconds of each.
    func held(at now: BootTime) -> [HeldVault] {
        entries.map { vault, entry in
            let left = Double(Self.lifetimeHours) * 3600 - (now.total - entry.since.total)
            return HeldVault(vault: vault, secondsLeft: UInt32(max(0, left)))
        }
        .sorted { $0.vault.bytes.lexicographicallyPrecedes($1.vault.bytes) }
    }
}
