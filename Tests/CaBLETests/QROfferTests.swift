// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCaBLE

@Suite("QR offers")
struct QROfferTests {
    /// Returns a valid map, which test cases modify.
    static func map(_ random: inout SeededGenerator) throws -> CBORMap {
        let key = try P256.KeyAgreement.PrivateKey(random: &random)
        return [
            0: .bytes(Array(key.publicKey.compressedRepresentation)), 1: .bytes(random.bytes(16)), 2: 2,
            3: 1_700_000_000, 4: false, 5: "mc",
        ]
    }

    static func text(_ map: CBORMap) -> String { "FIDO:/" + DigitCoding.encode(CBOREncoder.encode(map)) }

    @Test("Digits decode to the encoded bytes, with at most 17 digits for 7 bytes")
    func digits() {
        var random = SeededGenerator()
        for length in 0..<200 {
            let bytes = random.bytes(length)
            let digits = DigitCoding.encode(bytes)
            #expect(DigitCoding.decode(Array(digits.utf8)) == bytes, "\(random)")
            #expect(digits.utf8.count == length / 7 * 17 + [0, 3, 5, 8, 10, 13, 15][length % 7], "\(random)")
        }
    }

    @Test("Every byte string has a single encoding")
    func digitNoise() {
        var random = SeededGenerator()
        for _ in 0..<20_000 {
            let digits = (0..<random.number(0...40)).map { _ in UInt8(random.number(0x30...0x39)) }
            guard let bytes = DigitCoding.decode(digits) else { continue }
            #expect(Array(DigitCoding.encode(bytes).utf8) == digits, "\(random)")
        }
    }

    @Test(
        "An offer survives the round trip field by field and fits the QR code",
        arguments: [
            RequestHint.getAssertion, .makeCredential, .presentCredential, .issueCredential,
        ]
    )
    func roundTrip(hint: RequestHint) throws {
        var random = SeededGenerator()
        for created in [0, 1_700_000_000, UInt64.max] {
            let key = try P256.KeyAgreement.PrivateKey(random: &random)
            let secret = QRSecret(using: &random)
            let offer = QROffer(clientKey: key.publicKey, secret: secret, created: created, hint: hint)
            let read = try QROffer(parsing: offer.text)
            #expect(read.clientKey.rawRepresentation == key.publicKey.rawRepresentation, "\(random)")
            #expect(read.secret == secret, "\(random)")
            #expect(read.created == created)
            #expect(read.hint == hint)
            #expect(read.assignedDomainsKnown == 2)
            #expect(read.supportsLinking == false, "key 4 is always sent")
            #expect(read.channels == [.webSocket])
            #expect(read.text == offer.text)
            #expect(offer.text.utf8.count <= 200)
            #expect(offer.text.hasPrefix("FIDO:/"))
            let bytes = try #require(DigitCoding.decode(Array(offer.text.utf8.dropFirst(6))))
            #expect(try CBORDecoder.decode(bytes, mode: .strict).map?[6] == nil, "key 6 is left out")
        }
    }

    @Test("A Bluetooth channel is offered in addition to the WebSocket, in a code of similar length")
    func channels() throws {
        var random = SeededGenerator()
        let offer = QROffer(
            clientKey: try P256.KeyAgreement.PrivateKey(random: &random).publicKey,
            secret: QRSecret(using: &random),
            created: 1_700_000_000,
            hint: .getAssertion,
            channels: [.webSocket, .l2cap]
        )
        let read = try QROffer(parsing: offer.text)
        #expect(read.channels == [.webSocket, .l2cap], "\(random)")
        #expect(read.text == offer.text)
        #expect(offer.text.utf8.count == 6 + 178)
        let bytes = try #require(DigitCoding.decode(Array(offer.text.utf8.dropFirst(6))))
        #expect(try CBORDecoder.decode(bytes, mode: .strict).map?[6] == .array([.integer(0), .integer(1)]))
    }

