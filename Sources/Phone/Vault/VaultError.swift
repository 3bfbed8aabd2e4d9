// SPDX-License-Identifier: Apache-2.0

package import HybridPrimitives
package import HybridTPM

/// A failure to create, open or change a vault.
///
/// Later versions may add cases, so handle unknown ones with `default`.
package enum VaultError: ExplainedFailure, Hashable {
    /// There is no vault at the path, and this device has not seen one there; a new one may be created.
    case doesNotExist(path: String)
    /// There was a vault at the path; now the directory is missing or holds no vault.
    case missing(path: String)
    /// The directory has other files of a vault but no `vault.json`.
    case incomplete(path: String)
    /// The directory holds files that do not belong to a vault.
    case notAVault(path: String)
    /// The directory holds a different vault than before.
    case anotherVault(path: String)
    /// A new vault was requested where one already exists.
    case alreadyExists(path: String)
    /// The path does not name a directory.
    case notADirectory(path: String)
    /// The directory is accessible to other users; `mode` contains its permission bits.
    ///
    /// On a foreign file system, `chmod` cannot change them.
    case loosePermissions(path: String, mode: UInt32, ForeignFileSystem? = nil)
    /// The vault to forget is still in its directory.
    case stillThere(path: String)
    /// This device has not seen a vault at the path.
    case notKnown(path: String)
    /// The directory belongs to another user.
    case notOwned(path: String)
    /// The directory cannot be opened for another reason; the text says which.
    case cannotOpen(String)
    /// A file is damaged; the text says which and how.
    case damaged(String)
    /// A test vault was opened with a real radio.
    case testVaultNeedsVirtualRadio
    /// A real vault was opened with a virtual radio.
    case realVaultRefusesVirtualRadio
    /// The vault has this format, which only later versions support.
    case unsupportedFormat(Int)
    /// Records are missing or older than those that this device has seen.
    case rolledBack
    /// The vault has no PIN on this device.
    case noPINSlotHere(path: String)
    /// A new PIN has fewer than four characters.
    case pinTooShort
    /// A file cannot be written; the text says which and why.
    case cannotWrite(String)
    /// A change is durable, but this device could not record it; the text says why.
    case changeNotRecorded(String)
    /// A deletion is durable, but this device could not record it; the text says why.
    case deletionNotRecorded(String)
    /// A limit was reached; the text says which.
    case tooLarge(String)
    /// Another process holds the lock.
    case busy
    /// The record does not exist or is deleted.
    case noSuchRecord
    /// The vault is locked, or its key was replaced.
    case locked
    /// There is not enough memory to derive a key.
    case outOfMemory
    /// Another device replaced the vault key, and this device does not have the new one.
    case rekeyedElsewhere
    /// A new passphrase is too weak; `bits` is its estimated strength.
    case passphraseTooWeak(bits: Int)
    /// The vault has no slot of this kind.
    case noSuchSlot
    /// A passphrase or recovery code opens no slot.
    case wrongSecret
    /// A passphrase or recovery code opens no slot that was tried; this many were not, because there are too many.
    case slotsNotTried(Int)
    /// The vault has neither a passphrase nor a recovery code, so a backup could not be opened.
    case noPortableSlot
    /// The file to write already exists.
    case fileExists(path: String)
    /// A backup cannot be written; the text says where and why.
    case cannotWriteBackup(String)
    /// A backup cannot be read; the text says why.
    case backupUnreadable(String)
    /// A backup is damaged; the text says where.
    case backupDamaged(String)
    /// A backup belongs to a different vault than the one at the path.
    case backupOfAnotherVault(path: String)
    /// An export cannot be written; the text says where and why.
    case cannotWriteExport(String)
    /// The path of an export names a directory.
    case exportNamesDirectory(path: String)
    /// The path of an export is inside the vault directory.
    case exportIntoVault(path: String)
    /// A file to import cannot be read; the text says why.
    case importUnreadable(String)
    /// A file to import is in no format that can be imported; the text says why.
    case importInvalid(String)
    /// The vault already has a PIN on this device.
    case hasPINHere(path: String)
    /// The record of revisions that this device has seen cannot be read.
    case rollbackStateUnreadable(path: String)
    /// The vault changed while the user was prompted.
    case changedMeanwhile
    /// The vault key is new to this device, and the user has not compared its fingerprint with another device.
    ///
    /// `isReplacement` is true if this device knows the vault under another key.
    case keyNotCompared(VaultKeyFingerprint, isReplacement: Bool)
    /// A passphrase or recovery code opens a replaced vault key, or opened another key than now.
    case secretOfReplacedKey
    /// A new passphrase opened this vault, or an earlier key of it, before.
    case passphraseUsedBefore
    /// The TPM that protects the PIN cannot be used; the PIN was not tried.
    case tpm(TPMError)
    /// The TPM would be the only way to open the vault: it has neither passphrase nor recovery code.
    case tpmWouldBeOnlySlot

    /// The identifier of the causes that programs handle, or the code of a TPM's error; otherwise the name of the status.
    package var code: String {
        switch self {
        case .tpm(let error): error.code
        case .doesNotExist: "no-vault"
        case .busy: "busy"
        case .noSuchRecord: "not-found"
        case .fileExists: "file-exists"
        default: status.name
        }
    }
    /// Exit status of a command that changes the vault.
    package var status: ExitStatus { explanation.0 }
    /// Cause and remedy on one line.
    package var sentence: String { explanation.1 }

    /// Exit status of a command that only opens the vault, where a limit means too many files, not a failed write.
    package var statusWhenOpening: ExitStatus {
        if case .tooLarge = self { return .notPermitted }
        return status
    }

    /// If a write failed, the file and the reason; otherwise the sentence.
    var detail: String { if case .cannotWrite(let what) = self { what } else { sentence } }

    private var explanation: (ExitStatus, String) {
        switch self {
        case .doesNotExist(let path): (.noInput, "there is no vault at \(path); the first scan creates it")
        case .missing(let path):
            (
                .noInput,
                "the vault at \(path) is gone; mount its disk, let the file sync finish, or restore a backup; if you "
                    + "deleted it, run hybrid-auth vault forget"
            )
        case .incomplete(let path):
            (.noInput, "the vault at \(path) lacks vault.json; let the file sync finish or restore a backup")
        case .notAVault(let path):
            (.noInput, "\(path) is not empty and has no vault; choose an empty directory")
        case .anotherVault(let path):
            (
                .dataError,
                "vault.json at \(path) names a different vault; restore that file or the whole directory, or "
                    + "run hybrid-auth vault forget if you replaced the vault"
            )
        case .alreadyExists(let path):
            (.notPermitted, "there is already a vault at \(path); nothing was changed")
        case .notADirectory(let path): (.noInput, "\(path) is not a directory; choose a different path for the vault")
        case .loosePermissions(let path, let mode, let system):
            (
                .notPermitted,
                "other users can access \(path) (mode \(String(mode, radix: 8))"
                    + (system.map { ", on \($0.remedy), or keep the vault elsewhere: --vault)" }
                        ?? "); run: chmod 700 \(path)")
            )
        case .stillThere(let path):
            (.notPermitted, "the vault is still at \(path); delete that directory first, or choose another --vault")
        case .notKnown(let path): (.noInput, "this device knows no vault at \(path); there is nothing to forget")
        case .notOwned(let path):
            (.notPermitted, "\(path) belongs to another user; choose a directory of your own")
        case .cannotOpen(let what): (.noInput, "the vault can't be opened: \(what)")
        case .damaged(let what): (.notPermitted, "the vault is damaged: \(what); restore a backup")
        case .testVaultNeedsVirtualRadio:
            (
                .notPermitted,
                "this vault was created with a virtual radio and opens only with one; create another vault for real use"
            )
        case .realVaultRefusesVirtualRadio:
            (
                .notPermitted,
                "this vault holds real passkeys and does not open under a virtual radio; use another one for tests"
            )
        case .unsupportedFormat(let format):
            (.dataError, "the vault has format \(format); use a later version of this program")
        case .rolledBack:
            (
                .dataError,
                "this vault was rolled back: records are older than before, or missing; restore the newest copy, or "
                    + "accept it as it is with hybrid-auth vault accept"
            )
        case .noPINSlotHere(let path):
            (
                .notPermitted,
                "the vault has no PIN on this device (\(path)); set one with the passphrase or recovery code: "
                    + "hybrid-auth vault init"
            )
        case .pinTooShort: (.notPermitted, "the PIN is too short; choose one with at least 4 characters")
        case .cannotWrite(let what):
            (.ioError, "the vault can't be written (\(what)); free some space or allow writing")
        case .changeNotRecorded(let what):
            (
                .ioError,
                "it is saved, but this device could not record that (\(what)), so a file sync could silently undo it; "
                    + "free some space or allow writing, and open the vault again"
            )
        case .deletionNotRecorded(let what):
            (
                .ioError,
                "it is deleted, but this device could not record that (\(what)), so a file sync could bring it back; "
                    + "free some space or allow writing, and open the vault again"
            )
        case .tooLarge(let what): (.ioError, "the vault is too large: \(what)")
        case .busy: (.temporary, "another program is using the vault; try again when it is done")
        case .noSuchRecord: (.notPermitted, "there is no such passkey; run hybrid-auth passkeys list")
        case .locked: (.notPermitted, "the vault was locked again; open it with the PIN")
        case .rekeyedElsewhere:
            (
                .notPermitted,
                "another device gave this vault a new key; open it here with the passphrase or recovery code from "
                    + "there: hybrid-auth vault change-pin --forgotten"
            )
        case .passphraseTooWeak(let bits):
            (
                .notPermitted,
                "the passphrase is worth about \(bits) bits, and \(Passphrase.minimumBits) are needed; use five or "
                    + "more random words"
            )
        case .noSuchSlot:
            (
                .notPermitted,
                "the vault has no slot for a secret of that kind; check the spelling of a recovery code, or see "
                    + "hybrid-auth vault status"
            )
        case .wrongSecret:
            (.notPermitted, "no slot of the vault opens with that secret; check the spelling and the capital letters")
        case .slotsNotTried(let count):
            (
                .notPermitted,
                "no slot that was tried opens with that secret, and \(count) more would take too long; on a device with "
                    + "a PIN, hybrid-auth vault add-passphrase --replace or recovery-code --replace deletes forged ones"
            )
        case .noPortableSlot:
            (
                .notPermitted,
                "the vault has neither passphrase nor recovery code, so nothing could open a backup; make one first: "
                    + "hybrid-auth vault recovery-code"
            )
        case .outOfMemory:
            (.temporary, "there is not enough memory to try a secret (128 MiB); close other programs")
        case .rollbackStateUnreadable(let path):
            (
                .notPermitted,
                "this device's record of the vault (\(path)/seen) is damaged or belongs to a different vault key, so a "
                    + "rollback would go undetected; no PIN was set"
            )
        case .changedMeanwhile:
            (.temporary, "the vault changed while you were asked; nothing was accepted, try again")
        case .keyNotCompared(let fingerprint, _):
            (
                .notPermitted,
                "the vault's key is new to this device (\(fingerprint)); compare it with a device that has the vault: "
                    + "hybrid-auth vault status"
            )
        case .secretOfReplacedKey:
            (
                .notPermitted,
                "that secret opened an earlier key of this vault, so others may know it, and it opens nothing here; "
                    + "type a secret that was made with the new key, or create one on the device that has the key: "
                    + "hybrid-auth vault recovery-code"
            )
        case .passphraseUsedBefore:
            (
                .notPermitted,
                "that passphrase has opened this vault before, so others may know it; choose a new one"
            )
        case .fileExists(let path): (.ioError, "\(path) already exists; choose a different name")
        case .cannotWriteBackup(let what):
            (.ioError, "the backup can't be written (\(what)); choose an existing directory with free space")
        case .backupUnreadable(let what): (.noInput, "the backup can't be read: \(what)")
        case .backupDamaged(let what): (.dataError, "the backup is damaged (\(what)); use another one")
        case .backupOfAnotherVault(let path):
            (
                .dataError,
                "the backup belongs to a different vault, not to the one at \(path); nothing was changed; choose "
                    + "another --vault"
            )
        case .cannotWriteExport(let what):
            (.ioError, "the export can't be written (\(what)); choose an existing directory with free space")
        case .exportNamesDirectory(let path):
            (.ioError, "the export can't be written: \(path) names a directory; give the name of a new file in it")
        case .exportIntoVault(let path):
            (
                .ioError,
                "the export can't be written: \(path) is in the vault's own directory, which a file sync may copy with "
                    + "all keys in the clear; choose another place"
            )
        case .importUnreadable(let what): (.noInput, "the file can't be read: \(what)")
        case .importInvalid(let what):
            (.dataError, "the file can't be imported: \(what); nothing was added")
        case .tpm(let error):
            (
                error.status,
                "\(error.sentence), or open the vault with its passphrase or recovery code: hybrid-auth vault change-pin "
                    + "--forgotten"
            )
        case .tpmWouldBeOnlySlot:
            (
                .notPermitted,
                "the vault has neither passphrase nor recovery code, so it would be lost with this TPM; make one first: "
                    + "hybrid-auth vault recovery-code"
            )
        case .hasPINHere(let path):
            (
                .notPermitted,
                "the vault at \(path) already has a PIN on this device; use hybrid-auth vault change-pin"
            )
        }
    }
}
