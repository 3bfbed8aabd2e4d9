// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The two traffic keys of a completed handshake.
///
/// Neither this type nor ``ChannelCrypter`` can be copied. Each key has exactly one counter, so a nonce cannot be
/// reused by mistake.
public struct ChannelKeys: ~Copyable, Sendable {
    let sending: SymmetricKey
    let receiving: SymmetricKey
    /// The handshake hash, which identifies this session in signatures (channel binding).
    public let handshakeHash: HandshakeHash

    init(sending: SymmetricKey, receiving: SymmetricKey, handshakeHash: HandshakeHash) {
        self.sending = sending
        self.receiving = receiving
        self.handshakeHash = handshakeHash
    }

    /// Returns both directions of the channel; their counters start at zero.
    public consuming func open() -> ChannelCrypter {
        ChannelCrypter(sealer: FrameSealer(key: sending), opener: FrameOpener(key: receiving))
    }
}

/// Both directions of an encrypted channel.
///
/// The type is frozen so that other modules can consume its two parts separately.
@frozen public struct ChannelCrypter: ~Copyable, Sendable {
    /// Encrypts outgoing messages.
    public var sealer: FrameSealer
    /// Decrypts incoming messages.
    public var opener: FrameOpener
}
