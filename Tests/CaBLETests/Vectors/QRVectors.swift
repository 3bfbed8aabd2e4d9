// SPDX-License-Identifier: Apache-2.0

import Crypto
import TestSupport
import Testing

@testable import HybridCaBLE

enum QRVectors {
    static func digits(_ value: JSONValue) throws -> Int {
        var checked = 0
        for vector in try value.list("valid") {
            let (bytes, digits) = (try vector.hex("bytes"), try vector.text("digits"))
            #expect(DigitCoding.encode(bytes) == digits, "\(vector)")
            #expect(DigitCoding.decode(Array(digits.utf8)) == bytes, "\(vector)")
            checked += 1
        }
        for vector in try value.list("invalid") {
            #expect(DigitCoding.decode(Array(try vector.text("digits").utf8)) == nil, "\(vector)")
            checked += 1
        }
        return checked
    }

    static func offers(_ value: JSONValue) throws -> Int {
        var checked = 0
        for vector in try value.elements {
            let name = Comment(rawValue: try vector.text("name"))
            let url = try vector.text("url")
            let fields = try vector.value("fields")
            let offer = try QROffer(parsing: url)
            #expect(Array(offer.clientKey.compressedRepresentation) == (try fields.hex("0")), name)
            #expect(Array(offer.clientKey.x963Representation) == (try vector.hex("key0_uncompressed")), name)
            #expect(offer.secret.key.testBytes == (try fields.hex("1")), name)
            #expect(offer.assignedDomainsKnown == (try fields.number("2")), name)
            #expect(offer.created == UInt64(try fields.number("3")), name)
            #expect(offer.supportsLinking.map(JSONValue.boolean) == fields["4"], name)
            #expect(offer.hint.rawValue == (try fields.text("5")), name)
            let channels = try fields["6"]?.elements ?? [.number(0)]
            #expect(offer.channels.map { JSONValue.number($0.rawValue) } == channels, name)

            let cbor = try vector.hex("cbor")
            #expect(DigitCoding.decode(Array(url.utf8.dropFirst(6))) == cbor, name)
            #expect("FIDO:/" + DigitCoding.encode(cbor) == url, name)
            // Unknown keys, and a key 6 with its default value, are not encoded again.
            let ours = try fields.entries.keys.allSatisfy { ("0"..."6").contains($0) && $0.utf8.count == 1 }
            if ours { #expect(offer.text == url, name) }
            let again = try QROffer(parsing: offer.text)
            #expect(again.text == offer.text, name)
            #expect(again.secret == offer.secret, name)
            if vector["client_static_scalar"] != nil {
                let key = try P256.KeyAgreement.PrivateKey(rawRepresentation: vector.hex("client_static_scalar"))
                #expect(key.point == Array(offer.clientKey.x963Representation), name)
            }
            checked += 1
        }
        return checked
    }

    static func parserCases(_ value: JSONValue) throws -> Int {
        var checked = 0
        for vector in try value.list("cases") {
            let why = try vector.text("why")
            let url = try vector.text("url")
            let comment = Comment(rawValue: why)
            // A phone can do without these keys, so a wrong type counts as absent, which the vectors leave open.
            let isIgnored = ["key 2 not an integer", "key 4 not boolean", "key 5 not text"].contains(why)
            if try vector.boolean("valid") || isIgnored {
                let offer = try QROffer(parsing: url)
                try expectDefaults(offer, why: why)
            } else {
                let error = #expect(throws: QROffer.ParseError.self, comment) { try QROffer(parsing: url) }
                #expect(kind(error) == expectedKind(why), comment)
            }
            checked += 1
        }
        return checked
    }

    /// Checks an accepted case, which differs from the default in one field.
    private static func expectDefaults(_ offer: QROffer, why: String) throws {
        let comment = Comment(rawValue: why)
        #expect(offer.secret.key.testBytes.count == 16, comment)
        #expect(offer.assignedDomainsKnown == (why == "key 2 = 4567" ? 4567 : 0), comment)
        #expect(offer.supportsLinking == (why == "linking supported" ? true : nil), comment)
        #expect(offer.hint == .getAssertion, comment)
        #expect(offer.created == nil, comment)
        #expect(offer.channels == [.webSocket], comment)
    }

    private static func kind(_ error: QROffer.ParseError?) -> String {
        switch error {
        case .notFIDO: "notFIDO"
        case .damaged: "damaged"
        case nil: "none"
        default: "malformed"
        }
    }

    private static func expectedKind(_ why: String) -> String {
        switch why {
        case "scheme": "notFIDO"
        case "empty", "non-digit", "bad length", "out of range": "damaged"
        default: "malformed"
        }
    }
}
