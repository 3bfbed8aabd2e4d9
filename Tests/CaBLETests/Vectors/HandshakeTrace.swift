// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCaBLE

extension HandshakeVectors {
    /// Checks hash, chaining key and key after every step of the client.
    static func trace(_ vector: JSONValue) throws {
        let linked = vector["link_secret"] != nil
        var state = SymmetricState(
            protocolName: linked ? "Noise_NKpsk0_P256_AESGCM_SHA256" : "Noise_KNpsk0_P256_AESGCM_SHA256"
        )
        let steps = try vector.list("initiator_trace")
        #expect(steps.count == 10)
        for step in steps {
            let name = try step.text("step")
            try take(name, vector, linked: linked, &state)
            let comment = Comment(rawValue: "\(try vector.text("name")), \(name)")
            #expect(state.hash == (try step.hex("h")), comment)
            #expect(state.chainingKey.testBytes == (try step.hex("ck")), comment)
            if name.hasPrefix("tag") {
                #expect(state.key == nil, "a key is gone once used; \(comment)")
            } else {
                #expect(state.key?.testBytes == (try step["k"].map { _ in try step.hex("k") }), comment)
            }
        }
        let keys = state.split()
        #expect(keys.initiatorToResponder.testBytes == (try vector.hex("initiator_to_responder")))
        #expect(keys.responderToInitiator.testBytes == (try vector.hex("responder_to_initiator")))
    }

    private static func take(_ step: String, _ vector: JSONValue, linked: Bool, _ state: inout SymmetricState) throws {
        let message1 = try #require(HandshakeMessage(bytes: vector.hex("msg1")))
        let message2 = try #require(HandshakeMessage(bytes: vector.hex("msg2")))
        let ephemeral = try key(vector, "initiator_ephemeral_scalar")
        let staticName = linked ? "authenticator_static" : "client_static"
        let staticKey = try key(vector, staticName + "_scalar")
        let peer = try P256.KeyAgreement.PublicKey(handshakePoint: message2.point)
        switch step {
        case "init": break
        case "prologue": state.mixHash(try vector.hex("prologue"))
        case "pre-message static": state.mixHash(try vector.hex(staticName + "_pub65"))
        case "psk":
            state.mixKeyAndHash(try makePSK(vector).key)
            let pattern = linked ? HandshakePattern.linked : .qr(.signIn)
            #expect(pattern.start(staticKey: staticKey.publicKey, psk: try makePSK(vector)).hash == state.hash)
        case "e (initiator)": state.mixEphemeral(ephemeral.point)
        case "es": try state.mixShared(ephemeral, staticKey.publicKey)
        case "tag1": #expect(try state.sealEmptyPayload() == message1.tag)
        case "e (responder)": state.mixEphemeral(message2.point)
        case "ee": try state.mixShared(ephemeral, peer)
        case "se": try state.mixShared(staticKey, peer)
        case "tag2": try state.openEmptyPayload(message2.tag)
        default: Issue.record("an unknown step: \(step)")
        }
    }
}
