// SPDX-License-Identifier: Apache-2.0

import Crypto
import TestSupport

@testable import HybridCaBLE

extension SymmetricKey {
    /// The key's bytes, which only tests may copy.
    var testBytes: [UInt8] { withUnsafeBytes { Array($0) } }
}

extension P256.KeyAgreement.PrivateKey {
    /// A key from a seeded sequence, so that a failure can be had again.
    init(random: inout SeededGenerator) throws {
        // The first byte stays below the curve order's, and zero is not drawn in this universe.
        self = try P256.KeyAgreement.PrivateKey(rawRepresentation: [0x7F] + random.bytes(31))
    }

    var scalar: [UInt8] { Array(rawRepresentation) }
    var point: [UInt8] { Array(publicKey.x963Representation) }
}

/// What a handshake leaves, as bytes that can be compared.
struct HandshakeOutcome: Equatable {
    let sending: [UInt8]
    let receiving: [UInt8]
    let hash: [UInt8]

    init(_ keys: borrowing ChannelKeys) {
        sending = keys.sending.testBytes
        receiving = keys.receiving.testBytes
        hash = keys.handshakeHash.bytes
    }

    /// Finishes a client's handshake; a message of a wrong length is refused like a wrong tag.
    static func finish(_ handshake: consuming InitiatorHandshake, _ message2: [UInt8]) throws -> HandshakeOutcome {
        guard let message = HandshakeMessage(bytes: message2) else { throw HandshakeError.notAuthentic }
        return HandshakeOutcome(try handshake.finish(message))
    }

    /// Answers a client's first message.
    static func answer(
        _ handshake: consuming ResponderHandshake,
        _ message1: [UInt8]
    ) throws -> (message2: [UInt8], outcome: HandshakeOutcome) {
        guard let message = HandshakeMessage(bytes: message1) else { throw HandshakeError.notAuthentic }
        let answer = try handshake.answer(message)
        return (answer.message2.bytes, HandshakeOutcome(answer.keys))
    }
}

/// All secrets of one drawn meeting.
struct Ceremony {
    let client: P256.KeyAgreement.PrivateKey
    let phone: P256.KeyAgreement.PrivateKey
    let clientEphemeral: P256.KeyAgreement.PrivateKey
    let phoneEphemeral: P256.KeyAgreement.PrivateKey
    let pskBytes: [UInt8]
    let psk: PSK

    init(using random: inout SeededGenerator) throws {
        client = try .init(random: &random)
        phone = try .init(random: &random)
        clientEphemeral = try .init(random: &random)
        phoneEphemeral = try .init(random: &random)
        pskBytes = random.bytes(32)
        psk = PSK(key: SymmetricKey(data: pskBytes))
    }

    func initiator(linked: Bool) throws -> InitiatorHandshake {
        if linked {
            return try InitiatorHandshake(authenticatorKey: phone.publicKey, psk: psk, ephemeral: clientEphemeral)
        }
        return try InitiatorHandshake(clientKey: client, psk: psk, ephemeral: clientEphemeral)
    }

    func responder(linked: Bool) -> ResponderHandshake {
        if linked {
            return ResponderHandshake(authenticatorKey: phone, psk: psk, ephemeral: phoneEphemeral)
        }
        return ResponderHandshake(clientKey: client.publicKey, psk: psk, ephemeral: phoneEphemeral)
    }

    /// The first message alone.
    func message1(linked: Bool) throws -> [UInt8] { try initiator(linked: linked).message1.bytes }
}
