// SPDX-License-Identifier: Apache-2.0

import Crypto

@testable import HybridCaBLE

/// A handshake succeeds exactly if each end got the other's message untouched and both mean the same secret, the
/// same keys and the same pattern; then both hold the same channel.
func fuzzHandshake(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    let meeting = try meeting.get()
    let isLinked = choices.flag()
    let mistake = choices.pick([Mistake.none, .secret, .key, .pattern])
    let initiator = try meeting.initiator(isLinked)
    let sent1 = initiator.message1.bytes
    let arrived1 = Tampering.delivered(sent1, others: meeting.seen, &choices)
    let answer = try meeting.answer(arrived1, isLinked, mistake)
    let mayAnswer = try meeting.messages(for: isLinked, mistake).contains(arrived1)
    try invariant((answer != nil) == mayAnswer, "only who knows all is answered, and only untouched")
    guard let answer else { return false }
    let arrived2 = Tampering.delivered(answer.message2, others: [sent1] + meeting.seen, &choices)
    let finished = try Agreed.finish(initiator, arrived2)
    let mayFinish = arrived1 == sent1 && arrived2 == answer.message2
    try invariant((finished != nil) == mayFinish, "only the answer to its own message is taken, untouched")
    guard let finished else { return false }
    try invariant(finished.sending == answer.agreed.receiving, "what one seals the other opens")
    try invariant(finished.receiving == answer.agreed.sending, "what one seals the other opens")
    try invariant(finished.sending != finished.receiving, "each direction has its key")
    try invariant(finished.hash == answer.agreed.hash, "both are bound to the same handshake")
    return true
}

private enum Mistake: Equatable {
    case none
    case secret
    case key
    case pattern
}

/// What a handshake leaves.
private struct Agreed {
    let sending: SymmetricKey
    let receiving: SymmetricKey
    let hash: HandshakeHash

    init(_ keys: borrowing ChannelKeys) {
        (sending, receiving, hash) = (keys.sending, keys.receiving, keys.handshakeHash)
    }

    static func finish(_ handshake: consuming InitiatorHandshake, _ bytes: [UInt8]) throws -> Agreed? {
        guard let message = HandshakeMessage(bytes: bytes) else {
            try invariant(bytes.count != HandshakeMessage.length, "a message has 81 bytes")
            return nil
        }
        do throws(HandshakeError) {
            return Agreed(try handshake.finish(message))
        } catch {
            try invariant(error != .outOfOrder, "no step is taken before another")
            return nil
        }
    }
}

/// Made once, since keys cost more than all the rest.
private let meeting = Result { try Meeting() }

/// The keys of two ends that met, the same in every run.
private struct Meeting {
    private let client: P256.KeyAgreement.PrivateKey
    private let phone: P256.KeyAgreement.PrivateKey
    private let stranger: P256.KeyAgreement.PrivateKey
    private let clientEphemeral: P256.KeyAgreement.PrivateKey
    private let phoneEphemeral: P256.KeyAgreement.PrivateKey
    private let secret: PSK
    private let otherSecret: PSK
    /// Messages of other handshakes between the same two, and of somebody else.
    private(set) var seen: [[UInt8]] = []
    /// The first message of a client whose secret is the other.
    private let other: [UInt8]

    init() throws {
        func key(_ byte: UInt8) throws -> P256.KeyAgreement.PrivateKey {
            try P256.KeyAgreement.PrivateKey(rawRepresentation: [UInt8](repeating: byte, count: 32))
        }
        (client, phone, stranger) = (try key(1), try key(2), try key(3))
        (clientEphemeral, phoneEphemeral) = (try key(4), try key(5))
        secret = try present(PSK(bytes: [UInt8](repeating: 6, count: 32)), "32 bytes are a secret")
        otherSecret = try present(PSK(bytes: [UInt8](repeating: 7, count: 32)), "32 bytes are a secret")
        other = try InitiatorHandshake(clientKey: client, psk: otherSecret, ephemeral: stranger).message1.bytes
        let responder = ResponderHandshake(clientKey: client.publicKey, psk: otherSecret, ephemeral: phoneEphemeral)
        let answer = try present(try Self.answer(responder, other), "another handshake succeeds")
        seen = [
            try initiator(false).message1.bytes, try initiator(true).message1.bytes, other, answer.message2,
        ]
    }

    func initiator(_ isLinked: Bool) throws -> InitiatorHandshake {
        isLinked
            ? try InitiatorHandshake(authenticatorKey: phone.publicKey, psk: secret, ephemeral: clientEphemeral)
            : try InitiatorHandshake(clientKey: client, psk: secret, ephemeral: clientEphemeral)
    }

    /// The first messages, among all there are, of clients that know what this phone does.
    func messages(for isLinked: Bool, _ mistake: Mistake) throws -> [[UInt8]] {
        switch mistake {
        case .none: [try initiator(isLinked).message1.bytes]
        case .pattern: [try initiator(!isLinked).message1.bytes]
        case .secret: isLinked ? [] : [other]
        case .key: []
        }
    }

    /// What the phone answers, if it does.
    func answer(
        _ bytes: [UInt8],
        _ isLinked: Bool,
        _ mistake: Mistake
    ) throws -> (message2: [UInt8], agreed: Agreed)? {
        let psk = mistake == .secret ? otherSecret : secret
        let responder: ResponderHandshake
        if isLinked != (mistake == .pattern) {
            let own = mistake == .key ? stranger : phone
            responder = ResponderHandshake(authenticatorKey: own, psk: psk, ephemeral: phoneEphemeral)
        } else {
            let known = mistake == .key ? stranger.publicKey : client.publicKey
            responder = ResponderHandshake(clientKey: known, psk: psk, ephemeral: phoneEphemeral)
        }
        return try Self.answer(responder, bytes)
    }

    private static func answer(
        _ responder: consuming ResponderHandshake,
        _ bytes: [UInt8]
    ) throws -> (message2: [UInt8], agreed: Agreed)? {
        guard let message = HandshakeMessage(bytes: bytes) else {
            try invariant(bytes.count != HandshakeMessage.length, "a message has 81 bytes")
            return nil
        }
        do throws(HandshakeError) {
            let answer = try responder.answer(message)
            return (answer.message2.bytes, Agreed(answer.keys))
        } catch {
            try invariant(error != .outOfOrder, "no step is taken before another")
            return nil
        }
    }
}
