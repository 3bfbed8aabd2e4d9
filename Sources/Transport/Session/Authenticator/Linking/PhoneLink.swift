// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCaBLE
public import HybridPrimitives

/// The static key with which an authenticator identifies itself to linked clients.
///
/// Each device has one. It protects the continuity of links only, so it works before the PIN is entered. It never
/// leaves the device.
public struct PhoneIdentity: Sendable, SecretMaterial {
    /// Length of the stored form in bytes.
    public static let length = 32

    let key: P256.KeyAgreement.PrivateKey

    /// Creates a random identity.
    public init() { key = P256.KeyAgreement.PrivateKey(compactRepresentable: false) }

    /// Creates an identity from the 32 bytes of its stored form; `nil` if they are no key.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length,
            let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: Array(bytes))
        else { return nil }
        self.key = key
    }

    /// Calls `body` with the 32 bytes of the stored form, which are as secret as the key.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        var bytes = Array(key.rawRepresentation)
        defer { SecretBytes.wipe(&bytes) }
        return try bytes.withUnsafeBytes(body)
    }
}

/// The authenticator's part of a link, with which it recognizes and answers one client.
public struct PhoneLink: Sendable, SecretMaterial {
    /// The ID with which the client names the link; 8 bytes.
    public let id: LinkID
    /// The secret that both ends share; 32 bytes.
    public let secret: LinkSecret
    /// The key with which the relay's contact ID of this link is proved; no two links have the same.
    public let contactKey: ContactKey
    /// The relay at which the client contacts this authenticator.
    public let domain: TunnelDomain

    /// Creates a link from its parts.
    public init(id: LinkID, secret: LinkSecret, contactKey: ContactKey, domain: TunnelDomain) {
        (self.id, self.secret, self.contactKey, self.domain) = (id, secret, contactKey, domain)
    }

    /// Creates a new link with random secrets.
    public init(at domain: TunnelDomain) {
        self.init(
            id: .random(),
            secret: .random(),
            contactKey: ContactKey(),
            domain: domain
        )
    }
}

/// A link that an authenticator offers to the client whose code it scanned.
///
/// Only its user can decide this, before the session begins: the update follows the handshake at once, so that a relay
/// cannot learn the decision from the time or the length of the update.
public struct LinkOffer: Sendable, SecretMaterial {
    /// The new link.
    public let link: PhoneLink
    /// The name under which the client lists this authenticator, at most 255 bytes of UTF-8.
    public let name: String
    /// The contact ID, with which the client names this authenticator to the relay.
    private let contactID: ContactID
    private let identity: PhoneIdentity

    /// Creates an offer.
    ///
    /// - Parameters:
    ///   - link: The new link.
    ///   - identity: The identity of this authenticator.
    ///   - name: The name of this authenticator, at most 255 bytes of UTF-8.
    ///   - contactID: The contact ID that a relay has issued; `nil` for that of the link's contact key.
    public init(_ link: PhoneLink, from identity: PhoneIdentity, name: String, contactID: ContactID? = nil) {
        (self.link, self.identity, self.name) = (link, identity, name)
        self.contactID = contactID ?? link.contactKey.publicKey.contactID
    }

    /// Returns the information for the client, which is bound to a session.
    func information(
        for clientKey: P256.KeyAgreement.PublicKey,
        _ hash: HandshakeHash
    ) throws(LinkingError) -> LinkingInformation {
        try LinkingInformation(
            contactID: contactID,
            linkID: link.id,
            secret: link.secret,
            authenticatorKey: identity.key,
            name: name,
            clientKey: clientKey,
            handshakeHash: hash
        )
    }
}
