// SPDX-License-Identifier: Apache-2.0

/// Why a vault can't be made, opened or changed; ``sentence`` says the cause and the remedy.
public enum VaultError: Error, Equatable, Sendable {
    /// There is no vault at that path and never was one: it may be created.
    case doesNotExist(path: String)
    /// A vault was there, and the directory is missing or empty now.
    case wasHereButIsEmpty(path: String)
    /// Records or slots are there without `vault.json`.
    case incomplete(path: String)
    /// The directory holds something else.
    case notAVault(path: String)
    /// Another vault stands where one was known.
    case anotherVault(path: String)
    /// A vault is there already, so none is created.
    case alreadyExists(path: String)
    /// The path is a file or something stranger.
    case notADirectory(path: String)
    /// Others may look into the directory; `mode` is what it has.
    case loosePermissions(path: String, mode: UInt32)
    /// The directory belongs to another user.
    case notOwned(path: String)
    /// The directory can't be opened for another reason.
    case cannotOpen(String)
    /// Something is not as it was written; says what.
    case damaged(String)
    /// A vault made under a virtual radio was to be opened with a real one.
    case testVaultNeedsVirtualRadio
    /// A real vault was to be opened under a virtual radio.
    case realVaultRefusesVirtualRadio
    /// The vault has a format of a later version.
    case unsupportedFormat(Int)
    /// Records are older than what this device has seen, or missing.
    case rolledBack
    /// The vault was made on another device and has no PIN here.
    case noPINSlotHere(path: String)
    /// The PIN for a new vault has fewer than four characters.
    case pinTooShort
    /// The disk is full or not writable; says where.
    case cannotWrite(String)
    /// A deletion is durable, but this device could not note it; says where and why.
    case deletionNotNoted(String)
    /// A bound was reached; says which.
    case tooLarge(String)
    /// Another process holds the vault.
    case busy
    /// There is no such record, or it is deleted.
    case noSuchRecord
    /// The vault was locked again.
    case locked
    /// There is not enough memory to try a PIN.
    case outOfMemory
    /// Another device gave the vault another key, which this one does not have.
    case rekeyedElsewhere
    /// A new passphrase is worth fewer bits than it must be.
    case passphraseTooWeak(bits: Int)
    /// No slot in the directory opens with a secret of that kind.
    case noSuchSlot
    /// A passphrase or recovery code opens no slot.
    case wrongSecret
    /// A backup would open nowhere, because the vault has neither passphrase nor recovery code.
    case noPortableSlot
    /// A file that would be written is there already.
    case fileExists(path: String)
    /// A backup can't be written; says where and why.
    case cannotWriteBackup(String)
    /// A backup can't be read; says why.
    case backupUnreadable(String)
    /// A backup is not what was written; says what.
    case backupDamaged(String)
    /// A backup is of another vault than the one that stands where it should go.
    case backupOfAnotherVault(path: String)
    /// An export can't be written; says where and why.
    case cannotWriteExport(String)
    /// An export was to be written where a directory is, or should be.
    case exportNamesDirectory(path: String)
    /// An export was to be written into the vault's own directory.
    case exportIntoVault(path: String)
    /// A file to import can't be read; says why.
    case exchangeUnreadable(String)
    /// A file to import is not in the Credential Exchange Format; says what is wrong.
    case exchangeDamaged(String)
    /// The vault has a PIN on this device already.
    case hasPINHere(path: String)
    /// What this device remembers of the vault can't be read.
    case memoryUnreadable(path: String)
    /// The vault is not any more what a person was shown and agreed to.
    case changedMeanwhile

    /// What a failed write was of, and why; the sentence of any other failure.
    var words: String { if case .cannotWrite(let what) = self { what } else { sentence } }

