// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// Data that a key may sign: an SSH login, or a message in the SSHSIG format.
///
/// A signature is as dangerous as the protocols that accept it: with the client data of WebAuthn as data, it would be a
/// sign-in to a website. Therefore only data that parses completely as one of the two is signed.
public struct SignedData: Hashable, Sendable {
    /// The meaning of the data.
    public enum Content: Hashable, Sendable {
        /// The data authenticates a user to an SSH server.
        case login(LoginData)
        /// The data is a message in the SSHSIG format, such as a git commit.
        case message(MessageData)
    }

    /// Maximum length in bytes.
    ///
    /// A phone is not told more than that about a signature, and signs nothing that it is not told.
    public static let maximumLength = 32 * 1024

    /// The bytes.
    public let bytes: [UInt8]
    /// The meaning of the bytes.
    public let content: Content

    /// Creates signable data from its bytes, which must be parsed to the end.
    ///
    /// - Parameters:
    ///   - bytes: The data of a sign request.
    ///   - key: The key that is to sign. A login must name the same key.
    public init(parsing bytes: [UInt8], for key: SSHPublicKey) throws(SignedDataError) {
        try self.init(bytes, for: key)
    }

    /// Creates signable data from its bytes, for an authenticator that looks up the key afterwards.
    ///
    /// - Parameter bytes: The data, which must be parsed to the end. A login names the key that is to sign.
    public init(parsing bytes: [UInt8]) throws(SignedDataError) { try self.init(bytes, for: nil) }

    private init(_ bytes: [UInt8], for key: SSHPublicKey?) throws(SignedDataError) {
        guard bytes.count <= Self.maximumLength else { throw .tooLong }
        self.bytes = bytes
        content =
            if bytes.starts(with: MessageData.magic) {
                .message(try MessageData(parsing: bytes))
            } else {
                .login(try LoginData(parsing: bytes, for: key))
            }
    }

    /// SHA-256 of the bytes, 32 bytes: the client data hash of the request to the phone.
    public var hash: [UInt8] { Array(SHA256.hash(data: bytes)) }
}

/// A reason why data is not signed.
public struct SignedDataError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The data is neither a login nor a message in the SSHSIG format.
    public static let unrecognized = SignedDataError("unrecognized")
    /// The data is longer than ``SignedData/maximumLength``.
    public static let tooLong = SignedDataError(
        "tooLong",
        "the login has more than 32,768 bytes, because of its certificate; use one with fewer principals and options"
    )
    /// The service of a login is not `ssh-connection`.
    public static let service = SignedDataError("service")
    /// The method of a login is neither `publickey` nor `publickey-hostbound-v00@openssh.com`.
    public static let method = SignedDataError("method")
    /// The algorithm of a login is neither ``SSHPublicKey/algorithm`` nor ``SSHUserCertificate/algorithm``.
    public static let algorithm = SignedDataError(
        "algorithm",
        "the login has the algorithm of a different key; the phone's keys sign with "
            + "sk-ecdsa-sha2-nistp256@openssh.com only"
    )
    /// A login names another key than the one that is to sign.
    public static let foreignKey = SignedDataError(
        "foreignKey",
        "the login names a different key from the one that should sign"
    )
    /// The user name is not ``SSHUserName``.
    public static let userName = SignedDataError(
        "userName",
        "the user name must have 1 to 255 bytes of UTF-8 without control characters"
    )
    /// The namespace of a message is not a ``SignatureNamespace``.
    public static let namespace = SignedDataError(
        "namespace",
        "the namespace of the message must have 1 to 255 letters, digits and characters of .+-_@:/"
    )
    /// The reserved field of a message is not empty.
    public static let reserved = SignedDataError("reserved")
    /// The hash algorithm of a message is neither `sha256` nor `sha512`, or the hash has another length.
    public static let hash = SignedDataError("hash", "the message has a hash other than sha256 and sha512")

    /// The error's name, with the cause in parentheses.
    public let description: String
    /// The reason in words, for users.
    public let explanation: String

    private init(
        _ description: String,
        _ explanation: String = "the data is neither a login with this key nor a message in the SSHSIG format"
    ) {
        self.description = description
        self.explanation = explanation
    }

    /// The certificate of a login does not parse, or is not for a user.
    public static func certificate(_ error: SSHFormatError) -> SignedDataError {
        SignedDataError("certificate(\(error))", "the certificate of the login is malformed or not for a user's key")
    }

    /// The data begins like a login or a message, but does not parse.
    public static func format(_ error: SSHFormatError) -> SignedDataError { SignedDataError("format(\(error))") }
}
