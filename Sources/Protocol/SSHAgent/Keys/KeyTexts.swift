// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// The SHA-256 fingerprint of a public key.
public struct SSHFingerprint: Hashable, Sendable, CustomStringConvertible {
    /// `SHA256:` and the hash in base64 without padding, as OpenSSH prints it.
    public let description: String

    /// Creates the fingerprint of an encoded key.
    init(ofKey blob: [UInt8]) {
        let digits = Base64.encode(Array(SHA256.hash(data: blob))).prefix { $0 != UInt8(ascii: "=") }
        description = "SHA256:" + String(decoding: digits, as: UTF8.self)
    }

    /// Creates a fingerprint from its text; returns `nil` unless the text is `SHA256:` and 43 base64 characters.
    public init?(_ text: String) {
        let digits = text.utf8.dropFirst(7)
        guard text.hasPrefix("SHA256:"), digits.count == 43,
            digits.allSatisfy({ NameByte.isAllowed($0, besides: "+/") })
        else { return nil }
        description = text
    }
}

/// The comment of a key, which is its name for the user.
public struct SSHKeyComment: Hashable, Sendable, CustomStringConvertible {
    /// Maximum length in UTF-8 bytes.
    public static let maximumLength = 255

    /// The text.
    public let description: String

    /// Creates a comment.
    ///
    /// - Returns: `nil` if the text is empty, longer than ``maximumLength``, starts or ends with a space, or contains
    ///   control, format or unassigned characters or line ends.
    public init?(_ text: String) {
        guard (1...Self.maximumLength).contains(text.utf8.count), text.first != " ", text.last != " ",
            text.unicodeScalars.allSatisfy(PlainText.isAllowed)
        else { return nil }
        description = text
    }
}

/// A signer in the allowed signers file, for example an e-mail address.
public struct SignerPrincipal: Hashable, Sendable, CustomStringConvertible {
    /// The text.
    public let description: String

    /// Creates a principal.
    ///
    /// - Returns: `nil` unless the text has 1 to 255 letters, digits and characters of `.+-_@`, without a wildcard.
    public init?(_ text: String) {
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ NameByte.isAllowed($0, besides: ".+-_@") })
        else { return nil }
        description = text
    }
}

/// The purpose of an SSH signature, such as `git` or `file` (OpenSSH's PROTOCOL.sshsig).
public struct SignatureNamespace: Hashable, Sendable, CustomStringConvertible {
    /// The text.
    public let description: String

    /// Creates a namespace.
    ///
    /// - Returns: `nil` unless the text has 1 to 255 letters, digits and characters of `.+-_@:/`.
    public init?(_ text: String) {
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ NameByte.isAllowed($0, besides: ".+-_@:/") })
        else { return nil }
        description = text
    }
}

/// Characters of text that is written to files and shown to users.
enum PlainText {
    /// Returns false for control, format, bidirectional and unassigned characters and for line ends.
    static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        default: !scalar.properties.isBidiControl
        }
    }
}

/// The bytes of names that stand unquoted in files and prompts.
enum NameByte {
    static func isAllowed(_ byte: UInt8, besides marks: StaticString) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: marks.withUTF8Buffer { $0.contains(byte) }
        }
    }
}