    @Test("The scheme may have either case; the rest must be ASCII digits")
    func scheme() throws {
        var random = SeededGenerator()
        let text = Self.text(try Self.map(&random))
        let digits = String(text.dropFirst(6))
        for scheme in ["FIDO:/", "fido:/", "Fido:/", "fIdO:/", "fido://", "FIDO://"] {
            #expect(throws: Never.self) { try QROffer(parsing: scheme + digits) }
        }
        for scheme in ["", "FIDO:", "FIDO/", "FIDO:\\", " FIDO:/", "F1DO:/", "FİDO:/", "FIDO;/", "ＦＩＤＯ:/", "http://"] {
            #expect(throws: QROffer.ParseError.notFIDO) { try QROffer(parsing: scheme + digits) }
        }
        for damaged in [
            "//" + digits, "/", digits + "/", digits + " ", " " + digits, "-" + digits.dropFirst(1), digits + "٣",
        ] {
            #expect(throws: QROffer.ParseError.damaged) { try QROffer(parsing: "FIDO:/" + damaged) }
        }
    }

    @Test("A text longer than any offer is rejected before it is decoded")
    func length() throws {
        var random = SeededGenerator()
        var map = try Self.map(&random)
        map[7] = .bytes(Array(repeating: 0, count: 330))
        #expect(Self.text(map).utf8.count <= Limits.qrTextCharacters)
        #expect(throws: Never.self) { try QROffer(parsing: Self.text(map)) }
        map[7] = .bytes(Array(repeating: 0, count: 400))
        #expect(throws: QROffer.ParseError.damaged) { try QROffer(parsing: Self.text(map)) }
        let endless = "FIDO:/" + String(repeating: "0", count: 5_000_000)
        #expect(throws: QROffer.ParseError.damaged) { try QROffer(parsing: endless) }
    }

    @Test("No proper prefix of a QR text is an offer")
    func truncation() throws {
        var random = SeededGenerator()
        for _ in 0..<20 {
            let text = Self.text(try Self.map(&random))
            for length in 0..<text.utf8.count {
                #expect(throws: QROffer.ParseError.self, "\(random)") { try QROffer(parsing: text.prefix(length)) }
            }
        }
    }

    @Test("Flipping a bit of a QR text is always detected and never crashes")
    func bitFlips() throws {
        var random = SeededGenerator()
        for _ in 0..<20 {
            let text = Self.text(try Self.map(&random))
            for (bit, flipped) in Damage.bitFlips(of: Array(text.utf8)).enumerated() {
                // The case of the scheme has no meaning.
                if bit % 8 == 5, bit / 8 < 4 { continue }
                // The text has no checksum: if it still parses, it must be another offer.
                guard let other = try? QROffer(parsing: String(decoding: flipped, as: UTF8.self)) else { continue }
                #expect(other.text != text, "\(random)")
            }
        }
    }

    @Test(
        "Every required key is checked for its type and length",
        arguments: [
            (0, [nil, 0, .bytes(Array(repeating: 2, count: 32)), "point"]),
            (1, [nil, 1, .bytes(Array(repeating: 2, count: 15)), .bytes(Array(repeating: 2, count: 17)), "s"]),
        ] as [(Int, [CBORValue?])]
    )
    func wrongTypes(key: Int, bad: [CBORValue?]) throws {
        var random = SeededGenerator()
        for value in bad {
            var map = try Self.map(&random)
            map[.integer(key)] = value
            let error = #expect(throws: QROffer.ParseError.self) { try QROffer(parsing: Self.text(map)) }
            #expect(error?.sentence.contains("(key \(key) ") == true, "\(String(describing: error))")
        }
    }

    @Test("A point off the curve, the point at infinity and an uncompressed point are rejected")
    func points() throws {
        var random = SeededGenerator()
        let bad: [[UInt8]] = [
            [2] + Array(repeating: 0xFF, count: 32), [0] + Array(repeating: 0, count: 32),
            [4] + random.bytes(32), [5] + random.bytes(32),
        ]
        for point in bad {
            var map = try Self.map(&random)
            map[0] = .bytes(point)
            #expect(throws: QROffer.ParseError.self, "\(random)") { try QROffer(parsing: Self.text(map)) }
        }
    }

