// SPDX-License-Identifier: Apache-2.0

private import FoundationEssentials

/// A document of the Credential Exchange Format that was read: the passkeys in it that can be kept here.
public struct ExchangeFile: Sendable {
    /// In the order of the file.
    let passkeys: [ImportedPasskey]
    /// What was left out, and how many of each, in the order of the file.
    public let skipped: [(what: SkippedCredential, count: Int)]
    /// How many passkeys lack something that they have elsewhere, by the name of the member.
    public let incomplete: [(what: String, count: Int)]

    /// How many passkeys there are to be kept.
    public var count: Int { passkeys.count }

    /// Why a document is refused whole; the words stand in a sentence.
    struct Refusal: Error, Equatable {
        let words: String
    }

    /// Reads a document of at most 16 MiB.
    ///
    /// Members that are not known here are ignored, as the format has it. Of members that come twice the first counts.
    init(json: [UInt8]) throws(Refusal) {
        guard json.count <= ExchangeFormat.maximumLength else { throw Refusal(words: "it is longer than 16 MiB") }
        try DocumentBounds.check(json)
        let header: DocumentFields
        do {
            header = try JSONDecoder().decode(DocumentFields.self, from: Data(json))
        } catch let refusal as Refusal {
            throw refusal
        } catch let error as DecodingError {
            throw Refusal(words: error.exchangeWords)
        } catch {
            throw Refusal(words: "it is not JSON")
        }
        var tally = Tally()
        for item in header.accounts.flatMap(\.items) {
            let only = item.credentials.count { $0.isPasskey } == 1 ? item.own : nil
            for credential in item.credentials { tally.take(credential, created: item.created, own: only) }
        }
        guard tally.passkeys.count <= ExchangeFormat.maximumPasskeys else {
            throw Refusal(words: "it has more than \(ExchangeFormat.maximumPasskeys) passkeys, which no vault holds")
        }
        passkeys = tally.passkeys
        skipped = tally.skipped.ordered
        incomplete = tally.incomplete.ordered
    }

    private struct Tally {
        var passkeys: [ImportedPasskey] = []
        var skipped = OccurrenceCounts<SkippedCredential>()
        var incomplete = OccurrenceCounts<String>()

        mutating func take(_ credential: CredentialFields, created: UInt64?, own: OwnExtension?) {
            switch credential {
            case .other(let type):
                // Made-up kinds are not remembered without end.
                let isNew = skipped.ordered.count < Self.mostKinds || skipped.has(.otherType(type))
                skipped.add(isNew ? .otherType(type) : .otherType(""))
            case .skipped(let why): skipped.add(why)
            case .passkey(let fields):
                do throws(SkippedCredential) {
                    let passkey = try ImportedPasskey(fields, created: created, own: own)
                    for name in fields.lost { incomplete.add(name) }
                    passkeys.append(passkey)
                } catch {
                    skipped.add(error)
                }
            }
        }

        private static let mostKinds = 40
    }
}

/// A credential of a document that is not kept here.
public enum SkippedCredential: Error, Hashable, Sendable {
    /// It is of another type; the text is from the file, and empty where there is none or there are too many.
    case otherType(String)
    /// A passkey with a key of another algorithm than ES256.
    case otherAlgorithm
    /// A passkey with a member that is missing or not as the format has it.
    case malformed(member: String)
    /// A passkey that is longer than a record of the vault.
    case tooLarge
}

/// How often each of a few things came, the first first.
struct OccurrenceCounts<Thing: Hashable & Sendable>: Sendable {
    /// The things and their counts.
    private(set) var ordered: [(what: Thing, count: Int)] = []
    private var places: [Thing: Int] = [:]

    /// Whether it came before.
    func has(_ thing: Thing) -> Bool { places[thing] != nil }

    /// It came once more.
    mutating func add(_ thing: Thing) {
        if let place = places[thing] {
            ordered[place].count += 1
        } else {
            places[thing] = ordered.count
            ordered.append((thing, 1))
        }
    }
}

extension DecodingError {
    /// What is wrong with a document, to stand in a sentence.
    fileprivate var exchangeWords: String {
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
