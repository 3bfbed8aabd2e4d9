// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE

/// An encrypted channel on top of a message channel, used after the handshake.
///
/// At most one task sends at a time, and at most one receives; they can be different tasks.
public actor EncryptedChannel {
    private let transport: any MessageChannel
    private var crypter: ChannelCrypter
    /// True if sending a sealed message failed.
    ///
    /// The peer counts messages, so it could not open any that follow.
    private var isBrokenOff = false

    /// Creates a channel with the keys of a handshake, which it consumes.
    public init(over transport: any MessageChannel, keys: consuming ChannelKeys) {
        self.transport = transport
        self.crypter = keys.open()
    }

    /// Seals and sends the authenticator's first message, which has no type byte.
    ///
    /// - Throws: ``TunnelError``, `FrameError`, `CancellationError`.
    public func send(_ message: PostHandshakeMessage) async throws {
        try await sendPlaintext(message.encoded)
    }

    /// Seals and sends a message; after a failure or a cancellation, no further message is sent.
    ///
    /// - Throws: ``TunnelError``, `FrameError`, `CancellationError`.
    public func send(_ message: ChannelMessage) async throws {
        try await sendPlaintext(message.encoded)
    }

    /// Receives and opens the authenticator's first message.
    ///
    /// - Throws: ``TunnelError``, `PostHandshakeMessage.ParseError`.
    public func receivePostHandshake() async throws -> PostHandshakeMessage {
        try PostHandshakeMessage(parsing: try await receivePlaintext())
    }

    /// Receives and opens the next message.
    ///
    /// - Throws: ``TunnelError``, `ChannelMessage.ParseError`.
    public func receive() async throws -> ChannelMessage {
        try ChannelMessage(parsing: try await receivePlaintext())
    }

    private func sendPlaintext(_ plaintext: [UInt8]) async throws {
        // Sealing advances the counter. A canceled task stops before that, so that the peer can still open the shutdown
        // message of another task.
        try Task.checkCancellation()
        guard !isBrokenOff else { throw TunnelError.connectionLost }
        let frame = try crypter.sealer.seal(plaintext)
        do {
            try await transport.send(WireMessage(bytes: frame.bytes))
        } catch {
            isBrokenOff = true
            throw error
        }
    }

    private func receivePlaintext() async throws -> [UInt8] {
        let trial = crypter.opener.next
        let plaintext = try await transport.receive { candidate in
            try? trial.open(Frame(bytes: candidate.bytes))
        }
        crypter.opener.accept(trial)
        return plaintext
    }
}
