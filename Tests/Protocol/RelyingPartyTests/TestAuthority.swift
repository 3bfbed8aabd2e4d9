// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridCTAP
import SwiftASN1
import X509

/// A manufacturer's certificate authority, which issues attestation certificates with and without mistakes.
struct TestAuthority: Sendable {
    enum Variant: String, CaseIterable, Sendable {
        case genuine = "genuine"
        case withoutModel = "without model"
        case withRoot = "with the root in the chain"
        case withIntermediate = "with an intermediate certificate"
        case otherModel = "for another model"
        case criticalModel = "with a critical model extension"
        case malformedModel = "with a malformed model extension"
        case otherUnit = "with another unit"
        case noUnit = "without unit"
        case noCountry = "without country"
        case noOrganization = "without organization"
        case noName = "without common name"
        case authority = "of an authority"
        case noConstraints = "without basic constraints"
        case version1 = "of version 1"
        case expired = "that has expired"
        case notYetValid = "that is not valid yet"
        case otherRoot = "of another root"
        case missingIntermediate = "without its intermediate certificate"
        case wrongOrder = "after its intermediate certificate"
    }

    private struct Issuer: Sendable {
        let key = P256.Signing.PrivateKey()
        let name: DistinguishedName
    }

    private static let aaguidExtension: ASN1ObjectIdentifier = [1, 3, 6, 1, 4, 1, 45724, 1, 1, 4]

    private let root: Issuer
    private let intermediate: Issuer
    private let other: Issuer
    /// The root's certificate in DER.
    let rootCertificate: [UInt8]
    private let intermediateCertificate: [UInt8]

    init() throws {
        root = Issuer(name: try DistinguishedName { CommonName("Test root") })
        intermediate = Issuer(name: try DistinguishedName { CommonName("Test intermediate") })
        other = Issuer(name: try DistinguishedName { CommonName("Other root") })
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
            Critical(KeyUsage(keyCertSign: true))
        }
        rootCertificate = try Self.certificate(root.name, root.key.publicKey, by: root, extensions)
        intermediateCertificate = try Self.certificate(
            intermediate.name,
            intermediate.key.publicKey,
            by: root,
            extensions
        )
    }

    /// Returns a chain, the leaf first, and the leaf's key.
    func issue(_ variant: Variant, aaguid: [UInt8]) throws -> (chain: [[UInt8]], key: P256.Signing.PrivateKey) {
        let key = P256.Signing.PrivateKey()
        let isIndirect = [.withIntermediate, .missingIntermediate, .wrongOrder].contains(variant)
        let issuer = variant == .otherRoot ? other : isIndirect ? intermediate : root
        let leaf = try Self.certificate(
            try subject(variant),
            key.publicKey,
            by: issuer,
            try extensions(variant, aaguid),
            version: variant == .version1 ? .v1 : .v3,
            validity: variant == .expired ? -200 ... -100 : variant == .notYetValid ? 100...200 : -1...1
        )
        let chain =
            switch variant {
            case .withRoot: [leaf, rootCertificate]
            case .withIntermediate: [leaf, intermediateCertificate]
            case .wrongOrder: [intermediateCertificate, leaf]
            default: [leaf]
            }
        return (chain, key)
    }

    private func subject(_ variant: Variant) throws -> DistinguishedName {
        try DistinguishedName {
            if variant != .noCountry { CountryName("SE") }
            if variant != .noOrganization { OrganizationName("Test") }
            if variant != .noUnit {
                OrganizationalUnitName(variant == .otherUnit ? "Other" : "Authenticator Attestation")
            }
            if variant != .noName { CommonName("Test model") }
        }
    }

    private func extensions(_ variant: Variant, _ aaguid: [UInt8]) throws -> Certificate.Extensions {
        guard variant != .version1 else { return try Certificate.Extensions {} }
        let stated = variant == .otherModel ? aaguid.map { ~$0 } : aaguid
        let value = variant == .malformedModel ? stated : [0x04, 0x10] + stated
        return try Certificate.Extensions {
            if variant == .authority {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
            } else if variant != .noConstraints {
                Critical(BasicConstraints.notCertificateAuthority)
            }
            if variant != .withoutModel {
                Certificate.Extension(
                    oid: Self.aaguidExtension,
                    critical: variant == .criticalModel,
                    value: value[...]
                )
            }
        }
    }

    private static func certificate(
        _ subject: DistinguishedName,
        _ key: P256.Signing.PublicKey,
        by issuer: Issuer,
        _ extensions: Certificate.Extensions,
        version: Certificate.Version = .v3,
        validity days: ClosedRange<Double> = -1000...1000
    ) throws -> [UInt8] {
        let now = Date()
        let certificate = try Certificate(
            version: version,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key),
            notValidBefore: now.addingTimeInterval(days.lowerBound * 86_400),
            notValidAfter: now.addingTimeInterval(days.upperBound * 86_400),
            issuer: issuer.name,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(issuer.key)
        )
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }
}
