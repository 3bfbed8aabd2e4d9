// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// OpenSSH's certificate of a user's key, made by an authority that servers trust (PROTOCOL.certkeys).
///
/// The encoding is string type ‖ string nonce ‖ string `nistp256` ‖ string point ‖ string application ‖ uint64 serial ‖
/// uint32 1 ‖ string key ID ‖ string principals ‖ uint64 valid after ‖ uint64 valid before ‖ string critical options ‖
/// string extensions ‖ string reserved ‖ string key of the authority ‖ string signature.
///
/// The authority's signature and the period of validity are not verified: the server does that. A false certificate
/// therefore logs in nowhere.
public struct SSHUserCertificate: Hashable, Sendable {
    /// The name of the certificate's type, and of the algorithm of a login with it.
    public static let algorithm = "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com"
    /// Maximum number of principals, as in OpenSSH.
    static let maximumPrincipals = 256
    /// Maximum length of the principals in a prompt in bytes, so that its text fits a line of pinentry's protocol.
    private static let maximumShown = 100

    /// The key.
    public let key: SSHPublicKey
    /// The fingerprint of the authority's key.
    public let authority: SSHFingerprint
    /// The names for which the certificate is valid, as received; servers may accept any name if there is none.
    public let principals: [String]

    /// The names for which the certificate is valid, as a prompt may show them.
    public var shownPrincipals: String {
        guard !principals.isEmpty else { return "no name" }
        var (shown, bytes) = ([String](), 0)
        for name in principals.map({ SafeText(quoting: $0).description }) {
            bytes += name.utf8.count + 2
            guard bytes <= Self.maximumShown else { break }
            shown.append(name)
        }
        let rest = principals.count - shown.count
        if shown.isEmpty { return "\(rest) names" }
        return shown.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }

    /// Creates a certificate from its encoding, which must span the entire input.
    init(parsing blob: some Collection<UInt8>) throws(SSHFormatError) {
        var reader = SSHReader(Array(blob))
        try reader.expect(Self.algorithm, else: .keyType)
        _ = try reader.string()
        key = try SSHPublicKey(fields: &reader)
        _ = try reader.uint64()
        guard try reader.uint32() == 1 else { throw .certificate }
        _ = try reader.string()
        principals = try Self.names(in: try reader.string())
        for _ in 0..<2 { _ = try reader.uint64() }
        for _ in 0..<3 { _ = try reader.string() }
        let authority = try reader.string()
        guard !authority.isEmpty else { throw .certificate }
        self.authority = SSHFingerprint(ofKey: Array(authority))
        _ = try reader.string()
        try reader.finish()
    }

    private static func names(in list: ArraySlice<UInt8>) throws(SSHFormatError) -> [String] {
        var reader = SSHReader(list)
        var names: [String] = []
        while !reader.isAtEnd {
            guard names.count < maximumPrincipals else { throw .certificate }
            names.append(String(decoding: try reader.string(), as: UTF8.self))
        }
        return names
    }
}
