// SPDX-License-Identifier: Apache-2.0

public import Crypto

/// The client's side of the handshake, which creates message 1 and is consumed by message 2.
///
/// The client sends message 1 after it has received the advert. Each handshake is used for one connection only.
public struct InitiatorHandshake: ~Copyable, Sendable {
    /// Message 1, for the authenticator.
    public let message1: HandshakeMessage

    private let pattern: HandshakePattern
    private var state: SymmetricState
    private let ephemeral: P256.KeyAgreement.PrivateKey
    private let ownStatic: P256.KeyAgreement.PrivateKey?

    /// Creates a handshake with an authenticator that scanned the QR code with this client key (Noise `KNpsk0`).
    public init(
        clientKey: P256.KeyAgreement.PrivateKey,
        psk: PSK,
        ephemeral: P256.KeyAgreement.PrivateKey
    ) throws(HandshakeError) {
        try self.init(clientKey: clientKey, psk: psk, ephemeral: ephemeral, ceremony: .signIn)
    }

    init(
        clientKey: P256.KeyAgreement.PrivateKey,
        psk: PSK,
        ephemeral: P256.KeyAgreement.PrivateKey,
        ceremony: CodeCeremony
    ) throws(HandshakeError) {
        let pattern = HandshakePattern.qr(ceremony)
        var state = pattern.start(staticKey: clientKey.publicKey, psk: psk)
        let point = Array(ephemeral.publicKey.x963Representation)
        state.mixEphemeral(point)
        self.message1 = HandshakeMessage(point: point, tag: try state.sealEmptyPayload())
        self.pattern = pattern
        self.state = state
        self.ephemeral = ephemeral
        self.ownStatic = clientKey
    }

    /// Creates a handshake with a linked authenticator, which is known by its static key (Noise `NKpsk0`).
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

    /// Verifies message 2 and returns the keys of the channel.
    ///
    /// - Throws: ``HandshakeError``; the caller must then close the connection.
    public consuming func finish(_ message2: HandshakeMessage) throws(HandshakeError) -> ChannelKeys {
        let peer = try P256.KeyAgreement.PublicKey(handshakePoint: message2.point)
        var state = self.state
        state.mixEphemeral(message2.point)
        try state.mixShared(ephemeral, peer)
        if case .qr = pattern, let ownStatic { try state.mixShared(ownStatic, peer) }
        try state.openEmptyPayload(message2.tag)
        let keys = state.split()
        return ChannelKeys(
            sending: keys.initiatorToResponder,
            receiving: keys.responderToInitiator,
            handshakeHash: HandshakeHash(checked: state.hash)
        )
    }
}
