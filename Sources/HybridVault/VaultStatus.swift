// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// What can be told of a vault without any secret.
///
/// It is what the files say of themselves: whoever can write the directory can make it say more slots than there are.
/// ``UnlockedVault/portableSlots()`` counts those that are genuine.
public struct VaultStatus: Equatable, Sendable {
    /// Where it is.
    public let path: String
    /// Its name: 32 hexadecimal digits.
    public let id: String
    /// Whether it was made under a virtual radio and opens only there.
    public let isTest: Bool
    /// Slots for passphrases.
    public let passphrases: Int
    /// Slots for recovery codes.
    public let recoveryCodes: Int
    /// Records, deleted ones included.
    public let records: Int
    /// Whether it has a PIN on this device.
    public let hasPIN: Bool
    /// Wrong PINs in a row.
    public let wrongPINs: Int
    /// Seconds until a PIN may be tried again.
    public let waitSeconds: Int
    /// When the last backup was written from here, in seconds since 1970 by this device's clock.
    public let lastBackup: UInt64?
    /// Whether a rekeying was cut short; the next unlocking finishes it.
    public let isRekeying: Bool
    /// Files among the slots that are none.
    public let notes: [VaultNote]

    /// Whether the vault can be opened on another device.
    public var opensElsewhere: Bool { passphrases + recoveryCodes > 0 }
}

extension Vault {
    /// Looks at a vault without opening it.
    ///
    /// - Throws: ``VaultError``.
    public static func status(directory: String, stateDirectory: String) throws(VaultError) -> VaultStatus {
        try status(directory: directory, stateDirectory: stateDirectory, clock: .realtime)
    }

    /// Whether a vault was made under a virtual radio; reads nothing but `vault.json`.
    ///
    /// - Throws: ``VaultError``.
    public static func isTest(directory: String, stateDirectory: String) throws(VaultError) -> Bool {
        let path = AbsolutePath.make(directory)
        return try VaultDirectory.open(path: path, stateDirectory: AbsolutePath.make(stateDirectory)).1.test
    }

    static func status(
        directory: String,
        stateDirectory: String,
        clock: WallClock
    ) throws(VaultError) -> VaultStatus {
        let path = AbsolutePath.make(directory)
        let statePath = AbsolutePath.make(stateDirectory)
        let (opened, identity) = try VaultDirectory.open(path: path, stateDirectory: statePath)
        let slots = try Slots(in: opened, identity: identity)
        let state: LocalState?
        do throws(VaultError) {
            state = try LocalState(stateDirectory: statePath, identity: identity)
        } catch .noPINSlotHere {
            state = nil
        } catch {
            throw error
        }
        var attempts = try state?.attempts() ?? AttemptCounter()
        let records = try? opened.subdirectory(VaultDirectory.recordsName).names(limit: Records.maximumNames)
        return VaultStatus(
            path: path,
            id: identity.name,
            isTest: identity.test,
            passphrases: slots.all.count { $0.kind == .passphrase },
            recoveryCodes: slots.all.count { $0.kind == .recoveryCode },
            records: records?.count { RecordID($0) != nil } ?? 0,
            hasPIN: state != nil,
            wrongPINs: Int(attempts.wrong),
            waitSeconds: Int(attempts.remaining(now: clock.now())),
            lastBackup: state?.timeOfLastBackup,
            isRekeying: state?.isRekeying ?? false,
            notes: slots.notes
        )
    }
}
