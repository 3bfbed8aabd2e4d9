// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The two traffic keys of a finished handshake, handed on once.
///
/// It can't be copied, and neither can what it turns into: a key with its counter exists once, so a nonce
/// can't be used twice by accident.
public struct ChannelKeys: ~Copyable, Sendable {
    let sending: SymmetricKey
    let receiving: SymmetricKey
    /// The channel binding.
    public let handshakeHash: HandshakeHash

    init(sending: SymmetricKey, receiving: SymmetricKey, handshakeHash: HandshakeHash) {
        self.sending = sending
        self.receiving = receiving
        self.handshakeHash = handshakeHash
    }

    /// The two directions of the channel, both at counter zero.
    public consuming func open() -> ChannelCrypter {
        ChannelCrypter(sealer: FrameSealer(key: sending), opener: FrameOpener(key: receiving))
    }
}

/// Both directions of an encrypted channel.
///
/// Frozen, because only then may another module take the two apart.
@frozen public struct ChannelCrypter: ~Copyable, Sendable {
    /// What we send.
    public var sealer: FrameSealer
    /// What we receive.
    public var opener: FrameOpener
}
