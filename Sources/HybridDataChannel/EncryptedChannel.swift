// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE

/// The secret channel over a message channel, after the handshake.
///
/// One task sends and one receives; the two may be different tasks.
public actor EncryptedChannel {
    private let transport: any MessageChannel
    private var crypter: ChannelCrypter
    /// Whether a sealed message may not have gone out: the other end counts, and could open none that comes after it.
    private var isBrokenOff = false

    /// A channel that takes over the keys of a handshake.
    public init(over transport: any MessageChannel, keys: consuming ChannelKeys) {
        self.transport = transport
        self.crypter = keys.open()
    }

    /// Seals and sends the phone's first message, which has no type byte.
    ///
    /// - Throws: ``TunnelError``, `FrameError`, `CancellationError`.
    public func send(_ message: PostHandshakeMessage) async throws {
        try await sendPlaintext(message.encoded)
    }

    /// Seals and sends a message.
    ///
    /// Where that fails, or is broken off, nothing more is sent.
    ///
    /// - Throws: ``TunnelError``, `FrameError`, `CancellationError`.
    public func send(_ message: ChannelMessage) async throws {
        try await sendPlaintext(message.encoded)
    }

    /// Receives and opens the phone's first message.
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
        // What is sealed is counted, so a task that is not to send any more stops before: the goodbye that another task
        // sends then can be opened.
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
