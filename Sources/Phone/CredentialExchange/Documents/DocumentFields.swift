// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridPrimitives

/// A file to import: a document of the Credential Exchange Format, or an export of Bitwarden.
enum ImportedDocument: Decodable {
    case exchange(DocumentFields)
    case bitwarden(BitwardenFields)

    /// Members of the outermost object that distinguish the formats.
    private enum CodingKeys: String, CodingKey {
        case version
        case accounts
        case items
        case encrypted
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        let isExchange = members.contains(.version) || members.contains(.accounts)
        if !isExchange, members.contains(.items) || members.contains(.encrypted) {
            self = .bitwarden(try BitwardenFields(from: decoder))
        } else {
            self = .exchange(try DocumentFields(from: decoder))
        }
    }
}

/// The relevant members of a document, nested as in the format: document, accounts, items, credentials.
///
/// A document with another structure is rejected as a whole; a credential with another structure is skipped.
struct DocumentFields: Decodable {
    let accounts: [AccountFields]

    private enum CodingKeys: String, CodingKey {
        case version
        case accounts
    }

    private struct Version: Decodable {
        let major: Int
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let draft = try? container.decode(Int.self, forKey: .version) {
            guard ExchangeFormat.drafts.contains(draft) else { throw ExchangeFile.ParseError(version: draft) }
        } else {
            let version = try container.decode(Version.self, forKey: .version)
            // Minor versions only add members.
            guard version.major == ExchangeFormat.major else { throw ExchangeFile.ParseError(version: version.major) }
        }
        accounts = try container.decode([AccountFields].self, forKey: .accounts)
    }
}

/// An account; only its items are used.
struct AccountFields: Decodable {
    let items: [ItemFields]
}

/// An item, which may have several credentials.
struct ItemFields: Decodable {
    /// Time of creation in seconds since 1970; `nil` if missing or invalid.
    let created: UInt64?
    let credentials: [CredentialFields]
    /// This program's extension, which applies only if the item has exactly one passkey.
    let hybridExtension: HybridExtension?

    private enum CodingKeys: String, CodingKey {
        case creationAt
        case credentials
        case extensions
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        created = try? container.decode(UInt64.self, forKey: .creationAt)
        credentials = try container.decode([CredentialFields].self, forKey: .credentials)
        let extensions = (try? container.decodeIfPresent([HybridExtension].self, forKey: .extensions)) ?? []
        hybridExtension = extensions.first { $0.isOurs }
    }
}

/// This program's extension, for members that the format lacks.
struct HybridExtension: Decodable {
    let isOurs: Bool
    let isBackupEligible: Bool?
    let isDiscoverable: Bool?
    /// Other members of the record, in CBOR.
    let rest: [UInt8]?

    private enum CodingKeys: String, CodingKey {
        case name
        case backupEligible
        case discoverable
        case rest
    }

    init(from decoder: any Decoder) throws {
        let container = try? decoder.container(keyedBy: CodingKeys.self)
        let name = (try? container?.decode(String.self, forKey: .name)) ?? ""
        isOurs = name.utf8.elementsEqual(ExchangeFormat.extensionName.utf8)
        isBackupEligible = try? container?.decode(Bool.self, forKey: .backupEligible)
        isDiscoverable = try? container?.decode(Bool.self, forKey: .discoverable)
        rest = (try? container?.decode(String.self, forKey: .rest))
            .flatMap { Base64URL.decodePadded($0, maximumLength: ExchangeFormat.maximumRest) }
    }
}

/// A credential of any type.
enum CredentialFields: Decodable {
    /// A passkey; indirect, so that credentials of other types, which may be far more numerous, take less memory.
    indirect case passkey(PasskeyFields)
    /// A passkey that cannot be imported.
    indirect case skipped(SkippedCredential, PasskeyLabel)
    /// A credential of another type, with the type from the file; empty if there is none.
    case other(String)

    private enum CodingKeys: String, CodingKey {
        case type
    }

    var isPasskey: Bool { if case .other = self { false } else { true } }

    /// Decodes a credential and never throws, because a malformed one is no reason to reject the others.
    init(from decoder: any Decoder) throws {
        guard let container = try? decoder.container(keyedBy: CodingKeys.self),
            let type = try? container.decode(String.self, forKey: .type)
        else {
            self = .other("")
            return
        }
        guard ExchangeFormat.isPasskeyType(type) else {
            self = .other(String(type.unicodeScalars.prefix(64)))
            return
        }
        do throws(SkippedCredential) {
            self = .passkey(try PasskeyFields(decoder))
        } catch {
            self = .skipped(error, PasskeyLabel(decoder))
        }
    }
}

/// The site and the account of a passkey in a file, for messages; untrusted text of at most 64 characters each.
package struct PasskeyLabel: Hashable, Sendable {
    /// RP ID as the file has it; `nil` if there is none.
    package let site: String?
    /// Name of the account; `nil` if there is none.
    package let account: String?

    private static let maximumCharacters = 64

    private enum CodingKeys: String, CodingKey {
        case rpId
        case username
        case userName
    }

    /// Creates a label from the members of a passkey that is otherwise malformed.
    init(_ decoder: any Decoder) {
        let container = try? decoder.container(keyedBy: CodingKeys.self)
        func text(_ name: CodingKeys) -> String? { try? container?.decode(String.self, forKey: name) }
        self.init(site: text(.rpId), account: text(.username) ?? text(.userName))
    }

    /// Creates a label from the site and the account.
    package init(site: String?, account: String?) {
        func shortened(_ text: String) -> String { String(text.unicodeScalars.prefix(Self.maximumCharacters)) }
        self.site = site.map(shortened)
        self.account = account.map(shortened)
    }
}
