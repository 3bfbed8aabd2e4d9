// SPDX-License-Identifier: Apache-2.0

private import FoundationEssentials
internal import HybridThreads

/// A document of the Credential Exchange Format that was read: the passkeys that can be imported.
public struct ExchangeFile: Sendable {
    /// Passkeys in the order of the file.
    let passkeys: [ImportedPasskey]
    /// Skipped credentials and their numbers, in the order of the file.
    public let skipped: [(what: SkippedCredential, count: Int)]
    /// Members that cannot be imported, and the numbers of passkeys that have them.
    public let incomplete: [(what: String, count: Int)]

    /// Number of passkeys that can be imported.
    public var count: Int { passkeys.count }

    /// A reason to refuse the whole document; it is part of a sentence.
    struct ParseError: Error, Equatable {
        let reason: String
    }

    /// Reads a document of at most 16 MiB.
    ///
    /// - Throws: ``VaultError/importUnreadable(_:)`` or ``VaultError/importInvalid(_:)``.
    public static func read(_ path: String) async throws(VaultError) -> ExchangeFile {
        try await DedicatedThread.run { () throws(VaultError) in
            guard let (folder, name) = AbsolutePath.split(path) else {
                throw .importUnreadable("\(path) is a directory")
            }
            let bytes = try accessing(
                path,
                orThrow: VaultError.importUnreadable,
                try Directory.open(path: folder).read(name, limit: ExchangeFormat.maximumLength)
            )
            do throws(ParseError) {
                return try ExchangeFile(json: bytes)
            } catch {
                throw .importInvalid(error.reason)
            }
        }
    }

    /// Parses a document of at most 16 MiB.
    ///
    /// Unknown members are ignored, as the format requires. Of duplicate members the first one is used.
    init(json: [UInt8]) throws(ParseError) {
        guard json.count <= ExchangeFormat.maximumLength else { throw ParseError(reason: "it is longer than 16 MiB") }
        try DocumentBounds.check(json)
        let header: DocumentFields
        do {
            header = try JSONDecoder().decode(DocumentFields.self, from: Data(json))
        } catch let refusal as ParseError {
            throw refusal
        } catch let error as DecodingError {
            throw ParseError(reason: error.reason)
        } catch {
            throw ParseError(reason: "it is not JSON")
        }
        var collector = Collector()
        for item in header.accounts.flatMap(\.items) {
            let ours = item.credentials.count { $0.isPasskey } == 1 ? item.hybridExtension : nil
            for credential in item.credentials {
                collector.add(credential, created: item.created, hybridExtension: ours)
            }
        }
        guard collector.passkeys.count <= ExchangeFormat.maximumPasskeys else {
            throw ParseError(
                reason: "it has more than \(ExchangeFormat.maximumPasskeys) passkeys, which no vault holds"
            )
        }
        passkeys = collector.passkeys
        skipped = collector.skipped.ordered
        incomplete = collector.incomplete.ordered
    }

    /// Sorts credentials into passkeys to import and skipped ones.
    private struct Collector {
        var passkeys: [ImportedPasskey] = []
        var skipped = OccurrenceCounts<SkippedCredential>()
        var incomplete = OccurrenceCounts<String>()

        mutating func add(_ credential: CredentialFields, created: UInt64?, hybridExtension: HybridExtension?) {
            switch credential {
            case .other(let type):
                // The number of distinct types is limited; the rest count as one.
                let isNew = skipped.ordered.count < Self.maximumTypes || skipped.contains(.otherType(type))
                skipped.add(isNew ? .otherType(type) : .otherType(""))
            case .skipped(let why): skipped.add(why)
            case .passkey(let fields):
                do throws(SkippedCredential) {
                    let passkey = try ImportedPasskey(fields, created: created, hybridExtension: hybridExtension)
                    for name in fields.lost { incomplete.add(name) }
                    passkeys.append(passkey)
                } catch {
                    skipped.add(error)
                }
            }
        }

        private static let maximumTypes = 40
    }
}

/// A credential that was not imported, and the reason; later versions may add reasons.
public struct SkippedCredential: Error, Hashable, Sendable {
    /// Type of a credential that is not a passkey, from the untrusted file; `nil` for a passkey.
    ///
    /// Empty if the file gives no type or has too many.
    public let otherType: String?
    /// Reason in words that follow "a passkey"; empty if the credential is not a passkey.
    public let reason: String

    private init(_ reason: String, otherType: String? = nil) {
        self.reason = reason
        self.otherType = otherType
    }

    /// A credential of another type.
    static func otherType(_ type: String) -> SkippedCredential { SkippedCredential("", otherType: type) }
    /// A passkey with a key of another algorithm than ES256.
    static let otherAlgorithm = SkippedCredential("with a key that this program can't use (it has ES256)")
    /// A passkey with a missing or invalid member.
    static func malformed(member: String) -> SkippedCredential {
        SkippedCredential("whose \(member) is missing or not what the format has there")
    }
    /// A passkey that is longer than a record of the vault.
    static let tooLarge = SkippedCredential("longer than a record of the vault")
}

/// Numbers of occurrences, in the order of the first occurrence.
private struct OccurrenceCounts<Value: Hashable & Sendable>: Sendable {
    /// Values and their counts.
    private(set) var ordered: [(what: Value, count: Int)] = []
    private var indices: [Value: Int] = [:]

    /// Returns true if the value has occurred.
    func contains(_ value: Value) -> Bool { indices[value] != nil }

    /// Counts one more occurrence.
    mutating func add(_ value: Value) {
        if let index = indices[value] {
            ordered[index].count += 1
        } else {
            indices[value] = ordered.count
            ordered.append((value, 1))
        }
    }
}

extension DecodingError {
    /// The error as part of a sentence.
    fileprivate var reason: String {
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
        var path = ""
        for key in keys {
            if let index = key.intValue {
                path += "[\(index)]"
            } else {
                path += path.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
        return path.isEmpty ? "the document" : path
    }
}
