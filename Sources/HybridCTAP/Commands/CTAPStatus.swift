// SPDX-License-Identifier: Apache-2.0

/// First byte of every response (CTAP 2.2 §8.2).
///
/// Any byte may arrive, so this is a number with names and not a closed list.
public struct CTAPStatus: RawRepresentable, Hashable, Sendable {
    /// The byte.
    public let rawValue: UInt8

    /// A status from its byte.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Done.
    public static let success = CTAPStatus(rawValue: 0x00)
    /// Unknown command.
    public static let invalidCommand = CTAPStatus(rawValue: 0x01)
    /// A parameter has a value that is not allowed.
    public static let invalidParameter = CTAPStatus(rawValue: 0x02)
    /// A message or item has the wrong length.
    public static let invalidLength = CTAPStatus(rawValue: 0x03)
    /// Messages came in the wrong order.
    public static let invalidSequence = CTAPStatus(rawValue: 0x04)
    /// The authenticator took too long.
    public static let timeout = CTAPStatus(rawValue: 0x05)
    /// It is busy with another request.
    public static let channelBusy = CTAPStatus(rawValue: 0x06)
    /// The channel must be locked first.
    public static let lockRequired = CTAPStatus(rawValue: 0x0A)
    /// The channel does not exist.
    public static let invalidChannel = CTAPStatus(rawValue: 0x0B)
    /// A CBOR item has the wrong type.
    public static let cborUnexpectedType = CTAPStatus(rawValue: 0x11)
    /// The body is not CBOR.
    public static let invalidCBOR = CTAPStatus(rawValue: 0x12)
    /// A parameter is missing.
    public static let missingParameter = CTAPStatus(rawValue: 0x14)
    /// A limit was exceeded.
    public static let limitExceeded = CTAPStatus(rawValue: 0x15)
    /// There is no room for another fingerprint.
    public static let fingerprintsFull = CTAPStatus(rawValue: 0x17)
    /// There is no room for the website's data.
    public static let largeBlobStorageFull = CTAPStatus(rawValue: 0x18)
    /// A credential of the exclude list exists here already.
    public static let credentialExcluded = CTAPStatus(rawValue: 0x19)
    /// It is still at work.
    public static let processing = CTAPStatus(rawValue: 0x21)
    /// The credential is not valid for this authenticator.
    public static let invalidCredential = CTAPStatus(rawValue: 0x22)
    /// It waits for its user.
    public static let userActionPending = CTAPStatus(rawValue: 0x23)
    /// Another operation is not over.
    public static let operationPending = CTAPStatus(rawValue: 0x24)
    /// There is no operation to go on with.
    public static let noOperations = CTAPStatus(rawValue: 0x25)
    /// None of the asked algorithms is supported.
    public static let unsupportedAlgorithm = CTAPStatus(rawValue: 0x26)
    /// The user declined, or could not be verified.
    public static let operationDenied = CTAPStatus(rawValue: 0x27)
    /// There is no room for another credential.
    public static let keyStoreFull = CTAPStatus(rawValue: 0x28)
    /// No operation waits.
    public static let noOperationPending = CTAPStatus(rawValue: 0x2A)
    /// An option is not supported.
    public static let unsupportedOption = CTAPStatus(rawValue: 0x2B)
    /// An option has a value that is not allowed here.
    public static let invalidOption = CTAPStatus(rawValue: 0x2C)
    /// The request was cancelled.
    public static let keepaliveCancel = CTAPStatus(rawValue: 0x2D)
    /// There is no credential for this request.
    public static let noCredentials = CTAPStatus(rawValue: 0x2E)
    /// The user did not act in time.
    public static let userActionTimeout = CTAPStatus(rawValue: 0x2F)
    /// The command is not allowed now.
    public static let notAllowed = CTAPStatus(rawValue: 0x30)
    /// The PIN is wrong.
    public static let pinInvalid = CTAPStatus(rawValue: 0x31)
    /// The PIN is blocked.
    public static let pinBlocked = CTAPStatus(rawValue: 0x32)
    /// What was made with the PIN does not verify.
    public static let pinAuthInvalid = CTAPStatus(rawValue: 0x33)
    /// The PIN can't be used until the authenticator starts anew.
    public static let pinAuthBlocked = CTAPStatus(rawValue: 0x34)
    /// There is no PIN.
    public static let pinNotSet = CTAPStatus(rawValue: 0x35)
    /// User verification is required and was not asked for.
    public static let pinUvTokenRequired = CTAPStatus(rawValue: 0x36)
    /// The PIN is not one that is allowed.
    public static let pinPolicyViolation = CTAPStatus(rawValue: 0x37)
    /// The request is too large.
    public static let requestTooLarge = CTAPStatus(rawValue: 0x39)
    /// The user began and did not end in time.
    public static let actionTimeout = CTAPStatus(rawValue: 0x3A)
    /// The user must show that they are there.
    public static let presenceRequired = CTAPStatus(rawValue: 0x3B)
    /// User verification is blocked.
    public static let uvBlocked = CTAPStatus(rawValue: 0x3C)
    /// What is kept there is damaged.
    public static let integrityFailure = CTAPStatus(rawValue: 0x3D)
    /// Unknown part of a command.
    public static let invalidSubcommand = CTAPStatus(rawValue: 0x3E)
    /// User verification failed.
    public static let uvInvalid = CTAPStatus(rawValue: 0x3F)
    /// It may not be done with the permissions given.
    public static let unauthorizedPermission = CTAPStatus(rawValue: 0x40)
    /// Something else went wrong.
    public static let other = CTAPStatus(rawValue: 0x7F)

