// SPDX-License-Identifier: Apache-2.0

public import Crypto

/// The client's side of the handshake: made with message 1, consumed by message 2.
///
/// The client always speaks first, and can do so only after it heard the advert. A value is used once: there is
/// one handshake attempt per advert.
public struct InitiatorHandshake: ~Copyable, Sendable {
    /// What goes to the phone first.
    public let message1: HandshakeMessage

    private let pattern: HandshakePattern
    private var state: SymmetricState
    private let ephemeral: P256.KeyAgreement.PrivateKey
    private let ownStatic: P256.KeyAgreement.PrivateKey?

    /// A handshake with whoever scanned the QR that carries this client key (Noise `KNpsk0`).
    public init(
        clientKey: P256.KeyAgreement.PrivateKey,
        psk: PSK,
        ephemeral: P256.KeyAgreement.PrivateKey
    ) throws(HandshakeError) {
        var state = HandshakePattern.qr.start(staticKey: clientKey.publicKey, psk: psk)
        let point = Array(ephemeral.publicKey.x963Representation)
        state.mixEphemeral(point)
        self.message1 = HandshakeMessage(point: point, tag: try state.sealEmptyPayload())
        self.pattern = .qr
        self.state = state
        self.ephemeral = ephemeral
        self.ownStatic = clientKey
    }

    /// A handshake with a linked phone, known by its static key (Noise `NKpsk0`).
    public init(
        authenticatorKey: P256.KeyAgreement.PublicKey,
        psk: PSK,
        ephemeral: P256.KeyAgreement.PrivateKey
    ) throws(HandshakeError) {
        var state = HandshakePattern.linked.start(staticKey: authenticatorKey, psk: psk)
        let point = Array(ephemeral.publicKey.x963Representation)
        state.mixEphemeral(point)
        try state.mixShared(ephemeral, authenticatorKey)
        self.message1 = HandshakeMessage(point: point, tag: try state.sealEmptyPayload())
        self.pattern = .linked
        self.state = state
        self.ephemeral = ephemeral
        self.ownStatic = nil
    }

    /// Checks the phone's answer and gives the keys of the channel.
    ///
    /// - Throws: ``HandshakeError``; the handshake is gone then, and the connection must be dropped.
    public consuming func finish(_ message2: HandshakeMessage) throws(HandshakeError) -> ChannelKeys {
        let peer = try P256.KeyAgreement.PublicKey(handshakePoint: message2.point)
        var state = self.state
        state.mixEphemeral(message2.point)
        try state.mixShared(ephemeral, peer)
        if pattern == .qr, let ownStatic { try state.mixShared(ownStatic, peer) }
        try state.openEmptyPayload(message2.tag)
        let keys = state.split()
        return ChannelKeys(
            sending: keys.initiatorToResponder,
            receiving: keys.responderToInitiator,
            handshakeHash: HandshakeHash(digest: state.hash)
        )
    }
}
