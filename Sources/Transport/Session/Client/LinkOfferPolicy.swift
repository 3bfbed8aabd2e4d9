// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCTAP
internal import HybridCaBLE
internal import HybridPrimitives

/// The terms on which a client accepts the offer of a link from the phone that scans its code.
///
/// A phone is offered to the user only if it can use a passkey that is known on this computer. Otherwise, the phone of an
/// unauthenticated peer that answers a visible code could become permanent.
public struct LinkOfferPolicy: Sendable {
    /// Time to wait for the phone's update after its response.
    public let updateTimeout: Duration
    /// Returns true if a credential outside the allow list is known on this computer.
    let isRemembered: @Sendable (CredentialID) -> Bool

    /// Creates the terms.
    ///
    /// - Parameters:
    ///   - updateTimeout: Time to wait for the phone's update after its response: 10 seconds in a command, 3 minutes in
    ///     a service.
    ///   - isRemembered: Returns true if a credential outside the allow list is known on this computer.
    public init(
        updateTimeout: Duration = .seconds(10),
        isRemembered: @escaping @Sendable (CredentialID) -> Bool = { _ in false }
    ) {
        self.updateTimeout = updateTimeout
        self.isRemembered = isRemembered
    }

    /// Returns true if a response is an assertion for the request's relying party by a known credential.
    func permits(_ response: CTAPResponse, to request: CTAPRequest) -> Bool {
        guard case .getAssertion(let request) = request, response.status == .success,
            let assertion = try? GetAssertionResponse(parsing: response.body),
            assertion.authenticatorData.relyingPartyIDHash == request.relyingPartyID.hash
        else { return false }
        let allowed = request.allowList.map(\.id)
        // A phone may omit the ID if the allow list has exactly one entry.
        guard let id = assertion.credential?.id ?? (allowed.count == 1 ? allowed[0] : nil) else { return false }
        return allowed.contains(id) || isRemembered(id)
    }
}

/// The verifier of updates, which exists only in a session whose QR code offered linking.
struct LinkVerifier: Sendable {
    let clientKey: P256.KeyAgreement.PrivateKey
    let handshakeHash: HandshakeHash
    let domain: TunnelDomain

    /// Returns the link; `nil` if the phone has not proved possession of its key in this session.
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
            requiresProof: information.announcesProof
        )
    }
}
