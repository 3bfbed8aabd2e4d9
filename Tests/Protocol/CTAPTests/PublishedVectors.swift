// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TestSupport

/// The CTAP vectors of `Tests/Vectors/vectors.json`.
struct PublishedVectors: Decodable {
    struct Handshake: Decodable {
        let name: String
        let requestPlaintext: String?
        let responsePlaintext: String?

        private enum CodingKeys: String, CodingKey {
            case name
            case requestPlaintext = "request_plaintext"
            case responsePlaintext = "response_plaintext"
        }
    }

    struct PostHandshake: Decodable {
        let name: String
        let decoded: Decoded

        struct Decoded: Decodable {
            let info: String
            private enum CodingKeys: String, CodingKey { case info = "1" }
        }
    }

    struct Transport: Decodable {
        let publishedWebAuthnRS: Frame
        private enum CodingKeys: String, CodingKey { case publishedWebAuthnRS = "published_webauthn_rs" }

        struct Frame: Decodable { let message: String }
    }

    let handshake: [Handshake]
    let postHandshake: [PostHandshake]
    let transport: Transport

    private enum CodingKeys: String, CodingKey {
        case handshake, transport
        case postHandshake = "post_handshake"
    }

    static func load() throws -> PublishedVectors {
        let file = URL(filePath: PackageFolder.path + "/Tests/Vectors/vectors.json")
        return try JSONDecoder().decode(PublishedVectors.self, from: Data(contentsOf: file))
    }

    /// An iPhone's assertion, including the status byte.
    func phoneResponse() throws -> [UInt8] {
        try Array(bytes(fromHex: handshake.compactMap(\.responsePlaintext).first).dropFirst())
    }

    /// The corresponding request, including the command byte.
    func phoneRequest() throws -> [UInt8] {
        try Array(bytes(fromHex: handshake.compactMap(\.requestPlaintext).first).dropFirst())
    }

    /// A creation request of another implementation, including the command byte.
    func creationRequest() throws -> [UInt8] {
        try Array(bytes(fromHex: transport.publishedWebAuthnRS.message).dropFirst())
    }
}

struct NotHex: Error {}

/// Bytes of lower-case hexadecimal digits.
func bytes(fromHex text: String?) throws -> [UInt8] {
    guard let digits = text?.utf8, digits.count.isMultiple(of: 2) else { throw NotHex() }
    var bytes: [UInt8] = []
    var high: UInt8?
    for digit in digits {
        guard let value = Character(Unicode.Scalar(digit)).hexDigitValue.map(UInt8.init) else { throw NotHex() }
        if let first = high {
            bytes.append(first << 4 | value)
            high = nil
        } else {
            high = value
        }
    }
    return bytes
}
