// SPDX-License-Identifier: Apache-2.0

/// The Credential Exchange Format of the FIDO Alliance (CXF 1.0, Proposed Standard of 14 August 2025 with the errata of
/// 9 March 2026), as far as passkeys need it: how they come from other programs, and how they get there.
///
/// **Out.** ``UnlockedVault/exportPasskeys(to:)`` writes one JSON document with one account, an item for each passkey,
/// and the key in the clear: whoever has the file can sign in. What the format has no member for (whether a passkey is
/// discoverable, what later versions put into its record) stands in an extension of the item, which others ignore.
///
/// **In.** ``ExchangeFile/read(_:)`` reads a document within bounds before anybody is asked for a PIN. What is no
/// passkey, or none that can sign here, is left out and counted. ``UnlockedVault/add(_:)`` seals the others as new
/// records. What is here already is never touched, so a file can be imported as often as one likes.
///
/// **Trust.** The file is hostile until a person has chosen it, and then still parsed as such. It is trusted for what
/// it says about passkeys: whoever made it could have made any passkey.
enum ExchangeFormat {
    /// The longest document that is read or written, in bytes; 10,000 passkeys fit.
    static let maximumLength = 16 << 20
    /// The most brackets, colons and commas outside strings that are read; 10,000 passkeys with all they may have fit.
    static let maximumMarks = 1 << 20
    /// The most passkeys that are read; no vault has more records.
    static let maximumPasskeys = 10000
    /// The major version that is read and written.
    static let major = 1
    /// Who writes these files.
    ///
    /// The format wants a domain; `.invalid` (RFC 6761) can be nobody's.
    static let exporter = "hybrid-auth.invalid"
    /// What carries the members of a record that the format does not have.
    static let extensionName = exporter + "/passkey"
    /// The kind of credential that is read and written.
    static let passkeyType = "passkey"
    /// The one algorithm of `hmacCredentials`.
    static let hmacAlgorithm = "hmac-sha256"
    /// The longest credential blob that is kept, in bytes; the standard promises 32.
    static let maximumBlob = 1024
    /// The longest large blob that is kept, in bytes, compressed as it came.
    static let maximumLargeBlob = 64 << 10
    /// The longest other members of a record, in bytes: all that a record holds.
    static let maximumRest = RecordFile.maximumLength
}
