// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCTAP
import HybridCaBLE
import HybridDataChannel
import HybridPrimitives
import Testing

@testable import HybridSession

/// A phone that can be linked, played by the test.
struct LinkingPhone {
    let key = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
    let secret = LinkSecret(using: &Self.random)
    let linkID = LinkID(using: &Self.random)
    let contactKey = ContactKey()
    let domain: TunnelDomain
    let eid: EID

    static let claims = ContactClaims(number: 1, time: 2, requester: .program)

    private static var random: SystemRandomNumberGenerator {
        get { SystemRandomNumberGenerator() }
        set {}
    }

    init() throws {
        domain = try #require(TunnelDomain(id: 266))
        eid = EID(routingID: RoutingID(node: 1, check: 2), domain: domain, using: &Self.random)
    }

    /// The link that a client stores; by default, its contact ID belongs to this project's relays.
    func link(contactID: ContactID? = nil) -> StoredLink {
        StoredLink(
            contactID: contactID ?? contactKey.publicKey.contactID,
            linkID: linkID,
            secret: secret,
            authenticatorKey: key.publicKey,
            name: PhoneName("Pixel 8"),
            domain: domain,
            created: 1,
            lastUsed: 2,
            info: [],
            requiresProof: true,
            showedCode: true
        )
    }

    /// Linking information for a session.
    func information(_ client: P256.KeyAgreement.PublicKey, _ hash: HandshakeHash) throws -> LinkingInformation {
        try LinkingInformation(
            contactID: contactKey.publicKey.contactID,
            linkID: linkID,
            secret: secret,
            authenticatorKey: key,
            name: "Pixel 8",
            clientKey: client,
            handshakeHash: hash
        )
    }
}

/// A client and a phone after the handshake, connected in memory.
struct LinkingSession {
    let connected: ConnectedPhone
    let phone: EncryptedChannel
    let phoneWire: MemoryChannel
    let clientKey: P256.KeyAgreement.PrivateKey
    let hash: HandshakeHash

    /// Creates a session that began with a QR code.
    static func scanned(by phone: LinkingPhone, offersLinking: Bool = true) async throws -> LinkingSession {
        let clientKey = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        let secret = try #require(QRSecret(bytes: [UInt8](repeating: 3, count: QRSecret.length)))
        let offer = QROffer(
            clientKey: clientKey.publicKey,
            secret: secret,
            created: 1,
            hint: .getAssertion,
            supportsLinking: offersLinking
        )
        let nearby = NearbyPhone(
            keys: offer.keys,
            clientKey: clientKey,
            offersLinking: offersLinking,
            eid: phone.eid,
            l2capRoute: nil
        )
        let handshake = ResponderHandshake(
            clientKey: clientKey.publicKey,
            psk: secret.psk(for: phone.eid),
            ephemeral: P256.KeyAgreement.PrivateKey()
        )
        return try await LinkingSession(handshake, clientKey) { try await nearby.performHandshake(over: $0, $1) }
    }

    /// Creates a session with a linked phone.
    static func contacting(_ phone: LinkingPhone) async throws -> LinkingSession {
        let handshake = ResponderHandshake(
            authenticatorKey: phone.key,
            psk: phone.secret.psk(for: phone.eid),
            ephemeral: P256.KeyAgreement.PrivateKey()
        )
        let contacted = ContactedPhone(link: phone.link(), eid: phone.eid)
        return try await LinkingSession(handshake, P256.KeyAgreement.PrivateKey()) {
            try await contacted.performHandshake(over: $0, $1)
        }
    }

    private init(
        _ handshake: consuming ResponderHandshake,
        _ clientKey: P256.KeyAgreement.PrivateKey,
        _ connect: @escaping @Sendable (MemoryChannel, Duration) async throws -> ConnectedPhone
    ) async throws {
        let (clientWire, phoneWire) = MemoryChannel.pair()
        async let connected = connect(clientWire, .seconds(60))
        let answer = try handshake.answer(try await phoneWire.receive { HandshakeMessage(bytes: $0.bytes) })
        try await phoneWire.send(WireMessage(bytes: answer.message2.bytes))
        hash = answer.keys.handshakeHash
        phone = EncryptedChannel(over: phoneWire, keys: answer.takeKeys())
        self.connected = try await connected
        self.phoneWire = phoneWire
        self.clientKey = clientKey
    }

    /// Sends the phone's first message and returns the client's next stage.
    func ready() async throws -> ReadyPhone {
        try await phone.send(PostHandshakeMessage(info: Self.info.encoded))
        return try await connected.receiveInfo(.seconds(60))
    }

    private static let info = AuthenticatorInfo(
        versions: ["FIDO_2_0"],
        aaguid: .zero,
        options: ["rk": true],
        transports: ["hybrid"]
    )
}

/// A request with an allow list, and the responses of phones.
struct LinkingRequest {
    let site: RelyingPartyID
    let known: CredentialID
    let other: CredentialID

    init() throws {
        site = try #require(RelyingPartyID("example.org"))
        known = try #require(CredentialID(bytes: [1, 2, 3]))
        other = try #require(CredentialID(bytes: [4, 5, 6]))
    }

    /// Returns a request with this allow list.
    func request(allowing ids: [CredentialID]) throws -> CTAPRequest {
        .getAssertion(
            GetAssertionRequest(
                relyingPartyID: site,
                clientDataHash: try #require(ClientDataHash(bytes: [UInt8](repeating: 7, count: 32))),
                allowList: ids.map { CredentialDescriptor(id: $0) },
                userVerification: true
            )
        )
    }

    /// Returns an assertion by a credential whose signature covers a hash of 32 such bytes.
    func response(
        _ id: CredentialID,
        signedBy key: P256.Signing.PrivateKey,
        hash: UInt8 = 7
    ) throws -> CTAPResponse {
        var assertion = try GetAssertionResponse(parsing: response(id).body)
        let signed = assertion.authenticatorData.encoded + [UInt8](repeating: hash, count: 32)
        assertion.signature = Array(try key.signature(for: signed).derRepresentation)
        return .success(assertion.encoded)
    }

    /// Returns an assertion by a credential; `nil` omits its ID.
    func response(_ id: CredentialID?, for site: RelyingPartyID? = nil) -> CTAPResponse {
        let data = AuthenticatorData(
            relyingPartyIDHash: (site ?? self.site).hash,
            flags: [.userPresent, .userVerified],
            signatureCount: 0
        )
        let assertion = GetAssertionResponse(
            credential: id.map { CredentialDescriptor(id: $0) },
            authenticatorData: data,
            signature: [1]
        )
        return .success(assertion.encoded)
    }
}
