// SPDX-License-Identifier: Apache-2.0

public import Crypto
public import HybridCBOR

/// A credential's public key as it stands in authenticator data (RFC 9052 §7, WebAuthn Level 3 §6.5.1.1).
///
/// An ES256 key is read completely and must be a point of P-256. Of keys for other algorithms only the
/// algorithm is known here; they are handed on byte for byte.
public struct COSEKey: Hashable, Sendable {
    /// The CBOR, as it was received or canonical if it was made here.
    public let encoded: [UInt8]
    /// All parameters by their number.
    public let parameters: CBORMap
    /// What it signs with.
    public let algorithm: COSEAlgorithm
    /// The point of an ES256 key, X9.63 uncompressed (65 bytes); `nil` for other algorithms.
    public let x963Representation: [UInt8]?

    /// The canonical key of an ES256 credential.
    public init(_ publicKey: P256.Signing.PublicKey) {
        let point = Array(publicKey.x963Representation)
        parameters = [
            Parameter.keyType: Parameter.ec2,
            Parameter.algorithm: .integer(COSEAlgorithm.es256.rawValue),
            Parameter.curve: Parameter.p256,
            Parameter.x: .bytes(Array(point[1..<33])),
            Parameter.y: .bytes(Array(point[33..<65])),
        ]
        encoded = CBOREncoder.encode(parameters)
        algorithm = .es256
        x963Representation = point
    }

    /// Reads a key that fills the bytes.
    public init(parsing bytes: some Sequence<UInt8>) throws(COSEKeyError) {
        let bytes = Array(bytes)
        let (key, length) = try Self.prefix(of: bytes)
        guard length == bytes.count else { throw .cbor(.trailingBytes) }
        self = key
    }

    /// Reads a key at the start of the bytes and tells how many it took.
    static func prefix(of bytes: some Collection<UInt8>) throws(COSEKeyError) -> (key: COSEKey, length: Int) {
        let value: CBORValue
        let length: Int
        do throws(CBORError) {
            let decoded = try CBORDecoder.decodePrefix(bytes, mode: .lenient)
            (value, length) = (decoded.value, decoded.length.consumed)
        } catch {
            throw .cbor(error)
        }
        guard let map = value.map else { throw .notAMap }
        return (try COSEKey(parameters: map, encoded: Array(bytes.prefix(length))), length)
    }

    private init(parameters: CBORMap, encoded: [UInt8]) throws(COSEKeyError) {
        guard let number = parameters[Parameter.algorithm]?.integer, parameters[Parameter.keyType]?.integer != nil
        else { throw .missingParameter }
        self.parameters = parameters
        self.encoded = encoded
        algorithm = COSEAlgorithm(rawValue: number)
        x963Representation = algorithm == .es256 ? try Self.point(parameters) : nil
    }

    private static func point(_ parameters: CBORMap) throws(COSEKeyError) -> [UInt8] {
        guard parameters[Parameter.keyType] == Parameter.ec2, parameters[Parameter.curve] == Parameter.p256 else {
            throw .unsupportedCurve
        }
        guard let x = parameters[Parameter.x]?.bytes, let y = parameters[Parameter.y]?.bytes else {
            throw .missingParameter
        }
        guard x.count == 32, y.count == 32,
            let key = try? P256.Signing.PublicKey(x963Representation: [0x04] + x + y)
        else { throw .pointNotOnCurve }
        return Array(key.x963Representation)
    }

    /// The key to verify signatures with, if it is an ES256 key.
    public var p256: P256.Signing.PublicKey? {
        x963Representation.flatMap { try? P256.Signing.PublicKey(x963Representation: $0) }
    }

    private enum Parameter {
        static let keyType: CBORValue = 1
        static let algorithm: CBORValue = 3
        static let curve: CBORValue = -1
        static let x: CBORValue = -2
        static let y: CBORValue = -3
        static let ec2: CBORValue = 2
        static let p256: CBORValue = 1
    }
}

/// Why bytes are not a usable public key.
public enum COSEKeyError: Error, Equatable, Sendable {
    /// They are not CBOR.
    case cbor(CBORError)
    /// They are CBOR, but not a map.
    case notAMap
    /// The key type, the algorithm or a coordinate is missing or not what it must be.
    case missingParameter
    /// An ES256 key of another type or curve than P-256.
    case unsupportedCurve
    /// The coordinates are not 32 bytes each, or not a point of the curve.
    case pointNotOnCurve
}
