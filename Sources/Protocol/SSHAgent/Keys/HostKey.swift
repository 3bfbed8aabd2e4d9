// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The public key of an SSH server, or a certificate for one.
///
/// The types are Ed25519, ECDSA on the curves P-256, P-384 and P-521, RSA of 1,024 to 8,192 bits, and OpenSSH's
/// certificates of these (PROTOCOL.certkeys). The signature of the certificate authority is not verified: the client
/// decides about trust in the server, and a binding only proves that its session belongs to this key.
public struct HostKey: Hashable, Sendable {
    /// The encoding as received, with the certificate if there is one.
    public let encoded: [UInt8]
    /// The fingerprint of the key, without the certificate, as `ssh` shows it.
    public let fingerprint: SSHFingerprint
    /// True if the encoding is a certificate.
    public let isCertificate: Bool
    /// True for RSA below 2,048 bits, which OpenSSH still accepts: others could compute the host's private key.
    public var isWeak: Bool {
        if case .rsa(_, let modulus) = material { Self.bitCount(modulus) < 2048 } else { false }
    }
    let material: Material

    /// The public key.
    enum Material: Hashable, Sendable {
        case ed25519([UInt8])
        case ecdsa(HostKeyCurve, [UInt8])
        case rsa(exponent: [UInt8], modulus: [UInt8])
    }

    /// Creates a host key from its encoding, which must span the entire input.
    public init(parsing blob: some Collection<UInt8>) throws(SSHFormatError) {
        encoded = Array(blob)
        var reader = SSHReader(encoded)
        guard let type = HostKeyType(name: try reader.string()) else { throw .keyType }
        if type.isCertificate { _ = try reader.string() }
        material = try Self.material(of: type, &reader)
        if type.isCertificate { try Self.checkCertificate(&reader) }
        try reader.finish()
        isCertificate = type.isCertificate
        fingerprint = SSHFingerprint(ofKey: Self.encode(material))
    }

    private static func material(of type: HostKeyType, _ reader: inout SSHReader) throws(SSHFormatError) -> Material {
        let material: Material
        switch type.algorithm {
        case .ed25519: material = .ed25519(Array(try reader.string()))
        case .ecdsa(let curve):
            try reader.expect(curve.rawValue, else: .curve)
            material = .ecdsa(curve, Array(try reader.string()))
        case .rsa:
            let exponent = Array(try reader.positiveInteger())
            material = .rsa(exponent: exponent, modulus: Array(try reader.positiveInteger()))
        }
        guard isUsable(material) else { throw .publicKey }
        return material
    }

    /// Checks what follows the key in a certificate: it must be complete and for a host.
    private static func checkCertificate(_ reader: inout SSHReader) throws(SSHFormatError) {
        _ = try reader.uint64()
        guard try reader.uint32() == 2 else { throw .certificate }
        // Key ID and principals, the period of validity, then options, extensions, reserved, authority and signature.
        for _ in 0..<2 { _ = try reader.string() }
        for _ in 0..<2 { _ = try reader.uint64() }
        for _ in 0..<5 { _ = try reader.string() }
    }

    /// Returns the encoding of a key without a certificate.
    private static func encode(_ material: Material) -> [UInt8] {
        var writer = SSHWriter()
        switch material {
        case .ed25519(let key):
            writer.string("ssh-ed25519")
            writer.string(key)
        case .ecdsa(let curve, let point):
            writer.string("ecdsa-sha2-\(curve.rawValue)")
            writer.string(curve.rawValue)
            writer.string(point)
        case .rsa(let exponent, let modulus):
            writer.string("ssh-rsa")
            writer.positiveInteger(exponent)
            writer.positiveInteger(modulus)
        }
        return writer.bytes
    }
}

/// A curve of host keys, by the name in key types.
enum HostKeyCurve: String, Hashable, Sendable, CaseIterable {
    case nistp256, nistp384, nistp521
}

/// The type of a host key, from the name at the start of its encoding.
private struct HostKeyType {
    enum Algorithm {
        case ed25519
        case ecdsa(HostKeyCurve)
        case rsa
    }

    let algorithm: Algorithm
    let isCertificate: Bool

    init?(name: ArraySlice<UInt8>) {
        let suffix = "-cert-v01@openssh.com"
        let name = String(decoding: name, as: UTF8.self)
        isCertificate = name.hasSuffix(suffix)
        let plain = isCertificate ? String(name.dropLast(suffix.utf8.count)) : name
        switch plain {
        case "ssh-ed25519": algorithm = .ed25519
        case "ssh-rsa": algorithm = .rsa
        default:
            guard let curve = HostKeyCurve.allCases.first(where: { "ecdsa-sha2-\($0.rawValue)" == plain }) else {
                return nil
            }
            algorithm = .ecdsa(curve)
        }
    }
}
