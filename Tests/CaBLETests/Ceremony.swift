// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridPrimitives
import TestSupport

@testable import HybridCaBLE

extension SymmetricKey {
    /// The bytes of the key; for tests only.
    var testBytes: [UInt8] { withUnsafeBytes { Array($0) } }
}

extension P256.KeyAgreement.PrivateKey {
    /// Creates a key from a seeded generator, so that failures are reproducible.
    init(random: inout SeededGenerator) throws {
        // The first byte stays below that of the curve's order, and zero is too unlikely to matter.
        self = try P256.KeyAgreement.PrivateKey(rawRepresentation: [0x7F] + random.bytes(31))
    }

    var scalar: [UInt8] { Array(rawRepresentation) }
    var point: [UInt8] { Array(publicKey.x963Representation) }
}

/// The result of a handshake as comparable bytes.
struct HandshakeOutcome: Equatable {
    let sending: [UInt8]
    let receiving: [UInt8]
    let hash: [UInt8]

    init(_ keys: borrowing ChannelKeys) {
        sending = keys.sending.testBytes
        receiving = keys.receiving.testBytes
        hash = keys.handshakeHash.bytes
    }

    /// Finishes a client's handshake; a message of the wrong length is rejected like a wrong tag.
    static func finish(_ handshake: consuming InitiatorHandshake, _ message2: [UInt8]) throws -> HandshakeOutcome {
        guard let message = HandshakeMessage(bytes: message2) else { throw HandshakeError.notAuthentic }
        return HandshakeOutcome(try handshake.finish(message))
    }

    /// Responds to a client's first message.
    static func answer(
        _ handshake: consuming ResponderHandshake,
        _ message1: [UInt8]
    ) throws -> (message2: [UInt8], outcome: HandshakeOutcome) {
        guard let message = HandshakeMessage(bytes: message1) else { throw HandshakeError.notAuthentic }
        let answer = try handshake.answer(message)
        return (answer.message2.bytes, HandshakeOutcome(answer.keys))
    }
}

/// Random secrets of a client and an authenticator.
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

    /// Returns the first message.
    func message1(linked: Bool) throws -> [UInt8] { try initiator(linked: linked).message1.bytes }
}
