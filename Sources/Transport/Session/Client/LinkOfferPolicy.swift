// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCTAP
public import HybridCaBLE
internal import HybridPrimitives

/// The terms on which a client accepts the offer of a link from the phone that scans its code.
///
/// Any device that scans a visible code knows the request, and can answer it with an invented signature. So a link is
/// offered only after a sign-in that this computer or the website has verified, see ``LinkEvidence``.
public struct LinkOfferPolicy: Sendable {
    /// Time to wait for the phone's update after its response.
    public let updateTimeout: Duration
    /// Returns the public key of a credential, if this computer already knew it before the ceremony.
    let knownKey: @Sendable (CredentialID, RelyingPartyID) -> COSEKey?

    /// Creates the terms.
    ///
    /// - Parameters:
    ///   - updateTimeout: Time to wait for the phone's update after its response: 10 seconds in a command, 3 minutes in
    ///     a service.
    ///   - knownKey: Returns the public key of a credential, if this computer already knew it before the ceremony.
    public init(
        updateTimeout: Duration = .seconds(10),
        knownKey: @escaping @Sendable (CredentialID, RelyingPartyID) -> COSEKey? = { _, _ in nil }
    ) {
        self.updateTimeout = updateTimeout
        self.knownKey = knownKey
    }

    /// Returns the evidence in a response; `nil` if no link may be offered after it.
    ///
    /// A registration is no evidence, because its key is new. A signature that a known key does not verify excludes a
    /// link. So does a passkey that the request does not name, even a known one: a stranger may have answered an earlier
    /// registration, and the website has not confirmed since that it accepts the passkey.
    func evidence(in response: CTAPResponse, to request: CTAPRequest) -> LinkEvidence? {
        guard case .getAssertion(let request) = request, response.status == .success,
            let assertion = try? GetAssertionResponse(parsing: response.body),
            assertion.authenticatorData.relyingPartyIDHash == request.relyingPartyID.hash
        else { return nil }
        let allowed = request.allowList.map(\.id)
        // A phone may omit the ID if the allow list has exactly one entry.
        guard let id = assertion.credential?.id ?? (allowed.count == 1 ? allowed[0] : nil), allowed.contains(id) else {
            return nil
        }
        guard let key = knownKey(id, request.relyingPartyID) else { return .unverified }
        let signed = assertion.authenticatorData.encoded + request.clientDataHash.bytes
        guard let key = key.p256,
            let signature = try? P256.Signing.ECDSASignature(derRepresentation: assertion.signature),
            key.isValidSignature(signature, for: signed)
        else { return nil }
        return .verified
    }
}

/// The reason to believe that the phone belongs to the user.
public enum LinkEvidence: Hashable, Sendable {
    /// This computer has verified the signature with a public key that it already knew.
    case verified
    /// Only the website can verify the signature, after it has received the response.
    case unverified
}

/// A link that a phone offers, which the user must confirm.
public struct OfferedLink: Sendable {
    /// The link, with the reason to believe that the phone belongs to the user.
    public var link: StoredLink
    /// The code that the phone shows, too; `nil` if phones of its kind show none.
    public let code: LinkCode?
}

/// The verifier of updates, which exists only in a session whose QR code offered linking.
struct LinkVerifier: Sendable {
    let clientKey: P256.KeyAgreement.PrivateKey
    let handshakeHash: HandshakeHash
    let domain: TunnelDomain

    /// The code of the session for both users.
    var code: LinkCode { LinkCode(handshakeHash) }

    /// Returns a link without evidence; `nil` if the phone has not proved possession of its key in this session.
    ///
    /// - Parameters:
    ///   - information: Linking information from the phone.
    ///   - info: The phone's `authenticatorGetInfo` response.
    func link(_ information: LinkingInformation, info: [UInt8]) -> StoredLink? {
        guard information.isAuthentic(clientKey: clientKey, handshakeHash: handshakeHash) else { return nil }
        let now = WallClock.realtime.now()
        return StoredLink(
            contactID: information.contactID,
            linkID: information.linkID,
            secret: information.secret,
            authenticatorKey: information.authenticatorKey,
            name: PhoneName(information.name),
            domain: domain,
            created: now,
            lastUsed: now,
            info: info,
            requiresProof: information.announcesProof,
            // Only phones of this project announce proofs, and show a code.
            showedCode: information.announcesProof
        )
    }
}
