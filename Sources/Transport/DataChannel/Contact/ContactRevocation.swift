// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE

/// A phone's signed statement that a contact ID is revoked, as a relay presents it.
public struct ContactRevocation: Hashable, Sendable {
    /// The key that the contact ID was derived from, if the statement is genuine.
    public let publicKey: ContactPublicKey
    /// The signature.
    public let signature: ContactSignature

    /// Creates a revocation, which is not verified.
    public init(publicKey: ContactPublicKey, signature: ContactSignature) {
        (self.publicKey, self.signature) = (publicKey, signature)
    }

    /// Returns true if the owner of a contact ID signed this statement for the relay with this host name.
    ///
    /// - Parameters:
    ///   - contact: The contact ID.
    ///   - host: Host name of the link's tunnel domain, in lower case.
    public func proves(_ contact: ContactID, host: String) -> Bool {
        publicKey.verifies(signature, of: .gone(host: host, contact))
    }
}
