// SPDX-License-Identifier: Apache-2.0

package import HybridPrimitives

/// A failure to use a TPM; no guess at an authorization value was counted.
///
/// Later versions may add cases, so handle unknown ones with `default`.
package enum TPMError: ExplainedFailure, Hashable {
    /// There is no TPM at the path or address.
    case absent(String)
    /// The user may not open the device at the path.
    case notPermitted(String)
    /// A library of the TPM2 Software Stack cannot be loaded; the text says which.
    case libraryMissing(String)
    /// Other programs use the TPM or all of its memory, or it does not answer.
    case busy
    /// The protection against guessing refuses authorizations for this many minutes.
    case lockedOut(minutes: Int)
    /// This TPM was cleared since the secret was sealed, or its storage key was replaced.
    case cleared
    /// The secret was sealed by another TPM.
    case otherTPM
    /// The sealed object was changed: the TPM refuses to load it.
    case objectDamaged
    /// The persistent key at the default handle cannot protect a sealed object.
    case unsuitableParent
    /// There is no storage key, and the owner's password prevents its creation.
    case ownerPasswordSet
    /// Another error; the text says which.
    case failed(String)

    /// The identifier of the cause for programs.
    package var code: String {
        switch self {
        case .absent: "tpm-absent"
        case .notPermitted: "tpm-not-permitted"
        case .libraryMissing: "tpm-library-missing"
        case .busy: "tpm-busy"
        case .lockedOut: "tpm-locked-out"
        case .cleared: "tpm-cleared"
        case .otherTPM: "tpm-other"
        case .objectDamaged: "tpm-object-damaged"
        case .unsuitableParent: "tpm-unsuitable-key"
        case .ownerPasswordSet: "tpm-owner-password"
        case .failed: "tpm-failed"
        }
    }

    /// The cause and the remedy on one line.
    package var sentence: String { "\(cause); \(remedy)" }

    /// The exit status of a command that ends with this failure.
    package var status: ExitStatus {
        switch self {
        case .absent, .libraryMissing, .failed: .unavailable
        case .busy, .lockedOut: .temporary
        case .objectDamaged: .dataError
        case .notPermitted, .cleared, .otherTPM, .unsuitableParent, .ownerPasswordSet: .notPermitted
        }
    }

    /// The cause alone.
    package var cause: String {
        switch self {
        case .absent(let path): "there is no TPM at \(path)"
        case .notPermitted(let path): "this user is not permitted to use the TPM (\(path))"
        case .libraryMissing(let what): "the TPM's library can't be loaded (\(what))"
        case .busy: "the TPM is busy or does not answer"
        case .lockedOut(let minutes):
            "the TPM accepts no PIN for \(minutes) \(minutes == 1 ? "minute" : "minutes"), because this or another "
                + "program tried too many wrong ones"
        case .cleared: "the TPM was cleared, or its storage key was replaced, since it sealed the PIN's slot"
        case .otherTPM: "a different TPM sealed the PIN's slot"
        case .objectDamaged: "the TPM does not accept the PIN's slot, which was changed or is damaged"
        case .unsuitableParent:
            "the key at 0x81000001 in the TPM is not a storage key (fixed to the TPM, restricted, for decryption, "
                + "SHA-256)"
        case .ownerPasswordSet: "the TPM has no storage key at 0x81000001, and its owner password prevents creating one"
        case .failed(let what): "the TPM reports an error (\(what))"
        }
    }

    private var remedy: String {
        switch self {
        case .absent: "turn it on in the firmware's settings, or set HYBRID_TPM to a different one"
        case .notPermitted: "join the group tss and log in again"
        case .libraryMissing: "install libtss2-esys-3.0.2-0, libtss2-rc0 and libtss2-tcti-device0"
        case .busy: "try again when other programs are done with it"
        case .lockedOut(let minutes): "try again in \(minutes) \(minutes == 1 ? "minute" : "minutes")"
        case .cleared, .otherTPM, .objectDamaged: "set a new PIN"
        case .unsuitableParent: "replace it with a storage key of a TCG template"
        case .ownerPasswordSet: "make one with tpm2_createprimary and tpm2_evictcontrol"
        case .failed: "try again"
        }
    }
}
