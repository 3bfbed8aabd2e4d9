// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridCTAP
internal import HybridPrimitives
internal import HybridSSHAgent

/// The request for a signature by which a phone proves that it has an SSH key of this computer, before it is linked.
///
/// The data is a message in the SSHSIG format with random content, so an earlier signature proves nothing. A key with
/// destinations signs it, too: the limits are for programs that use the agent.
package struct LinkProof: Sendable {
    /// The namespace of the message.
    package static let namespace = "link@hybrid"

    /// The request.
    package let request: CeremonyRequest
    private let key: StoredSSHKey
    private let data: SignedData
    private let publicKey: COSEKey

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - seconds: The time limit in seconds, 1 to 3,600.
    ///   - generator: The source of the content.
    /// - Returns: `nil` if a value is not accepted, which does not happen.
    package init?(_ key: StoredSSHKey, seconds: Int, using generator: inout some RandomNumberGenerator) {
        let content = [UInt8].random(32, using: &generator)
        let bytes = SignatureNamespace(Self.namespace).map { MessageData.encoded($0, sha256: content) }
        guard let bytes, let data = try? SignedData(parsing: bytes, for: key.publicKey),
            let command = SSHSigner.command(for: data, with: key),
            let point = try? P256.Signing.PublicKey(x963Representation: key.publicKey.x963Representation)
        else { return nil }
        let purpose = "link the phone with the ssh key \(SafeText(quoting: "\(key.comment)"))"
        request = CeremonyRequest(.sign(command), purpose: purpose, seconds: seconds)
        publicKey = COSEKey(point)
        (self.key, self.data) = (key, data)
    }

    /// Returns the public key of the SSH key; `nil` for other passkeys.
    @Sendable package func publicKey(_ id: CredentialID, of relyingParty: RelyingPartyID) -> COSEKey? {
        id == key.credentialID && relyingParty == key.relyingPartyID ? publicKey : nil
    }

    /// Returns true if the phone's answer is a signature of the data by the SSH key, with user verification.
    ///
    /// - Parameter bytes: The CTAP response with its status byte.
    package func isVerified(by bytes: [UInt8]) -> Bool { SSHSigner.signature(in: bytes, by: key, over: data) != nil }
}
