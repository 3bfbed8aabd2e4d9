// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// A protocol that an authenticator supports.
public enum PhoneFeature: String, Hashable, Sendable {
    /// CTAP commands.
    case ctap
    /// Digital credentials as JSON.
    case digitalCredentials = "dc"
}

/// The first encrypted message of a channel, which the authenticator sends right after handshake message 2.
///
/// The message is a CBOR map without a type byte. Key 1 is the getInfo response, key 2 linking information (older
/// authenticators), key 3 the features (CTAP 2.2 §11.5.1).
public struct PostHandshakeMessage: Sendable {
    /// The getInfo response as CBOR, without its status byte.
    ///
    /// It is present if and only if the authenticator supports CTAP.
    public let info: [UInt8]?
    /// Supported protocols.
    public let features: Set<PhoneFeature>
    /// Linking information, if included; its signature is not verified.
    ///
    /// A malformed member counts as absent, because the client can do without a link.
    public let linking: LinkingInformation?

    /// A reason why a first message is rejected.
    public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The message is not a CBOR map; phones with an obsolete revision of the protocol send another format.
        public static let notAMap = ParseError("notAMap")
        /// The value of key 3 is not a list.
        public static let malformedFeatures = ParseError("malformedFeatures")
        /// The getInfo response has the wrong type, is missing although CTAP is supported, or is present although it is
        /// not.
        public static let malformedInfo = ParseError("malformedInfo")

        /// The error's name.
        public let description: String

        private init(_ description: String) { self.description = description }
    }

    /// Creates the message of an authenticator that supports CTAP and no linking.
    ///
    /// - Parameters:
    ///   - info: The encoded getInfo response, which is not validated.
    ///   - presentsCredentials: True if the authenticator also has a wallet with digital credentials.
    public init(info: [UInt8], presentsCredentials: Bool = false) {
        self.info = info
        self.features = presentsCredentials ? [.ctap, .digitalCredentials] : [.ctap]
        self.linking = nil
    }

    /// Creates a message from decrypted bytes; unknown keys and features are ignored.
    ///
    /// - Throws: ``ParseError``.
    public init(parsing bytes: [UInt8]) throws(ParseError) {
        guard let map = (try? CBORDecoder.decode(bytes, mode: .lenient))?.map else { throw .notAMap }
        switch map[3] {
        case nil: self.features = [.ctap]
        case .array(let names)?: self.features = Set(names.compactMap { $0.text.flatMap(PhoneFeature.init) })
        default: throw .malformedFeatures
        }
        switch (map[1], features.contains(.ctap)) {
        case (.bytes(let info)?, true): self.info = info
        case (nil, false): self.info = nil
        default: throw .malformedInfo
        }
        self.linking = map[2].flatMap(LinkingInformation.init)
    }

    /// The canonical CBOR.
    ///
    /// Key 3 is omitted if CTAP is the only feature. Its absence has this meaning, and the oldest clients do not know
    /// the key.
    public var encoded: [UInt8] {
        var map = CBORMap()
        if let info { map[1] = .bytes(info) }
        if features != [.ctap] { map[3] = .array(features.map(\.rawValue).sorted().map { .text($0) }) }
        return CBOREncoder.encode(map)
    }
}
