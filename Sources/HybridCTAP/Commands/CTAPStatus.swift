// SPDX-License-Identifier: Apache-2.0

/// The first byte of every response (CTAP 2.2 §8.2).
///
/// An authenticator may send any byte, so unknown values are possible.
public struct CTAPStatus: RawRepresentable, Hashable, Sendable {
    /// The byte.
    public let rawValue: UInt8

    /// Creates a status from its byte.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The command succeeded.
    public static let success = CTAPStatus(rawValue: 0x00)
    /// Unknown command.
    public static let invalidCommand = CTAPStatus(rawValue: 0x01)
    /// A parameter has a value that is not allowed.
    public static let invalidParameter = CTAPStatus(rawValue: 0x02)
    /// A message or item has the wrong length.
    public static let invalidLength = CTAPStatus(rawValue: 0x03)
    /// Messages arrived in the wrong order.
    public static let invalidSequence = CTAPStatus(rawValue: 0x04)
    /// The authenticator took too long.
    public static let timeout = CTAPStatus(rawValue: 0x05)
    /// The authenticator is busy with another request.
    public static let channelBusy = CTAPStatus(rawValue: 0x06)
    /// The channel must be locked first.
    public static let lockRequired = CTAPStatus(rawValue: 0x0A)
    /// The channel does not exist.
    public static let invalidChannel = CTAPStatus(rawValue: 0x0B)
    /// A CBOR item has the wrong type.
    public static let cborUnexpectedType = CTAPStatus(rawValue: 0x11)
    /// The body is not valid CBOR.
    public static let invalidCBOR = CTAPStatus(rawValue: 0x12)
    /// A parameter is missing.
    public static let missingParameter = CTAPStatus(rawValue: 0x14)
    /// A limit was exceeded.
    public static let limitExceeded = CTAPStatus(rawValue: 0x15)
    /// Fingerprint storage is full.
    public static let fingerprintsFull = CTAPStatus(rawValue: 0x17)
    /// Large blob storage is full.
    public static let largeBlobStorageFull = CTAPStatus(rawValue: 0x18)
    /// A credential of the exclude list already exists on the authenticator.
    public static let credentialExcluded = CTAPStatus(rawValue: 0x19)
    /// Processing continues.
    public static let processing = CTAPStatus(rawValue: 0x21)
    /// The credential is not valid for this authenticator.
    public static let invalidCredential = CTAPStatus(rawValue: 0x22)
    /// The authenticator waits for its user.
    public static let userActionPending = CTAPStatus(rawValue: 0x23)
    /// Another operation is pending.
    public static let operationPending = CTAPStatus(rawValue: 0x24)
    /// There is no operation to continue.
    public static let noOperations = CTAPStatus(rawValue: 0x25)
    /// None of the requested algorithms is supported.
    public static let unsupportedAlgorithm = CTAPStatus(rawValue: 0x26)
    /// The user declined, or could not be verified.
    public static let operationDenied = CTAPStatus(rawValue: 0x27)
    /// Credential storage is full.
    public static let keyStoreFull = CTAPStatus(rawValue: 0x28)
    /// No operation is pending.
    public static let noOperationPending = CTAPStatus(rawValue: 0x2A)
    /// An option is not supported.
    public static let unsupportedOption = CTAPStatus(rawValue: 0x2B)
    /// An option has a value that is not allowed for this command.
    public static let invalidOption = CTAPStatus(rawValue: 0x2C)
    /// The request was cancelled.
    public static let keepaliveCancel = CTAPStatus(rawValue: 0x2D)
    /// No credential matches the request.
    public static let noCredentials = CTAPStatus(rawValue: 0x2E)
    /// The user did not act in time.
    public static let userActionTimeout = CTAPStatus(rawValue: 0x2F)
    /// The command is not allowed.
    public static let notAllowed = CTAPStatus(rawValue: 0x30)
    /// The PIN is wrong.
    public static let pinInvalid = CTAPStatus(rawValue: 0x31)
    /// The PIN is blocked.
    public static let pinBlocked = CTAPStatus(rawValue: 0x32)
    /// PIN authentication failed.
    public static let pinAuthInvalid = CTAPStatus(rawValue: 0x33)
    /// PIN authentication is blocked until the authenticator restarts.
    public static let pinAuthBlocked = CTAPStatus(rawValue: 0x34)
    /// No PIN is set.
    public static let pinNotSet = CTAPStatus(rawValue: 0x35)
    /// User verification is required and was not requested.
    public static let pinUvTokenRequired = CTAPStatus(rawValue: 0x36)
    /// The PIN violates a policy, such as the minimum length.
    public static let pinPolicyViolation = CTAPStatus(rawValue: 0x37)
    /// The request is too large.
    public static let requestTooLarge = CTAPStatus(rawValue: 0x39)
    /// The user did not complete an action in time.
    public static let actionTimeout = CTAPStatus(rawValue: 0x3A)
    /// User presence is required.
    public static let presenceRequired = CTAPStatus(rawValue: 0x3B)
    /// User verification is blocked.
    public static let uvBlocked = CTAPStatus(rawValue: 0x3C)
    /// Stored data is damaged.
    public static let integrityFailure = CTAPStatus(rawValue: 0x3D)
    /// Unknown subcommand.
    public static let invalidSubcommand = CTAPStatus(rawValue: 0x3E)
    /// User verification failed.
    public static let uvInvalid = CTAPStatus(rawValue: 0x3F)
    /// The given permissions do not allow the operation.
    public static let unauthorizedPermission = CTAPStatus(rawValue: 0x40)
    /// Another error.
    public static let other = CTAPStatus(rawValue: 0x7F)

