// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// A new credential in authenticator data (WebAuthn Level 3 §6.5.1).
///
/// The encoding is 16 bytes AAGUID ‖ 2 bytes length of the ID, big-endian ‖ credential ID ‖ COSE public key. The length
/// of the key follows from its CBOR.
public struct AttestedCredential: Hashable, Sendable {
    /// Model of the authenticator or passkey provider.
    public let aaguid: AAGUID
    /// ID of the credential.
    public let id: CredentialID
    /// Public key of the credential.
    public let publicKey: COSEKey

    /// Creates a credential from its parts.
    public init(aaguid: AAGUID, id: CredentialID, publicKey: COSEKey) {
        self.aaguid = aaguid
        self.id = id
        self.publicKey = publicKey
    }

    /// The encoding in authenticator data.
    public var encoded: [UInt8] {
        let length = UInt16(truncatingIfNeeded: id.bytes.count)
        return aaguid.bytes + [UInt8(length >> 8), UInt8(length & 0xFF)] + id.bytes + publicKey.encoded
    }

    /// Returns the credential at the start of the input and its length in bytes.
    static func prefix(
        of bytes: ArraySlice<UInt8>
    ) throws(AuthenticatorDataError) -> (credential: AttestedCredential, length: Int) {
        guard bytes.count >= 18, let aaguid = AAGUID(bytes: bytes.prefix(16)) else { throw .truncated }
        let idLength = bytes.dropFirst(16).prefix(2).reduce(0) { $0 << 8 | Int($1) }
        guard (1...CredentialID.maximumLength).contains(idLength) else { throw .credentialIDLength }
        guard bytes.count >= 18 + idLength, let id = CredentialID(bytes: bytes.dropFirst(18).prefix(idLength)) else {
            throw .truncated
        }
        do throws(COSEKeyError) {
            let (key, keyLength) = try COSEKey.prefix(of: bytes.dropFirst(18 + idLength))
            return (AttestedCredential(aaguid: aaguid, id: id, publicKey: key), 18 + idLength + keyLength)
        } catch {
            throw .publicKey(error)
        }
    }
}
