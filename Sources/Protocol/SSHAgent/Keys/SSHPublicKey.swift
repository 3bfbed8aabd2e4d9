// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// A public key of type `sk-ecdsa-sha2-nistp256@openssh.com` (OpenSSH's PROTOCOL.u2f).
///
/// The encoding is string type ‖ string `nistp256` ‖ string point ‖ string application.
public struct SSHPublicKey: Hashable, Sendable {
    /// The name of the key type, of the signature type and of the algorithm.
    public static let algorithm = "sk-ecdsa-sha2-nistp256@openssh.com"
    static let curve = "nistp256"

    /// The uncompressed point of P-256: 65 bytes.
    public let x963Representation: [UInt8]
    /// The application: the relying party ID of the passkey.
    public let application: SSHApplication

    /// Creates a key from an uncompressed point of 65 bytes.
    ///
    /// - Throws: ``SSHFormatError/publicKey`` if the bytes are not a point of P-256.
    public init(x963Representation: [UInt8], application: SSHApplication) throws(SSHFormatError) {
        guard (try? P256.Signing.PublicKey(x963Representation: x963Representation)) != nil else { throw .publicKey }
        self.x963Representation = x963Representation
        self.application = application
    }

    /// Creates a key from its encoding, which must span the entire input.
    public init(parsing blob: some Collection<UInt8>) throws(SSHFormatError) {
        var reader = SSHReader(Array(blob))
        try reader.expect(Self.algorithm, else: .keyType)
        self = try Self(fields: &reader)
        try reader.finish()
    }

    /// Creates a key from the fields that follow the type, which are the same in a certificate.
    init(fields reader: inout SSHReader) throws(SSHFormatError) {
        try reader.expect(Self.curve, else: .curve)
        let point = try reader.string()
        let application = String(decoding: try reader.string(), as: UTF8.self)
        guard let application = SSHApplication(application) else { throw .application }
        try self.init(x963Representation: Array(point), application: application)
    }

    /// The encoding, as in `authorized_keys` and in agent messages.
    public var encoded: [UInt8] {
        var writer = SSHWriter()
        writer.string(Self.algorithm)
        writer.string(Self.curve)
        writer.string(x963Representation)
        writer.string(application.description)
        return writer.bytes
    }

    /// The fingerprint that `ssh-keygen -l` prints.
    public var fingerprint: SSHFingerprint { SSHFingerprint(ofKey: encoded) }

    /// Returns the line of this key for `authorized_keys` and `.pub` files, without a line end.
    public func authorizedKeysLine(comment: SSHKeyComment?) -> String {
        let line = "\(Self.algorithm) \(String(decoding: Base64.encode(encoded), as: UTF8.self))"
        return comment.map { "\(line) \($0)" } ?? line
    }

    /// Returns the line of this key for the allowed signers file of `ssh-keygen -Y verify` and git, without a line end.
    ///
    /// - Parameters:
    ///   - principal: The signer, for example an e-mail address.
    ///   - namespace: The only namespace in which the key may sign, for example `git`.
    public func allowedSignersLine(principal: SignerPrincipal, namespace: SignatureNamespace) -> String {
        "\(principal) namespaces=\"\(namespace)\" \(authorizedKeysLine(comment: nil))"
    }
}
