// SPDX-License-Identifier: Apache-2.0

public import Crypto
public import HybridCBOR
internal import HybridPrimitives

/// A credential's public key in authenticator data (RFC 9052 §7, WebAuthn Level 3 §6.5.1.1).
///
/// An ES256 or ESP256 key must be a point on P-256. Keys for other algorithms are not validated and are forwarded byte for byte.
public struct COSEKey: Hashable, Sendable {
    /// The CBOR as received, or canonical CBOR for a new key.
    public let encoded: [UInt8]
    /// Parameters, keyed by their COSE numbers.
    public let parameters: CBORMap
    /// Signature algorithm.
    public let algorithm: COSEAlgorithm
    /// Uncompressed X9.63 point of an ES256 or ESP256 key (65 bytes); `nil` for other algorithms.
    public let x963Representation: [UInt8]?

    /// Creates a key for a credential on P-256, with the number that the relying party requested for it.
    public init(_ publicKey: P256.Signing.PublicKey, algorithm: COSEAlgorithm = .es256) {
        let point = Array(publicKey.x963Representation)
        parameters = [
            Parameter.keyType: Parameter.ec2,
            Parameter.algorithm: .integer(algorithm.rawValue),
            Parameter.curve: Parameter.p256,
            Parameter.x: .bytes(Array(point[1..<33])),
            Parameter.y: .bytes(Array(point[33..<65])),
        ]
        encoded = CBOREncoder.encode(parameters)
        self.algorithm = algorithm
        x963Representation = point
    }

    /// Creates a key from its CBOR, which must span the entire input.
    public init(parsing bytes: some Sequence<UInt8>) throws(COSEKeyError) {
        let bytes = Array(bytes)
        let (key, length) = try Self.prefix(of: bytes)
        guard length == bytes.count else { throw .cbor(.trailingBytes) }
        self = key
    }

    /// Returns the key at the start of the input and its length in bytes.
    static func prefix(of bytes: some Collection<UInt8>) throws(COSEKeyError) -> (key: COSEKey, length: Int) {
        let decoded = Result { () throws(CBORError) in try CBORDecoder.decodePrefix(bytes, mode: .lenient) }
        let (value, length) = try decoded.mapError(COSEKeyError.cbor).get()
        guard let map = value.map else { throw .notAMap }
        let key = try COSEKey(parameters: map, encoded: Array(bytes.prefix(length.consumed)))
        return (key, length.consumed)
    }

    private init(parameters: CBORMap, encoded: [UInt8]) throws(COSEKeyError) {
        guard let number = parameters[Parameter.algorithm]?.integer, parameters[Parameter.keyType]?.integer != nil
        else { throw .missingParameter }
        self.parameters = parameters
        self.encoded = encoded
        algorithm = COSEAlgorithm(rawValue: number)
        x963Representation = algorithm.isP256 ? try Self.point(parameters) : nil
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

    /// The key for verifying signatures; `nil` for a key on another curve.
    public var p256: P256.Signing.PublicKey? {
        x963Representation.flatMap { try? P256.Signing.PublicKey(x963Representation: $0) }
    }

    /// `SHA256:` and the hash of ``encoded`` in Base64 without padding, so that people can compare keys.
    public var fingerprint: String {
        let digits = Base64.encode(Array(SHA256.hash(data: encoded))).prefix { $0 != UInt8(ascii: "=") }
        return "SHA256:" + String(decoding: digits, as: UTF8.self)
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

/// A reason why input is not a usable public key.
public struct COSEKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The input is CBOR, but not a map.
    public static let notAMap = COSEKeyError("notAMap")
    /// The key type, the algorithm or a coordinate is missing or has the wrong type.
    public static let missingParameter = COSEKeyError("missingParameter")
    /// An ES256 or ESP256 key is not of type EC2 or not on the curve P-256.
    public static let unsupportedCurve = COSEKeyError("unsupportedCurve")
    /// A coordinate is not 32 bytes long, or the point is not on the curve.
    public static let pointNotOnCurve = COSEKeyError("pointNotOnCurve")

    /// The error's name, with the cause in parentheses.
    public let description: String

    private init(_ description: String) { self.description = description }

    /// The input is not CBOR.
    public static func cbor(_ error: CBORError) -> COSEKeyError { COSEKeyError("cbor(\(error))") }
}
