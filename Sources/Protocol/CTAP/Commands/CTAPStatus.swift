// SPDX-License-Identifier: Apache-2.0

/// The first byte of every response (CTAP 2.2 §8.2).
///
/// An authenticator may send any byte, so unknown values are possible.
public struct CTAPStatus: RawRepresentable, Hashable, Sendable {
    /// The byte.
    public let rawValue: UInt8
    /// The meaning as part of a sentence for users, without a period.
    public let meaning: String

    /// Creates a status from its byte.
    public init(rawValue: UInt8) {
        let unknown =
            switch rawValue {
            case 0xE0...0xEF: "an extension failed"
            case 0xF0...0xFF: "a vendor-specific error"
            default: "the phone reported an unknown error"
            }
        self = Self.known.first { $0.rawValue == rawValue } ?? CTAPStatus(rawValue, unknown)
    }

    private init(_ rawValue: UInt8, _ meaning: String) {
        self.rawValue = rawValue
        self.meaning = meaning
    }

    /// The command succeeded.
    public static let success = CTAPStatus(0x00, "done")
    /// Unknown command.
    public static let invalidCommand = CTAPStatus(0x01, "the command is unknown")
    /// A parameter has a value that is not allowed.
    public static let invalidParameter = CTAPStatus(0x02, "a parameter is invalid")
    /// A message or item has the wrong length.
    public static let invalidLength = CTAPStatus(0x03, "a length is invalid")
    /// Messages arrived in the wrong order.
    public static let invalidSequence = CTAPStatus(0x04, "messages arrived in the wrong order")
    /// The authenticator took too long.
    public static let timeout = CTAPStatus(0x05, "it timed out")
    /// The authenticator is busy with another request.
    public static let channelBusy = CTAPStatus(0x06, "it is busy with another request")
    /// The channel must be locked first.
    public static let lockRequired = CTAPStatus(0x0A, "the channel must be locked first")
    /// The channel does not exist.
    public static let invalidChannel = CTAPStatus(0x0B, "the channel does not exist")
    /// A CBOR item has the wrong type.
    public static let cborUnexpectedType = CTAPStatus(0x11, "a parameter has the wrong type")
    /// The body is not valid CBOR.
    public static let invalidCBOR = CTAPStatus(0x12, "the request could not be read")
    /// A parameter is missing.
    public static let missingParameter = CTAPStatus(0x14, "a parameter is missing")
    /// A limit was exceeded.
    public static let limitExceeded = CTAPStatus(0x15, "a limit was exceeded")
    /// Fingerprint storage is full.
    public static let fingerprintsFull = CTAPStatus(0x17, "there is no space for another fingerprint")
    /// Large blob storage is full.
    public static let largeBlobStorageFull = CTAPStatus(0x18, "there is no space for the website's data")
    /// A credential in the exclude list already exists on the authenticator.
    public static let credentialExcluded = CTAPStatus(0x19, "it already has a passkey for this account")
    /// Processing continues.
    public static let processing = CTAPStatus(0x21, "it is still processing the request")
    /// The credential is not valid for this authenticator.
    public static let invalidCredential = CTAPStatus(0x22, "the passkey is invalid")
    /// The authenticator waits for its user.
    public static let userActionPending = CTAPStatus(0x23, "it is waiting for its user")
    /// Another operation is pending.
    public static let operationPending = CTAPStatus(0x24, "another operation is pending")
    /// There is no operation to continue.
    public static let noOperations = CTAPStatus(0x25, "there is no operation to continue")
    /// None of the requested algorithms is supported.
    public static let unsupportedAlgorithm = CTAPStatus(0x26, "it supports none of the requested key types")
    /// The user declined, or could not be verified.
    public static let operationDenied = CTAPStatus(0x27, "it was declined")
    /// Credential storage is full.
    public static let keyStoreFull = CTAPStatus(0x28, "there is no space for another passkey")
    /// No operation is pending.
    public static let noOperationPending = CTAPStatus(0x2A, "no operation is pending")
    /// An option is not supported.
    public static let unsupportedOption = CTAPStatus(0x2B, "an option is not supported")
    /// An option has a value that is not allowed for this command.
    public static let invalidOption = CTAPStatus(0x2C, "an option is invalid")
    /// The request was canceled.
    public static let keepaliveCancel = CTAPStatus(0x2D, "it was cancelled")
    /// No credential matches the request.
    public static let noCredentials = CTAPStatus(0x2E, "there is no passkey for this site")
    /// The user did not act in time.
    public static let userActionTimeout = CTAPStatus(0x2F, "its user did not respond in time")
    /// The command is not allowed.
    public static let notAllowed = CTAPStatus(0x30, "it is not allowed")
    /// The PIN is wrong.
    public static let pinInvalid = CTAPStatus(0x31, "the PIN is wrong")
    /// The PIN is blocked.
    public static let pinBlocked = CTAPStatus(0x32, "the PIN is blocked")
    /// PIN authentication failed.
    public static let pinAuthInvalid = CTAPStatus(0x33, "PIN authentication failed")
    /// PIN authentication is blocked until the authenticator restarts.
    public static let pinAuthBlocked = CTAPStatus(0x34, "the PIN is blocked until the phone restarts")
    /// No PIN is set.
    public static let pinNotSet = CTAPStatus(0x35, "no PIN is set")
    /// The operation requires a PIN/UV token.
    public static let pinUvTokenRequired = CTAPStatus(0x36, "the user must be verified")
    /// The PIN violates a policy, such as the minimum length.
    public static let pinPolicyViolation = CTAPStatus(0x37, "the PIN is not allowed")
    /// The request is too large.
    public static let requestTooLarge = CTAPStatus(0x39, "the request is too large")
    /// The user did not complete an action in time.
    public static let actionTimeout = CTAPStatus(0x3A, "an action was not completed in time")
    /// User presence is required.
    public static let presenceRequired = CTAPStatus(0x3B, "the user must confirm their presence")
    /// User verification is blocked.
    public static let uvBlocked = CTAPStatus(0x3C, "user verification is blocked")
    /// Stored data is damaged.
    public static let integrityFailure = CTAPStatus(0x3D, "its stored data is damaged")
    /// Unknown subcommand.
    public static let invalidSubcommand = CTAPStatus(0x3E, "the subcommand is unknown")
    /// User verification failed.
    public static let uvInvalid = CTAPStatus(0x3F, "the user could not be verified")
    /// The given permissions do not allow the operation.
    public static let unauthorizedPermission = CTAPStatus(0x40, "the permissions are insufficient")
    /// Another error.
    public static let other = CTAPStatus(0x7F, "an unspecified error occurred")

