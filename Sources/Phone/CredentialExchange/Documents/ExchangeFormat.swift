// SPDX-License-Identifier: Apache-2.0

/// Constants of the FIDO Alliance's Credential Exchange Format for passkeys (CXF 1.0, Proposed Standard of 14 August
/// 2025 with the errata of 9 March 2026), and of its working drafts of 2024.
///
/// **Export.** ``ExchangeDocument`` writes one JSON document with one account and an item for each passkey. The private keys are in the clear, so anyone who reads the file can sign in. Members that the format lacks
/// (whether a passkey is discoverable, members of later versions) are in an extension of the item. Other programs
/// ignore this extension.
///
/// **Import.** ``ExchangeFile`` reads a document within limits, before the user is asked for a PIN. Credentials that are
/// not passkeys or cannot be used here are skipped and counted.
///
/// **Trust.** The parser treats every file as hostile, even though the user has chosen it. The properties of a passkey
/// in the file are trusted, because the author of the file could have created any passkey.
package enum ExchangeFormat {
    /// Maximum length of a document that is read or written, in bytes; 10,000 passkeys fit.
    package static let maximumLength = 16 << 20
    /// Maximum number of values in a document; 10,000 passkeys with all members fit.
    static let maximumValues = 1 << 20
    /// Maximum number of passkeys that are read; no vault can have more records.
    static let maximumPasskeys = 10000
    /// Major version that is read and written.
    static let major = 1
    /// Versions of working drafts, which are numbers without a minor version.
    static let drafts = 0...1
    /// Name of this exporter.
    ///
    /// The format requires a domain. No domain under `.invalid` can be registered (RFC 6761).
    static let exporter = "hybrid-auth.invalid"
    /// Name of the extension for members that the format lacks.
    package static let extensionName = exporter + "/passkey"
    /// The type of the credentials that are written.
    static let passkeyType = "passkey"

    /// Returns true for the type of passkeys, which programs from the time of the drafts write as `Passkey`.
    static func isPasskeyType(_ type: String) -> Bool { type.lowercased().utf8.elementsEqual(passkeyType.utf8) }

    /// The only algorithm of `hmacCredentials`.
    static let hmacAlgorithm = "hmac-sha256"
    /// Maximum length of a credential blob, in bytes; the standard guarantees 32.
    static let maximumBlob = 1024
    /// Maximum length of a large blob as received (compressed), in bytes.
    static let maximumLargeBlob = 64 << 10
    /// Maximum length of the other members of a record, in bytes; a record of a vault is not longer.
    static let maximumRest = 256 << 10
}
