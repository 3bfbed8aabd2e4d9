// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
package import HybridCTAP
internal import HybridPrimitives

/// The passkeys that can be imported from an export of another program.
///
/// The formats are the Credential Exchange Format and Bitwarden's unencrypted JSON, each also in a ZIP archive, and files of
/// KeePassXC.
package struct ExchangeFile: Sendable {
    /// Passkeys that can be imported, in the order of the file.
    package private(set) var passkeys: [ExchangedPasskey] = []
    /// Causes of skipped credentials, each with the number of such credentials, in the order of the file.
    package private(set) var skipped: [(what: SkippedCredential, count: Int)] = []
    /// Skipped passkeys, each with its cause, in the order of the file.
    package private(set) var skippedPasskeys: [(passkey: PasskeyLabel, why: SkippedCredential)] = []
    /// Names of members that cannot be imported, each with the number of passkeys that have it.
    package private(set) var incomplete: [(what: String, count: Int)] = []

    /// Number of passkeys that can be imported.
    package var count: Int { passkeys.count }

    /// Relying parties of the passkeys that can be imported, in alphabetical order, and the numbers of their passkeys.
    package var sites: [(site: RelyingPartyID, count: Int)] {
        Dictionary(grouping: passkeys, by: \.id.relyingParty)
            .map { (site: $0.key, count: $0.value.count) }
            .sorted { $0.site.text < $1.site.text }
    }

    /// A reason to reject the whole document, as part of a message.
    package struct ParseError: Error, Equatable {
        package let reason: String

        init(reason: String) { self.reason = reason }

        /// The reason of an error of a document's reader.
        init(_ error: any Error) {
            reason =
                switch error {
                case let error as ParseError: error.reason
                case let error as JSONMemberError: error.reason
                case let error as JSONSyntaxError: error.reason
                default: JSONSyntaxError.malformed.reason
                }
        }

        /// The reason to reject an encrypted document, with the suffix of its kind of file.
        init(encrypted suffix: String) {
            reason = "its document is encrypted (\(suffix)); export it without encryption"
        }

        /// The reason to reject a document of another version.
        init(version: Int) { reason = "it has version \(version) of the format; this program reads 1" }
    }

    /// A check of a passkey by the program that imports it, which may skip the passkey.
    package typealias Check = (ExchangedPasskey) throws(SkippedCredential) -> Void

    /// Parses a document or an archive of at most 16 MiB.
    package init(_ bytes: [UInt8], checking check: Check) throws(ParseError) {
        guard !bytes.starts(with: "-----BEGIN PGP MESSAGE-----".utf8) else { throw ParseError(encrypted: ".pgp") }
        let isArchive = ZipArchive.isArchive(bytes)
        try self.init(json: isArchive ? try ExchangeArchive.document(in: bytes) : bytes, checking: check)
    }

    /// Parses a document of the Credential Exchange Format and no other, of at most 16 MiB.
    package init(document json: [UInt8], checking check: Check) throws(ParseError) {
        try self.init(json: json, checking: check, Self.exchangeCredentials)
    }

    /// Parses a document of at most 16 MiB.
    ///
    /// Unknown members are ignored, as the format requires.
    init(json: [UInt8], checking check: Check = { _ in }) throws(ParseError) {
        try self.init(json: json, checking: check, Self.credentials)
    }

    private init(
        json: [UInt8],
        checking check: Check,
        _ read: (JSONCursor) throws -> [ImportedCredential]
    ) throws(ParseError) {
        do {
            let text = try JSONText(parsing: json, maximumValues: ExchangeFormat.maximumValues, mayBeMarked: true)
            for credential in try read(JSONCursor(text, named: "the document")) { add(credential, check) }
        } catch {
            throw ParseError(error)
        }
        guard passkeys.count <= ExchangeFormat.maximumPasskeys else {
            let limit = ExchangeFormat.maximumPasskeys
            throw ParseError(reason: "it has more than \(limit) passkeys, which no vault holds")
        }
    }

    /// Returns the credentials of a document of the Credential Exchange Format, or of an export of another program.
    private static func credentials(_ document: JSONCursor) throws -> [ImportedCredential] {
        if KeePassXCPasskey.describes(document.value) { return [KeePassXCPasskey.credential(document.value)] }
        guard document.value.member("vaults") == nil || document.value.member("accounts") != nil else {
            throw ParseError(
                reason: "it is an export of Proton Pass, which writes passkeys in a form of its own that this program "
                    + "can't read; create a new passkey at each site"
            )
        }
        let isExchange = ["version", "accounts"].contains { document.value.member($0) != nil }
        if !isExchange, ["items", "encrypted"].contains(where: { document.value.member($0) != nil }) {
            return try BitwardenItem.items(document).flatMap(\.credentials)
        }
        return try exchangeCredentials(document)
    }

    /// Returns the credentials of a document of the Credential Exchange Format.
    private static func exchangeCredentials(_ document: JSONCursor) throws -> [ImportedCredential] {
        let version = try document.member("version")
        if let draft = version.value.integer(Int.self) {
            guard ExchangeFormat.drafts.contains(draft) else { throw ParseError(version: draft) }
        } else {
            let major = try version.member("major").integer(Int.self)
            // Minor versions only add members.
            guard major == ExchangeFormat.major else { throw ParseError(version: major) }
        }
        return try document.member("accounts").elements.flatMap { account in
            try account.member("items").elements.flatMap { try ExchangeItem($0).credentials }
        }
    }

    /// Adds a credential to the passkeys to import or to the skipped ones.
    private mutating func add(_ credential: ImportedCredential, _ check: Check) {
        switch credential {
        case .other(let type):
            // The number of distinct types is limited; the rest count as one.
            let isKnown = skipped.contains { $0.what.otherType == type }
            Self.count(.otherType(isKnown || skipped.count < Self.maximumTypes ? type : ""), in: &skipped)
        case .skipped(let why, let label): skip(label, why)
        case .passkey(let passkey, let lost):
            do throws(SkippedCredential) {
                try check(passkey)
                passkeys.append(passkey)
                for name in lost { Self.count(name, in: &incomplete) }
            } catch {
                skip(passkey.label, error)
            }
        }
    }

    private mutating func skip(_ passkey: PasskeyLabel, _ why: SkippedCredential) {
        Self.count(why, in: &skipped)
        skippedPasskeys.append((passkey, why))
    }

    private static let maximumTypes = 40

    /// Counts one more occurrence of a value; a new value is added at the end.
    private static func count<Value: Equatable>(_ value: Value, in counts: inout [(what: Value, count: Int)]) {
        if let index = counts.firstIndex(where: { $0.what == value }) {
            counts[index].count += 1
        } else {
            counts.append((value, 1))
        }
    }
}

/// The reason why a credential is not imported; later versions may add reasons.
package struct SkippedCredential: Error, Hashable, Sendable {
    /// Type of a credential that is not a passkey, from the untrusted file; `nil` for a passkey.
    ///
    /// Empty if the file states no type or has too many different types.
    package let otherType: String?
    /// The reason as words that follow "a passkey" in a message; empty if the credential is not a passkey.
    package let reason: String

    /// Creates a reason to skip a passkey.
    package init(_ reason: String) { self.init(reason, otherType: nil) }

    private init(_ reason: String, otherType: String?) {
        self.reason = reason
        self.otherType = otherType
    }

    /// A credential of another type.
    static func otherType(_ type: String) -> SkippedCredential { SkippedCredential("", otherType: type) }
    /// A passkey whose key is for an algorithm other than ES256.
    static let otherAlgorithm = SkippedCredential("with a key that this program can't use (it has ES256)")
    /// A passkey with a missing or invalid member.
    package static func malformed(member: String) -> SkippedCredential {
        SkippedCredential("whose \(member) is missing or not what the format has there")
    }
}
