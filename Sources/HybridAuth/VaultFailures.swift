// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
public import HybridPrimitives
internal import HybridVault

extension VaultError {
    /// The exit code when nothing was to be written: too many files are damage then, not a full disk.
    var statusOfReading: ExitStatus {
        if case .tooLarge = self { return .notPermitted }
        return status
    }

    /// The exit code of a vault that can't be used.
    var status: ExitStatus {
        switch self {
        case .doesNotExist, .wasHereButIsEmpty, .incomplete, .notAVault, .notADirectory, .cannotOpen, .backupUnreadable,
            .exchangeUnreadable:
            .noInput
        case .rolledBack, .unsupportedFormat, .anotherVault, .backupDamaged, .backupOfAnotherVault, .exchangeDamaged:
            .dataError
        case .cannotWrite, .deletionNotNoted, .cannotWriteBackup, .cannotWriteExport, .exportNamesDirectory,
            .exportIntoVault, .tooLarge, .fileExists:
            .ioError
        case .busy, .outOfMemory, .changedMeanwhile: .temporary
        case .alreadyExists, .loosePermissions, .notOwned, .damaged, .testVaultNeedsVirtualRadio,
            .realVaultRefusesVirtualRadio, .noPINSlotHere, .pinTooShort, .noSuchRecord, .locked, .rekeyedElsewhere,
            .passphraseTooWeak, .noSuchSlot, .wrongSecret, .noPortableSlot, .hasPINHere,
            .memoryUnreadable:
            .notPermitted
        }
    }
}

extension CommandFailure {
    /// A vault's refusal, as the end of a command.
    init(_ error: VaultError) { self.init(error.sentence, status: error.status) }
}
