// SPDX-License-Identifier: Apache-2.0

private import FoundationEssentials
internal import HybridAuthenticator
package import HybridCTAP

/// The passkeys that can be imported from an export of another program.
///
/// The formats are the Credential Exchange Format and Bitwarden's unencrypted JSON, each also in a ZIP archive.
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

        /// The reason to reject a document of another version.
        init(version: Int) { reason = "it has version \(version) of the format; this program reads 1" }
    }

    /// A check of a passkey by the program that imports it, which may skip the passkey.
    package typealias Check = (ExchangedPasskey) throws(SkippedCredential) -> Void

    /// Parses a document or an archive of at most 16 MiB.
    package init(_ bytes: [UInt8], checking check: Check) throws(ParseError) {
        let isArchive = ZipArchive.isArchive(bytes)
        try self.init(json: isArchive ? try ExchangeArchive.document(in: bytes) : bytes, checking: check)
    }

    /// Parses a document of at most 16 MiB.
    ///
    /// Unknown members are ignored, as the format requires. If a member is duplicated, the first one is used.
    init(json: [UInt8], checking check: Check = { _ in }) throws(ParseError) {
        guard json.count <= ExchangeFormat.maximumLength else { throw ParseError(reason: "it is longer than 16 MiB") }
        try DocumentBounds.check(json)
        let document: ImportedDocument
        do {
            document = try JSONDecoder().decode(ImportedDocument.self, from: Data(json))
        } catch let refusal as ParseError {
            throw refusal
        } catch let error as DecodingError {
            throw ParseError(reason: error.reason)
        } catch {
            throw ParseError(reason: "it is not JSON")
        }
        switch document {
        case .exchange(let header):
            for item in header.accounts.flatMap(\.items) {
                let ours = item.credentials.count { $0.isPasskey } == 1 ? item.hybridExtension : nil
                for credential in item.credentials {
                    add(credential, created: item.created, hybridExtension: ours, check)
                }
            }
        case .bitwarden(let export):
            for credential in export.items.flatMap(\.credentials) { add(credential, check) }
        }
        guard passkeys.count <= ExchangeFormat.maximumPasskeys else {
            let limit = ExchangeFormat.maximumPasskeys
            throw ParseError(reason: "it has more than \(limit) passkeys, which no vault holds")
        }
    }

    /// Adds a credential to the passkeys to import or to the skipped ones.
    private mutating func add(
        _ credential: CredentialFields,
        created: UInt64? = nil,
        hybridExtension: HybridExtension? = nil,
        _ check: Check
    ) {
        switch credential {
        case .other(let type):
            // The number of distinct types is limited; the rest count as one.
            let isKnown = skipped.contains { $0.what.otherType == type }
            Self.count(.otherType(isKnown || skipped.count < Self.maximumTypes ? type : ""), in: &skipped)
        case .skipped(let why, let label): skip(label, why)
        case .passkey(let fields):
            let passkey = ExchangedPasskey(fields, created: created, hybridExtension: hybridExtension)
            do throws(SkippedCredential) {
                try check(passkey)
                passkeys.append(passkey)
                for name in fields.lost { Self.count(name, in: &incomplete) }
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

extension DecodingError {
    /// The cause as part of a message, with the path of the member.
    var reason: String {
        switch self {
        case .keyNotFound(let key, let context): "\(Self.path(context.codingPath + [key])) is missing"
        case .valueNotFound(_, let context): "\(Self.path(context.codingPath)) is missing"
        case .typeMismatch(_, let context): "\(Self.path(context.codingPath)) has the wrong type"
        case .dataCorrupted(let context) where !context.codingPath.isEmpty:
            "\(Self.path(context.codingPath)) has the wrong type"
        default: "it is not JSON"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        let path = keys.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }.joined()
        guard !path.isEmpty else { return "the document" }
        return path.hasPrefix(".") ? String(path.dropFirst()) : path
    }
}
