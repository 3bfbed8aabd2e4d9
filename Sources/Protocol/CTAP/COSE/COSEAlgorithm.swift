// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// A signature algorithm, identified by its number in the COSE registry.
public struct COSEAlgorithm: RawRepresentable, Hashable, Sendable {
    /// Number in the COSE registry; numbers of signature algorithms are negative.
    public let rawValue: Int

    /// Creates an algorithm from its number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// ECDSA on P-256 with SHA-256, which every passkey provider supports.
    public static let es256 = COSEAlgorithm(rawValue: -7)
    /// ECDSA on P-256 with SHA-256 (RFC 9864), which differs from ``es256`` in its number only.
    ///
    /// WebAuthn Level 3 restricts ``es256`` to this curve, too.
    public static let esp256 = COSEAlgorithm(rawValue: -9)
    /// EdDSA; Ed25519 in WebAuthn.
    public static let edDSA = COSEAlgorithm(rawValue: -8)
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    public static let rs256 = COSEAlgorithm(rawValue: -257)
}

extension COSEAlgorithm {
    /// True for ``es256`` and ``esp256``.
    public var isP256: Bool { self == .es256 || self == .esp256 }
}

extension [COSEAlgorithm] {
    /// Creates a list from maps `{alg, type}`; entries of an unknown type are omitted.
    init<Failure>(_ readers: [FieldReader<Failure>]) throws(Failure) {
        self = []
        for reader in readers {
            let type = try reader.required("type", "type", as: \.text)
            // Other types have members of their own.
            guard type == CredentialDescriptor.publicKeyType else { continue }
            append(COSEAlgorithm(rawValue: try reader.required("alg", "alg", as: \.integer)))
        }
    }

    var cbor: CBORValue {
        .array(
            map { algorithm in
                ["alg": .integer(algorithm.rawValue), "type": .text(CredentialDescriptor.publicKeyType)]
            }
        )
    }
}
