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
    /// The authenticator took too long.
    public static let timeout = CTAPStatus(rawValue: 0x05)
    /// A CBOR item has the wrong type.
    public static let cborUnexpectedType = CTAPStatus(rawValue: 0x11)
    /// The body is not CBOR.
    public static let invalidCBOR = CTAPStatus(rawValue: 0x12)
    /// A parameter is missing.
    public static let missingParameter = CTAPStatus(rawValue: 0x14)
    /// A limit was exceeded.
    public static let limitExceeded = CTAPStatus(rawValue: 0x15)
    /// A credential of the exclude list exists here already.
    public static let credentialExcluded = CTAPStatus(rawValue: 0x19)
    /// The credential is not valid for this authenticator.
    public static let invalidCredential = CTAPStatus(rawValue: 0x22)
    /// None of the asked algorithms is supported.
    public static let unsupportedAlgorithm = CTAPStatus(rawValue: 0x26)
    /// The user declined, or could not be verified.
    public static let operationDenied = CTAPStatus(rawValue: 0x27)
    /// There is no room for another credential.
    public static let keyStoreFull = CTAPStatus(rawValue: 0x28)
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
    /// User verification is required and was not asked for.
    public static let pinUvTokenRequired = CTAPStatus(rawValue: 0x36)
    /// The request is too large.
    public static let requestTooLarge = CTAPStatus(rawValue: 0x39)
    /// User verification is blocked.
    public static let uvBlocked = CTAPStatus(rawValue: 0x3C)
    /// User verification failed.
    public static let uvInvalid = CTAPStatus(rawValue: 0x3F)
    /// Something else went wrong.
    public static let other = CTAPStatus(rawValue: 0x7F)

    /// What it means, as half a sentence for people.
    public var meaning: String { Self.meanings[self] ?? "the phone answered with an unknown error" }

    private static let meanings: [CTAPStatus: String] = [
        .success: "done",
        .invalidCommand: "the command is unknown",
        .invalidParameter: "a parameter is not valid",
        .invalidLength: "a length is not valid",
        .timeout: "it took too long",
        .cborUnexpectedType: "a parameter has the wrong type",
        .invalidCBOR: "the request could not be read",
        .missingParameter: "a parameter is missing",
        .limitExceeded: "a limit was exceeded",
        .credentialExcluded: "a passkey for this account exists there already",
        .invalidCredential: "the passkey is not valid",
        .unsupportedAlgorithm: "none of the asked key types is supported",
        .operationDenied: "it was declined",
        .keyStoreFull: "there is no room for another passkey",
        .unsupportedOption: "an option is not supported",
        .invalidOption: "an option is not valid",
        .keepaliveCancel: "it was cancelled",
        .noCredentials: "there is no passkey for this site",
        .userActionTimeout: "nobody answered in time",
        .notAllowed: "it is not allowed",
        .pinInvalid: "the PIN is wrong",
        .pinBlocked: "the PIN is blocked",
        .pinUvTokenRequired: "the user must be verified",
        .requestTooLarge: "the request is too large",
        .uvBlocked: "user verification is blocked",
        .uvInvalid: "the user could not be verified",
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