    /// The meaning as part of a sentence for users, without a full stop.
    public var meaning: String {
        if let known = Self.meanings[self] { return known }
        switch rawValue {
        case 0xE0...0xEF: return "an extension failed"
        case 0xF0...0xFF: return "a vendor-specific error"
        default: return "the phone reported an unknown error"
        }
    }

    /// Statuses with a name.
    public static var known: [CTAPStatus] { meanings.keys.sorted { $0.rawValue < $1.rawValue } }

    private static let meanings: [CTAPStatus: String] = [
        .success: "done",
        .invalidCommand: "the command is unknown",
        .invalidParameter: "a parameter is invalid",
        .invalidLength: "a length is invalid",
        .invalidSequence: "messages arrived in the wrong order",
        .timeout: "it timed out",
        .channelBusy: "it is busy with another request",
        .lockRequired: "the channel must be locked first",
        .invalidChannel: "the channel does not exist",
        .cborUnexpectedType: "a parameter has the wrong type",
        .invalidCBOR: "the request could not be read",
        .missingParameter: "a parameter is missing",
        .limitExceeded: "a limit was exceeded",
        .fingerprintsFull: "there is no space for another fingerprint",
        .largeBlobStorageFull: "there is no space for the website's data",
        .credentialExcluded: "it already has a passkey for this account",
        .processing: "it is still processing the request",
        .invalidCredential: "the passkey is invalid",
        .userActionPending: "it is waiting for its user",
        .operationPending: "another operation is pending",
        .noOperations: "there is no operation to continue",
        .unsupportedAlgorithm: "it supports none of the requested key types",
        .operationDenied: "it was declined",
        .keyStoreFull: "there is no space for another passkey",
        .noOperationPending: "no operation is pending",
        .unsupportedOption: "an option is not supported",
        .invalidOption: "an option is invalid",
        .keepaliveCancel: "it was cancelled",
        .noCredentials: "there is no passkey for this site",
        .userActionTimeout: "its user did not respond in time",
        .notAllowed: "it is not allowed",
        .pinInvalid: "the PIN is wrong",
        .pinBlocked: "the PIN is blocked",
        .pinAuthInvalid: "PIN authentication failed",
        .pinAuthBlocked: "the PIN is blocked until the phone restarts",
        .pinNotSet: "no PIN is set",
        .pinUvTokenRequired: "the user must be verified",
        .pinPolicyViolation: "the PIN is not allowed",
        .requestTooLarge: "the request is too large",
        .actionTimeout: "an action was not completed in time",
        .presenceRequired: "the user must confirm their presence",
        .uvBlocked: "user verification is blocked",
        .integrityFailure: "its stored data is damaged",
        .invalidSubcommand: "the subcommand is unknown",
        .uvInvalid: "the user could not be verified",
        .unauthorizedPermission: "the permissions are insufficient",
        .other: "an unspecified error occurred",
    ]
}

extension CTAPStatus: CustomStringConvertible {
    /// The meaning and the byte.
    public var description: String {
        let digits = String(rawValue, radix: 16, uppercase: true)
        return "\(meaning) (CTAP 0x\(digits.count == 1 ? "0" : "")\(digits))"
    }
}
