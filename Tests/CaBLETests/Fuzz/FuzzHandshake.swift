// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridPrimitives
import TestSupport

@testable import HybridCaBLE

/// Tests that a handshake succeeds if and only if both messages arrive unmodified and both ends have the same secret,
/// keys and pattern.
///
/// Then both ends have the same channel.
func fuzzHandshake(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    let handshakeKeys = try handshakeKeys.get()
    let isLinked = choices.flag()
    let mistake = choices.pick([Mistake.none, .secret, .key, .pattern])
    let initiator = try handshakeKeys.initiator(isLinked)
    let sent1 = initiator.message1.bytes
    let arrived1 = Tampering.delivered(sent1, others: handshakeKeys.seen, &choices)
    let answer = try handshakeKeys.answer(arrived1, isLinked, mistake)
    let mayAnswer = try handshakeKeys.messages(for: isLinked, mistake).contains(arrived1)
    try invariant((answer != nil) == mayAnswer, "only an unmodified message of a legitimate client is answered")
    guard let answer else { return false }
    let arrived2 = Tampering.delivered(answer.message2, others: [sent1] + handshakeKeys.seen, &choices)
    let finished = try HandshakeResult.finish(initiator, arrived2)
    let mayFinish = arrived1 == sent1 && arrived2 == answer.message2
    try invariant((finished != nil) == mayFinish, "only an unmodified response to the same message is accepted")
    guard let finished else { return false }
    try invariant(finished.sending == answer.agreed.receiving, "both ends have the same traffic keys")
    try invariant(finished.receiving == answer.agreed.sending, "both ends have the same traffic keys")
    try invariant(finished.sending != finished.receiving, "each direction has its own key")
    try invariant(finished.hash == answer.agreed.hash, "both ends have the same handshake hash")
    return true
}

private enum Mistake: Equatable {
    case none
    case secret
    case key
    case pattern
}

/// The result of a handshake.
private struct HandshakeResult {
    let sending: SymmetricKey
    let receiving: SymmetricKey
    let hash: HandshakeHash

    init(_ keys: borrowing ChannelKeys) {
        (sending, receiving, hash) = (keys.sending, keys.receiving, keys.handshakeHash)
    }

    static func finish(_ handshake: consuming InitiatorHandshake, _ bytes: [UInt8]) throws -> HandshakeResult? {
        guard let message = HandshakeMessage(bytes: bytes) else {
            try invariant(bytes.count != HandshakeMessage.length, "a message has 81 bytes")
            return nil
        }
        do throws(HandshakeError) {
            return HandshakeResult(try handshake.finish(message))
        } catch {
            try invariant(error != .outOfOrder, "steps are in order")
            return nil
        }
    }
}

/// Created once, because key generation dominates the running time.
private let handshakeKeys = Result { try HandshakeKeys() }

/// The keys of both ends, which are the same in every run.
private struct HandshakeKeys {
    private let client: P256.KeyAgreement.PrivateKey
    private let phone: P256.KeyAgreement.PrivateKey
    private let outsider: P256.KeyAgreement.PrivateKey
    private let clientEphemeral: P256.KeyAgreement.PrivateKey
    private let phoneEphemeral: P256.KeyAgreement.PrivateKey
    private let secret: PSK
    private let otherSecret: PSK
    /// Messages of other handshakes between the same ends and with another one.
    private(set) var seen: [[UInt8]] = []
    /// The first message of a client with the other secret.
    private let other: [UInt8]

    init() throws {
        func key(_ byte: UInt8) throws -> P256.KeyAgreement.PrivateKey {
            try P256.KeyAgreement.PrivateKey(rawRepresentation: [UInt8](repeating: byte, count: 32))
        }
        (client, phone, outsider) = (try key(1), try key(2), try key(3))
        (clientEphemeral, phoneEphemeral) = (try key(4), try key(5))
        secret = try present(PSK(bytes: [UInt8](repeating: 6, count: 32)), "32 bytes are a secret")
        otherSecret = try present(PSK(bytes: [UInt8](repeating: 7, count: 32)), "32 bytes are a secret")
        other = try InitiatorHandshake(clientKey: client, psk: otherSecret, ephemeral: outsider).message1.bytes
        let responder = ResponderHandshake(clientKey: client.publicKey, psk: otherSecret, ephemeral: phoneEphemeral)
        let answer = try present(try Self.answer(responder, other), "the other handshake succeeds")
        seen = [
            try initiator(false).message1.bytes, try initiator(true).message1.bytes, other, answer.message2,
        ]
    }

    func initiator(_ isLinked: Bool) throws -> InitiatorHandshake {
        isLinked
            ? try InitiatorHandshake(authenticatorKey: phone.publicKey, psk: secret, ephemeral: clientEphemeral)
            : try InitiatorHandshake(clientKey: client, psk: secret, ephemeral: clientEphemeral)
    }

    /// Returns the first messages of clients with the same secret and pattern as this authenticator.
    func messages(for isLinked: Bool, _ mistake: Mistake) throws -> [[UInt8]] {
        switch mistake {
        case .none: [try initiator(isLinked).message1.bytes]
        case .pattern: [try initiator(!isLinked).message1.bytes]
        case .secret: isLinked ? [] : [other]
        case .key: []
        }
    }

    /// Returns the authenticator's response, if any.
    func answer(
        _ bytes: [UInt8],
        _ isLinked: Bool,
        _ mistake: Mistake
    ) throws -> (message2: [UInt8], agreed: HandshakeResult)? {
        let psk = mistake == .secret ? otherSecret : secret
        let responder: ResponderHandshake
        if isLinked != (mistake == .pattern) {
            let own = mistake == .key ? outsider : phone
            responder = ResponderHandshake(authenticatorKey: own, psk: psk, ephemeral: phoneEphemeral)
        } else {
            let known = mistake == .key ? outsider.publicKey : client.publicKey
            responder = ResponderHandshake(clientKey: known, psk: psk, ephemeral: phoneEphemeral)
        }
        return try Self.answer(responder, bytes)
    }

    private static func answer(
        _ responder: consuming ResponderHandshake,
        _ bytes: [UInt8]
    ) throws -> (message2: [UInt8], agreed: HandshakeResult)? {
        guard let message = HandshakeMessage(bytes: bytes) else {
            try invariant(bytes.count != HandshakeMessage.length, "a message has 81 bytes")
            return nil
        }
        do throws(HandshakeError) {
            let answer = try responder.answer(message)
            return (answer.message2.bytes, HandshakeResult(answer.keys))
        } catch {
            try invariant(error != .outOfOrder, "steps are in order")
            return nil
        }
    }
}
