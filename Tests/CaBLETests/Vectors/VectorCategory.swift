// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// A category of vectors in `Tests/Vectors/vectors.json` with its check.
///
/// `check` returns the number of compared vectors, which must be the number in the file. A category in the file without
/// a case here fails a test.
enum VectorCategory: String, CaseIterable, CustomTestStringConvertible {
    case digits = "base10"
    case qr
    case qrParserCases = "qr_parser_cases"
    case domains
    case labelLengths = "domain_label_length_histogram_256_65535"
    case shortLabels = "domains_short_labels"
    case domainHash = "domain_hash_input_example"
    case keyDerivation = "key_derivation"
    case eid
    case handshake
    case handshakeNegative = "handshake_negative"
    case transport
    case linking
    case contact
    case postHandshake = "post_handshake"

    /// Parts of the file that are not checked: a note, and Chromium's scheme for deriving linking information, which this
    /// project does not implement.
    static let unchecked: Set<String> = ["about", "chrome_style_stateless_linking"]

    var testDescription: String { rawValue }

    /// Number of vectors of this category in the file.
    func size(_ value: JSONValue) throws -> Int {
        switch self {
        case .digits: try value.list("valid").count + value.list("invalid").count
        case .qrParserCases: try value.list("cases").count
        // In addition to the lists: the obsolete construction and a published frame.
        case .transport: try value.list("frames").count + value.list("unpad_rules").count + 2
        case .labelLengths, .domainHash, .linking, .contact: 1
        case .qr, .domains, .shortLabels, .keyDerivation, .eid, .handshake, .handshakeNegative, .postHandshake:
            try value.elements.count
        }
    }

    /// Checks every vector of this category, and returns their number.
    func check(_ file: JSONValue) throws -> Int {
        let value = try file.value(rawValue)
        return switch self {
        case .digits: try QRVectors.digits(value)
        case .qr: try QRVectors.offers(value)
        case .qrParserCases: try QRVectors.parserCases(value)
        case .domains, .shortLabels: try TunnelDomainVectors.domains(value)
        case .labelLengths: try TunnelDomainVectors.labelLengths(value)
        case .domainHash: try TunnelDomainVectors.hashInput(value)
        case .keyDerivation: try KeyVectors.derivations(value)
        case .eid: try KeyVectors.adverts(value)
        case .contact: try KeyVectors.contact(value, handshakes: file.list("handshake"))
        case .handshake: try HandshakeVectors.transcripts(value)
        case .handshakeNegative: try HandshakeVectors.negatives(value, bases: file.list("handshake"))
        case .transport: try ChannelVectors.transport(value)
        case .linking: try ChannelVectors.linking(value, handshakes: file.list("handshake"))
        case .postHandshake: try ChannelVectors.postHandshake(value)
        }
    }
}

/// All vectors published by other implementations and recorded from real devices, and those computed for this project.
@Suite("Vectors")
struct VectorTests {
    @Test("All vectors of a category are checked", arguments: VectorCategory.allCases)
    func category(_ category: VectorCategory) throws {
        let file = try VectorFile.load()
        let expected = try category.size(file.value(category.rawValue))
        #expect(expected > 0)
        #expect(try category.check(file) == expected)
    }

    @Test("Every category in the file has a check")
    func census() throws {
        let file = try VectorFile.load()
        let kinds = Set(try file.entries.keys).subtracting(VectorCategory.unchecked)
        #expect(kinds == Set(VectorCategory.allCases.map(\.rawValue)))
        let total = try VectorCategory.allCases.map { try $0.size(file.value($0.rawValue)) }.reduce(0, +)
        #expect(total >= 123)
        print("vectors checked: \(total)")
    }
}