    /// Statuses with a name.
    public static let known: [CTAPStatus] = [
        .success, .invalidCommand, .invalidParameter, .invalidLength, .invalidSequence, .timeout, .channelBusy,
        .lockRequired, .invalidChannel, .cborUnexpectedType, .invalidCBOR, .missingParameter, .limitExceeded,
        .fingerprintsFull, .largeBlobStorageFull, .credentialExcluded, .processing, .invalidCredential,
        .userActionPending, .operationPending, .noOperations, .unsupportedAlgorithm, .operationDenied, .keyStoreFull,
        .noOperationPending, .unsupportedOption, .invalidOption, .keepaliveCancel, .noCredentials,
        .userActionTimeout, .notAllowed, .pinInvalid, .pinBlocked, .pinAuthInvalid, .pinAuthBlocked, .pinNotSet,
        .pinUvTokenRequired, .pinPolicyViolation, .requestTooLarge, .actionTimeout, .presenceRequired, .uvBlocked,
        .integrityFailure, .invalidSubcommand, .uvInvalid, .unauthorizedPermission, .other,
    ]
}

extension CTAPStatus: CustomStringConvertible {
    /// The meaning and the byte.
    public var description: String {
        let digits = String(rawValue, radix: 16, uppercase: true)
        return "\(meaning) (CTAP 0x\(digits.count == 1 ? "0" : "")\(digits))"
    }
}
