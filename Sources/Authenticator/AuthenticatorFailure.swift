// SPDX-License-Identifier: Apache-2.0

public import CTAP

/// Why a request was not fulfilled: what the person here is told, and the status the client gets.
public enum AuthenticatorFailure: Error, Equatable, Sendable {
    /// The user said no.
    case declined
    /// The user did not answer in time.
    case userTimedOut
    /// The user can't be asked; the sentence says why.
    case userUnavailable(String)
    /// The client went away while the user was asked.
    case cancelled
    /// Three wrong PINs.
    case wrongPIN
    /// Too many wrong PINs; a wait of that many seconds.
    case lockedOut(seconds: Int)
    /// No passkey for this relying party, or none of those asked for.
    case noPasskey
    /// A passkey on the exclude list is here.
    case alreadyRegistered
    /// No algorithm of the request is supported.
    case noSupportedAlgorithm
    /// A request that wants an answer without asking the user.
    case silentRequest
    /// The store can't be used; the sentence says why.
    case storeUnusable(String)
    /// The passkey could not be saved; the sentence says why.
    case notSaved(String)
    /// A fault of this program.
    case internalFault(String)

    init(_ failure: UnlockFailure) {
        switch failure {
        case .wrongPIN: self = .wrongPIN
        case .lockedOut(let seconds): self = .lockedOut(seconds: seconds)
        case .unusable(let sentence): self = .storeUnusable(sentence)
        }
    }

    init(_ failure: StoreFailure) {
        switch failure {
        case .locked: self = .internalFault("the store was locked too early")
        case .damaged(let sentence): self = .storeUnusable(sentence)
        case .notWritten(let sentence), .deletionNotNoted(let sentence): self = .notSaved(sentence)
        }
    }

    /// The status that the client is answered with.
    public var status: CTAPStatus {
        switch self {
        // A client can't tell a refusal from a wrong PIN or a lockout: that is between the user and this device.
        case .declined, .userUnavailable, .wrongPIN, .lockedOut: .operationDenied
        case .userTimedOut: .userActionTimeout
        case .cancelled: .keepaliveCancel
        case .noPasskey: .noCredentials
        case .alreadyRegistered: .credentialExcluded
        case .noSupportedAlgorithm: .unsupportedAlgorithm
        case .silentRequest: .unsupportedOption
        case .storeUnusable, .internalFault: .other
        case .notSaved: .keyStoreFull
        }
    }

    /// The cause for programs: lower-case words with hyphens between them; it never changes.
    public var code: String {
        switch self {
        case .declined: "declined"
        case .userTimedOut: "not-answered-in-time"
        case .userUnavailable: "user-not-reachable"
        case .cancelled: "cancelled-by-client"
        case .wrongPIN: "wrong-pin"
        case .lockedOut: "locked-out"
        case .noPasskey: "no-passkey"
        case .alreadyRegistered: "already-registered"
        case .noSupportedAlgorithm: "algorithm-not-supported"
        case .silentRequest: "silent-request"
        case .storeUnusable: "vault-unusable"
        case .notSaved: "not-saved"
        case .internalFault: "internal-fault"
        }
    }

    /// One sentence for the person in front of this device.
    public var sentence: String {
        switch self {
        case .declined: "you declined"
        case .userTimedOut: "nobody answered the question in time; scan a new QR code to try again"
        case .userUnavailable(let sentence), .storeUnusable(let sentence), .notSaved(let sentence): sentence
        case .cancelled: "the other device cancelled"
        case .wrongPIN: "the PIN was wrong each time; nothing was signed"
        case .lockedOut(let seconds): "too many wrong PINs; try again in \(seconds) seconds"
        case .noPasskey: "there is no passkey in the vault that the site asks for"
        case .alreadyRegistered: "there is a passkey for this site already"
        case .noSupportedAlgorithm: "the site asks for key types this authenticator does not have (it has ES256)"
        case .silentRequest: "the other device asked for an answer without your consent"
        case .internalFault(let text): "internal fault: \(text)"
        }
    }
}
