// SPDX-License-Identifier: Apache-2.0

/// An independent implementation of both Noise handshakes in both roles.
struct OpenSSLOracleHandshake {
    /// The result of a handshake.
    struct Channel {
        let toResponder: [UInt8]
        let toInitiator: [UInt8]
        let hash: [UInt8]
    }

    private var h: [UInt8]
    private var ck: [UInt8]
    private var k: [UInt8] = []

    private init(_ pattern: String, prologue: UInt8, staticPoint: [UInt8], psk: [UInt8]) throws {
        h = Array("Noise_\(pattern)_P256_AESGCM_SHA256".utf8) + [0]
        ck = h
        try mixHash([prologue])
        try mixHash(staticPoint)
        let output = try OpenSSLOracle.hkdf(psk, salt: ck, info: [], length: 96)
        ck = Array(output[0..<32])
        try mixHash(Array(output[32..<64]))
        k = Array(output[64..<96])
    }

    private mutating func mixHash(_ data: [UInt8]) throws { h = try OpenSSLOracle.sha256(h + data) }

    private mutating func mixKey(_ material: [UInt8]) throws {
        let output = try OpenSSLOracle.hkdf(material, salt: ck, info: [], length: 64)
        (ck, k) = (Array(output[..<32]), Array(output[32...]))
    }

    private mutating func mixPoint(_ point: [UInt8]) throws {
        try mixHash(point)
        try mixKey(point)
    }

    private mutating func writeTag() throws -> [UInt8] {
        let tag = try OpenSSLOracle.seal([], key: k, nonce: [UInt8](repeating: 0, count: 12), binding: h)
        try mixHash(tag)
        return tag
    }

    private mutating func readTag(_ tag: [UInt8]) throws {
        _ = try OpenSSLOracle.open(tag, key: k, nonce: [UInt8](repeating: 0, count: 12), binding: h)
        try mixHash(tag)
    }

    private func split() throws -> Channel {
        let output = try OpenSSLOracle.hkdf([], salt: ck, info: [], length: 64)
        return Channel(toResponder: Array(output[..<32]), toInitiator: Array(output[32...]), hash: h)
    }

    // MARK: - Initiator

    /// A client that waits for message 2.
    struct Initiator {
        let message1: [UInt8]
        fileprivate var state: OpenSSLOracleHandshake
        fileprivate let ephemeral: [UInt8]
        fileprivate let ownStatic: [UInt8]?

        func finish(_ message2: [UInt8]) throws -> Channel {
            var state = state
            let point = Array(message2.prefix(65))
            try state.mixPoint(point)
            try state.mixKey(OpenSSLOracle.sharedX(ephemeral, point))
            if let ownStatic { try state.mixKey(OpenSSLOracle.sharedX(ownStatic, point)) }
            try state.readTag(Array(message2.dropFirst(65)))
            return try state.split()
        }
    }

    /// KNpsk0: the client's static key is that of the QR code.
    static func initiator(clientStatic: [UInt8], psk: [UInt8], ephemeral: [UInt8]) throws -> Initiator {
        let own = try OpenSSLOracle.publicPoint(clientStatic)
        var state = try OpenSSLOracleHandshake("KNpsk0", prologue: 1, staticPoint: own, psk: psk)
        let point = try OpenSSLOracle.publicPoint(ephemeral)
        try state.mixPoint(point)
        let message = point + (try state.writeTag())
        return Initiator(message1: message, state: state, ephemeral: ephemeral, ownStatic: clientStatic)
    }

    /// NKpsk0: the authenticator's static key is known from linking information.
    static func initiator(phoneStatic: [UInt8], psk: [UInt8], ephemeral: [UInt8]) throws -> Initiator {
        var state = try OpenSSLOracleHandshake("NKpsk0", prologue: 0, staticPoint: phoneStatic, psk: psk)
        let point = try OpenSSLOracle.publicPoint(ephemeral)
        try state.mixPoint(point)
        try state.mixKey(OpenSSLOracle.sharedX(ephemeral, phoneStatic))
        let message = point + (try state.writeTag())
        return Initiator(message1: message, state: state, ephemeral: ephemeral, ownStatic: nil)
    }

    // MARK: - Responder

    /// KNpsk0 in the authenticator's role.
    static func answer(
        _ message1: [UInt8],
        clientStatic: [UInt8],
        psk: [UInt8],
        ephemeral: [UInt8]
    ) throws -> (message2: [UInt8], channel: Channel) {
        var state = try OpenSSLOracleHandshake("KNpsk0", prologue: 1, staticPoint: clientStatic, psk: psk)
        let peer = Array(message1.prefix(65))
        try state.mixPoint(peer)
        try state.readTag(Array(message1.dropFirst(65)))
        let point = try OpenSSLOracle.publicPoint(ephemeral)
        try state.mixPoint(point)
        try state.mixKey(OpenSSLOracle.sharedX(ephemeral, peer))
        try state.mixKey(OpenSSLOracle.sharedX(ephemeral, clientStatic))
        let message = point + (try state.writeTag())
        return (message, try state.split())
    }

    /// NKpsk0 in the authenticator's role, with its static key as a scalar.
    static func answer(
        _ message1: [UInt8],
        phoneStatic: [UInt8],
        psk: [UInt8],
        ephemeral: [UInt8]
    ) throws -> (message2: [UInt8], channel: Channel) {
        let own = try OpenSSLOracle.publicPoint(phoneStatic)
        var state = try OpenSSLOracleHandshake("NKpsk0", prologue: 0, staticPoint: own, psk: psk)
        let peer = Array(message1.prefix(65))
        try state.mixPoint(peer)
        try state.mixKey(OpenSSLOracle.sharedX(phoneStatic, peer))
        try state.readTag(Array(message1.dropFirst(65)))
        let point = try OpenSSLOracle.publicPoint(ephemeral)
        try state.mixPoint(point)
        try state.mixKey(OpenSSLOracle.sharedX(ephemeral, peer))
        let message = point + (try state.writeTag())
        return (message, try state.split())
    }
}