    @Test("Input other than a canonical map is rejected")
    func notCanonical() throws {
        var random = SeededGenerator()
        let good = CBOREncoder.encode(try Self.map(&random))
        let bodies: [[UInt8]] = [
            [0x80], [0x00], [0xF6], [0xBF] + good.dropFirst() + [0xFF], good + [0x00],
            [0xB8, 0x06] + good.dropFirst(), [0xC0] + good, [0xA5] + good.dropFirst(),
        ]
        for body in bodies {
            #expect(throws: QROffer.ParseError.self) {
                try QROffer(parsing: "FIDO:/" + DigitCoding.encode(body))
            }
        }
    }

    @Test(
        "White space around the text, and a byte order mark, are no part of it in a line",
        arguments: ["\u{FEFF}", "\n", "\r\n", " \t", "\u{FEFF}\r\n "]
    )
    func line(start: String) throws {
        var random = SeededGenerator()
        let text = Self.text(try Self.map(&random))
        for end in ["", " \t", "\r\n", " from the phone"] {
            #expect(try QROffer(line: start + text + end).text == text)
        }
        #expect(throws: QROffer.ParseError.notFIDO) { try QROffer(line: start) }
    }

    @Test("The end of a line is no part of the text", arguments: ["\n", "\r\n", "\r", "\n\n"])
    func lineEnd(end: String) throws {
        var random = SeededGenerator()
        let text = Self.text(try Self.map(&random))
        #expect(try QROffer(parsing: text + end).text == QROffer(parsing: text).text)
        let inside = String(text.prefix(20)) + end + String(text.dropFirst(20))
        #expect(throws: QROffer.ParseError.self) { try QROffer(parsing: inside) }
        #expect(throws: QROffer.ParseError.self) { try QROffer(parsing: end) }
    }

    @Test("Informative keys in another form are ignored")
    func forgiving() throws {
        var random = SeededGenerator()
        var map = try Self.map(&random)
        for created: CBORValue in ["yesterday", -1, true] {
            map[3] = created
            #expect(try QROffer(parsing: Self.text(map)).created == nil)
        }
        let lists: [(CBORValue, [DataChannelKind])] = [
            (true, [.webSocket]), (false, [.webSocket]), (7, [.webSocket]), ([], [.webSocket]), ([9], [.webSocket]),
            ([0], [.webSocket]), ([1], [.l2cap]), ([0, 1], [.webSocket, .l2cap]), (["x", 1, -1], [.l2cap]),
            ([1, 0, 1, 0, 0], [.l2cap, .webSocket]),
        ]
        for (value, channels) in lists {
            map[6] = value
            #expect(try QROffer(parsing: Self.text(map)).channels == channels)
        }
        for count: CBORValue in [-1, "2", .bytes([2]), true, .unsigned(.max), .float(.half(0x4000))] {
            map[2] = count
            #expect(try QROffer(parsing: Self.text(map)).assignedDomainsKnown == 0)
        }
        for answer: CBORValue in [0, 1, "true", .null, .undefined] {
            map[4] = answer
            #expect(try QROffer(parsing: Self.text(map)).supportsLinking == nil)
        }
        for hint: CBORValue in [0, .bytes([0x67, 0x61]), true, [], .null] {
            map[5] = hint
            #expect(try QROffer(parsing: Self.text(map)).hint == .getAssertion)
        }
        map[.integer(65535)] = 0
        map["grease"] = [1, [2], ["x": .null]]
        map[5] = "something new"
        #expect(try QROffer(parsing: Self.text(map)).hint == .getAssertion)
    }

    @Test("Repeated channels do not make the offer too long to parse")
    func repeatedChannels() throws {
        var random = SeededGenerator()
        let full = try Self.map(&random)
        var map: CBORMap = [6: .array(Array(repeating: 0, count: 360))]
        map[0] = full[0]
        map[1] = full[1]
        let text = Self.text(map)
        #expect((1000...Limits.qrTextCharacters).contains(text.utf8.count))
        let offer = try QROffer(parsing: text)
        #expect(offer.channels == [.webSocket])
        #expect(try QROffer(parsing: offer.text).text == offer.text)
    }

    @Test("The age is available only if the clocks agree")
    func age() throws {
        var random = SeededGenerator()
        let key = try P256.KeyAgreement.PrivateKey(random: &random)
        let offer = QROffer(
            clientKey: key.publicKey,
            secret: QRSecret(using: &random),
            created: 1000,
            hint: .getAssertion
        )
        #expect(offer.age(at: 1060) == 60)
        #expect(offer.age(at: 1000) == 0)
        #expect(offer.age(at: 999) == nil)
        var map = try Self.map(&random)
        map[3] = nil
        #expect(try QROffer(parsing: Self.text(map)).age(at: .max) == nil)
    }
}