    /// The cause and the remedy, for people, on one line.
    public var sentence: String {
        switch self {
        case .doesNotExist(let path): "there is no vault at \(path); the first scan makes it"
        case .wasHereButIsEmpty(let path):
            "the vault at \(path) is gone; mount its disk, let the file sync finish, or restore a backup"
        case .incomplete(let path):
            "the vault at \(path) lacks vault.json; let the file sync finish or restore a backup"
        case .notAVault(let path): "\(path) holds other things and no vault; choose an empty directory"
        case .anotherVault(let path):
            "vault.json at \(path) names another vault than before; restore that file or the whole directory"
        case .alreadyExists(let path): "there is a vault at \(path) already; nothing was changed"
        case .notADirectory(let path): "\(path) is not a directory; choose another path for the vault"
        case .loosePermissions(let path, let mode):
            "others may look into \(path) (mode \(String(mode, radix: 8))); run: chmod 700 \(path)"
        case .notOwned(let path): "\(path) belongs to another user; choose a directory of your own"
        case .cannotOpen(let what): "the vault can't be opened: \(what)"
        case .damaged(let what): "the vault is damaged: \(what); restore a backup"
        case .fileExists(let path): "\(path) exists already; choose another name"
        case .cannotWriteBackup(let what):
            "the backup can't be written (\(what)); choose a directory that is there and has room"
        case .backupUnreadable(let what): "the backup can't be read: \(what)"
        case .backupDamaged(let what): "the backup is not what was written (\(what)); use another one"
        case .backupOfAnotherVault(let path):
            "the backup is of another vault than the one at \(path); nothing was changed, choose another --vault"
        case .cannotWriteExport(let what):
            "the export can't be written (\(what)); choose a directory that is there and has room"
        case .exportNamesDirectory(let path):
            "the export can't be written: \(path) names a directory; name a new file in one"
        case .exportIntoVault(let path):
            "the export can't be written: \(path) is in the vault's own directory, which a file sync may copy with all "
                + "keys in the clear; choose another place"
        case .exchangeUnreadable(let what): "the file can't be read: \(what)"
        case .exchangeDamaged(let what):
            "the file is no export in the Credential Exchange Format (\(what)); nothing was added"
        case .hasPINHere(let path):
            "the vault at \(path) has a PIN on this device already; use hybrid-auth vault change-pin"
        default: sentenceWithoutPath
        }
    }

    private var sentenceWithoutPath: String {
        switch self {
        case .testVaultNeedsVirtualRadio:
            "this vault was made under a virtual radio and opens only there; make another one for real use"
        case .realVaultRefusesVirtualRadio:
            "this vault holds real passkeys and stays closed under a virtual radio; use another one for tests"
        case .unsupportedFormat(let format): "the vault has format \(format); use a later version of this program"
        case .rolledBack:
            "this vault was rolled back: records are older than before, or missing; restore the newest copy, or take "
                + "it as it is with hybrid-auth vault accept"
        case .noPINSlotHere(let path):
            "the vault has no PIN on this device (\(path)); give it one, with the passphrase or recovery code: "
                + "hybrid-auth vault init"
        case .pinTooShort: "a PIN has at least 4 characters; choose a longer one"
        case .cannotWrite(let what): "the vault can't be written (\(what)); free some space or allow writing"
        case .deletionNotNoted(let what):
            "it is deleted, but this device could not note that (\(what)), so a file sync could bring it back; free "
                + "some space or allow writing, and open the vault again"
        case .tooLarge(let what): "the vault is too large: \(what)"
        case .busy: "another program is using the vault; try again when it is done"
        case .noSuchRecord: "there is no such passkey; list them to see what there is"
        case .locked: "the vault was locked again; open it with the PIN"
        case .rekeyedElsewhere:
            "another device gave this vault a new key; open it here with the passphrase or recovery code from there: "
                + "hybrid-auth vault change-pin --forgotten"
        case .passphraseTooWeak(let bits):
            "the passphrase is worth about \(bits) bits, and \(Passphrase.minimumBits) are needed; take five words or "
                + "more, drawn at random"
        case .noSuchSlot:
            "the vault has no slot for a secret of that kind; check the spelling of a recovery code, or see hybrid-auth "
                + "vault status"
        case .wrongSecret: "no slot of the vault opens with that; check the spelling, capitals too"
        case .noPortableSlot:
            "the vault has neither passphrase nor recovery code, so a backup would open nowhere; make one first: "
                + "hybrid-auth vault recovery-code"
        case .outOfMemory: "there is not enough memory to try a secret (128 MiB); close other programs"
        case .memoryUnreadable(let path):
            "what this device remembers of the vault (\(path)/seen) is damaged or of another vault key, so a rollback "
                + "would not be noticed; no PIN was set"
        case .changedMeanwhile: "the vault changed while you were asked; nothing was accepted, try again"
        default: "the vault can't be used"
        }
    }
}