    /// What it means, as half a sentence for people.
    public var meaning: String {
        if let known = Self.meanings[self] { return known }
        switch rawValue {
        case 0xE0...0xEF: return "an extension failed"
        case 0xF0...0xFF: return "an error of its maker's own"
        default: return "the phone answered with an unknown error"
        }
    }

    /// All that have a name.
    public static var known: [CTAPStatus] { meanings.keys.sorted { $0.rawValue < $1.rawValue } }

    private static let meanings: [CTAPStatus: String] = [
        .success: "done",
        .invalidCommand: "the command is unknown",
        .invalidParameter: "a parameter is not valid",
        .invalidLength: "a length is not valid",
        .invalidSequence: "messages came in the wrong order",
        .timeout: "it took too long",
        .channelBusy: "it is busy with another request",
        .lockRequired: "the channel must be locked first",
        .invalidChannel: "the channel does not exist",
        .cborUnexpectedType: "a parameter has the wrong type",
        .invalidCBOR: "the request could not be read",
        .missingParameter: "a parameter is missing",
        .limitExceeded: "a limit was exceeded",
        .fingerprintsFull: "there is no room for another fingerprint",
        .largeBlobStorageFull: "there is no room for the website's data",
        .credentialExcluded: "a passkey for this account exists there already",
        .processing: "it is still at work",
        .invalidCredential: "the passkey is not valid",
        .userActionPending: "it waits for its user",
        .operationPending: "another operation is not over",
        .noOperations: "there is nothing to go on with",
        .unsupportedAlgorithm: "none of the asked key types is supported",
        .operationDenied: "it was declined",
        .keyStoreFull: "there is no room for another passkey",
        .noOperationPending: "no operation waits",
        .unsupportedOption: "an option is not supported",
        .invalidOption: "an option is not valid",
        .keepaliveCancel: "it was cancelled",
        .noCredentials: "there is no passkey for this site",
        .userActionTimeout: "nobody answered in time",
        .notAllowed: "it is not allowed",
        .pinInvalid: "the PIN is wrong",
        .pinBlocked: "the PIN is blocked",
        .pinAuthInvalid: "what was made with the PIN does not verify",
        .pinAuthBlocked: "the PIN can not be used until the phone starts anew",
        .pinNotSet: "no PIN is set",
        .pinUvTokenRequired: "the user must be verified",
        .pinPolicyViolation: "the PIN is not one that is allowed",
        .requestTooLarge: "the request is too large",
        .actionTimeout: "what was begun was not ended in time",
        .presenceRequired: "the user must show that they are there",
        .uvBlocked: "user verification is blocked",
        .integrityFailure: "what is kept there is damaged",
        .invalidSubcommand: "a part of the command is unknown",
        .uvInvalid: "the user could not be verified",
        .unauthorizedPermission: "the permissions do not suffice",
        .other: "something went wrong there",
    ]
}

extension CTAPStatus: CustomStringConvertible {
    /// Its meaning and its byte.
    public var description: String {
        let digits = String(rawValue, radix: 16, uppercase: true)
        return "\(meaning) (CTAP 0x\(digits.count == 1 ? "0" : "")\(digits))"
    }
}
