// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// What a phone can be asked for.
public enum PhoneFeature: String, Hashable, Sendable {
    /// CTAP commands.
    case ctap
    /// Digital credentials as JSON.
    case digitalCredentials = "dc"
}

/// The answer to getInfo as CBOR, without its status byte; CTAP reads it.
public struct EncodedAuthenticatorInfo: Hashable, Sendable {
    /// The CBOR.
    public let bytes: [UInt8]

    /// Takes the CBOR as it is.
    public init(bytes: [UInt8]) { self.bytes = bytes }
}

/// The first encrypted message of a channel, from the phone, right behind handshake message 2.
///
/// A CBOR map without a type byte: 1 getInfo, 2 linking (an old place for it), 3 features (CTAP 2.2 §11.5.1).
public struct PostHandshakeMessage: Sendable {
    /// What the authenticator says of itself; present exactly when it speaks CTAP.
    public let info: EncodedAuthenticatorInfo?
    /// What the phone can be asked for.
    public let features: Set<PhoneFeature>
    /// Linking information, if the phone sent it here; its signature is not checked yet.
    public let linking: LinkingInformation?

    /// Why a first message was refused.
    public enum ParseError: Error, Equatable, Sendable {
        /// Not one CBOR map; phones of an obsolete revision send something else here.
        case notAMap
        /// The features are not a list.
        case malformedFeatures
        /// getInfo is missing though CTAP is offered, of a wrong type, or there though CTAP is not.
        case malformedInfo
        /// The linking information is not valid.
        case malformedLinking
    }

    /// What an authenticator without links sends.
    public init(info: EncodedAuthenticatorInfo) {
        self.info = info
        self.features = [.ctap]
        self.linking = nil
    }

    /// Reads the message; any key order, unknown keys and features ignored.
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
        case (.bytes(let info)?, true): self.info = EncodedAuthenticatorInfo(bytes: info)
        case (nil, false): self.info = nil
        default: throw .malformedInfo
        }
        switch map[2] {
        case nil: self.linking = nil
        case .map(let linking)?:
            do {
                self.linking = try LinkingInformation(map: linking)
            } catch {
                throw .malformedLinking
            }
        default: throw .malformedLinking
        }
    }

    /// The canonical CBOR.
    ///
    /// Features are left out where CTAP is the only one: that is what their absence means, and the oldest
    /// clients know no key 3.
    public var encoded: [UInt8] {
        var map = CBORMap()
        if let info { map[1] = .bytes(info.bytes) }
        if features != [.ctap] { map[3] = .array(features.map(\.rawValue).sorted().map { .text($0) }) }
        return CBOREncoder.encode(map)
    }
}
