// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The members of a document that matter here, as the format nests them: document, accounts, items, credentials.
///
/// Where a document has another shape, all of it is refused; where one credential does, that one.
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
        let version = try container.decode(Version.self, forKey: .version)
        // Minor versions only add.
        guard version.major == ExchangeFormat.major else {
            throw ExchangeFile.Refusal(words: "it has version \(version.major) of the format; this program reads 1")
        }
        accounts = try container.decode([AccountFields].self, forKey: .accounts)
    }
}

/// An account: of interest for its items alone.
struct AccountFields: Decodable {
    let items: [ItemFields]
}

/// An item.
struct ItemFields: Decodable {
    /// Seconds since 1970; `nil` where there is none that can be.
    let created: UInt64?
    let credentials: [CredentialFields]
    /// What this program said of the one passkey in it.
    let own: OwnExtension?

    private enum CodingKeys: String, CodingKey {
        case creationAt
        case credentials
        case extensions
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        created = try? container.decode(UInt64.self, forKey: .creationAt)
        credentials = try container.decode([CredentialFields].self, forKey: .credentials)
        let extensions = (try? container.decodeIfPresent([OwnExtension].self, forKey: .extensions)) ?? []
        own = extensions.first { $0.isOurs }
    }
}

/// The extension by which this program says what the format has no member for.
struct OwnExtension: Decodable {
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
    /// Elsewhere, so that those of other types, of which there may be many more, do not take its room.
    indirect case passkey(PasskeyFields)
    /// A passkey that can't be kept.
    case skipped(SkippedCredential)
    /// Of another type, as the file spells it.
    case other(String)

    private enum CodingKeys: String, CodingKey {
        case type
    }

    var isPasskey: Bool { if case .other = self { false } else { true } }

    /// Takes anything: what one credential is like is no reason to refuse the others.
    init(from decoder: any Decoder) throws {
        guard let container = try? decoder.container(keyedBy: CodingKeys.self),
            let type = try? container.decode(String.self, forKey: .type)
        else {
            self = .other("")
            return
        }
        guard type.utf8.elementsEqual(ExchangeFormat.passkeyType.utf8) else {
            self = .other(String(type.unicodeScalars.prefix(64)))
            return
        }
        do throws(SkippedCredential) {
            self = .passkey(try PasskeyFields(decoder))
        } catch {
            self = .skipped(error)
        }
    }
}
