// SPDX-License-Identifier: Apache-2.0

public import Crypto

/// The authenticator's side of the handshake, which is consumed by message 1.
///
/// A message 1 whose tag does not verify is not answered, because its sender has not received the advert.
public struct ResponderHandshake: ~Copyable, Sendable {
    private let pattern: HandshakePattern
    private var state: SymmetricState
    private let ephemeral: P256.KeyAgreement.PrivateKey
    private let clientKey: P256.KeyAgreement.PublicKey?
    private let ownStatic: P256.KeyAgreement.PrivateKey?

    /// Creates a handshake with the client whose key was in the QR code (Noise `KNpsk0`).
    public init(clientKey: P256.KeyAgreement.PublicKey, psk: PSK, ephemeral: P256.KeyAgreement.PrivateKey) {
        self.init(clientKey: clientKey, psk: psk, ephemeral: ephemeral, ceremony: .signIn)
    }

    init(
        clientKey: P256.KeyAgreement.PublicKey,
        psk: PSK,
        ephemeral: P256.KeyAgreement.PrivateKey,
        ceremony: CodeCeremony
    ) {
        let pattern = HandshakePattern.qr(ceremony)
        self.pattern = pattern
        self.state = pattern.start(staticKey: clientKey, psk: psk)
        self.ephemeral = ephemeral
        self.clientKey = clientKey
        self.ownStatic = nil
    }

    /// Creates a handshake with a linked client, which knows the authenticator's static key (Noise `NKpsk0`).
    public init(
        authenticatorKey: P256.KeyAgreement.PrivateKey,
        psk: PSK,
        ephemeral: P256.KeyAgreement.PrivateKey
    ) {
        self.pattern = .linked
        self.state = HandshakePattern.linked.start(staticKey: authenticatorKey.publicKey, psk: psk)
        self.ephemeral = ephemeral
        self.clientKey = nil
        self.ownStatic = authenticatorKey
    }

    /// Verifies message 1 and returns message 2 and the keys of the channel.
    ///
    /// - Throws: ``HandshakeError``; the caller must then send nothing.
    public consuming func answer(_ message1: HandshakeMessage) throws(HandshakeError) -> HandshakeAnswer {
        let peer = try P256.KeyAgreement.PublicKey(handshakePoint: message1.point)
        var state = self.state
        state.mixEphemeral(message1.point)
        if case .linked = pattern, let ownStatic { try state.mixShared(ownStatic, peer) }
        try state.openEmptyPayload(message1.tag)
        let point = Array(ephemeral.publicKey.x963Representation)
        state.mixEphemeral(point)
        try state.mixShared(ephemeral, peer)
        if case .qr = pattern, let clientKey { try state.mixShared(ephemeral, clientKey) }
        let message2 = HandshakeMessage(point: point, tag: try state.sealEmptyPayload())
        let keys = state.split()
        return HandshakeAnswer(
            message2: message2,
            keys: ChannelKeys(
                sending: keys.responderToInitiator,
                receiving: keys.initiatorToResponder,
                handshakeHash: HandshakeHash(checked: state.hash)
            )
        )
    }
}

/// The response to a verified message 1.
public struct HandshakeAnswer: ~Copyable, Sendable {
    /// Message 2, for the client.
    public let message2: HandshakeMessage
    /// Keys of the channel.
    public let keys: ChannelKeys

    /// Returns the keys of the channel, which can be used only once.
    ///
    /// Swift 6.2 crashes when another module consumes ``keys`` itself.
    public consuming func takeKeys() -> ChannelKeys { keys }
}
