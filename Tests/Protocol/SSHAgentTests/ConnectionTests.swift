// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import SSHTestSupport
import Testing

@testable import HybridSSHAgent

@Suite("Connections")
struct ConnectionTests {
    let passkey: TestPasskey
    var state: AgentState
    var client = TestClient()

    init() throws {
        passkey = try TestPasskey()
        state = AgentState(keys: [try passkey.agentKey()])
    }

    @Test("Keys are listed with their names")
    mutating func identities() throws {
        let reply = try #require(client.send([11], to: &state).reply)
        let body = Wire.string(try passkey.publicKey.encoded) + Wire.string("phone")
        #expect(reply.bytes == Wire.string([12, 0, 0, 0, 1] + body))
        #expect(reply.refusal == nil && reply.delay == .zero)
    }

    @Test("A sign request is answered with the signature")
    mutating func signature() throws {
        let data = messageData()
        let request = try #require(client.send(passkey.sign(data), to: &state).request)
        #expect(request.data.bytes == data)
        let (authenticatorData, der) = try passkey.assertion(data)
        let signature = try SSHSignature(
            derSignature: der,
            authenticatorData: authenticatorData,
            by: request.key.publicKey,
            over: request.data
        )
        let reply = client.connection.complete(request.id, with: signature)
        #expect(reply?.bytes == Wire.string([14] + Wire.string(signature.encoded)))
        #expect(client.connection.complete(request.id, with: signature) == nil, "it is answered once")
    }

    @Test("A signature that was not made is answered with a failure")
    mutating func declined() throws {
        let request = try #require(client.send(passkey.sign(messageData()), to: &state).request)
        let reply = client.connection.complete(request.id, with: nil)
        #expect(reply?.bytes == [0, 0, 0, 1, 5] && reply?.refusal == .notSigned)
    }

    @Test("Requests wait while a signature is pending, and the answers stay in order")
    mutating func order() throws {
        let request = try #require(client.send(passkey.sign(messageData()), to: &state).request)
        try client.connection.receive(Wire.string([11]) + Wire.string(try passkey.sign(messageData())))
        #expect(try client.connection.next(&state, at: client.now) == nil)
        #expect(client.connection.complete(request.id, with: nil) != nil)
        #expect(try client.connection.next(&state, at: client.now)?.type == 12)
        let second = try #require(client.connection.next(&state, at: client.now)?.request)
        #expect(second.id != request.id)
        #expect(client.connection.complete(request.id, with: nil) == nil, "the first request is over")
        #expect(client.connection.complete(second.id, with: nil) != nil)
    }

    @Test("A client that sends more than a message during a pending signature exceeds the capacity")
    mutating func flood() throws {
        _ = try client.send(passkey.sign(messageData()), to: &state)
        let stream = [[UInt8]](repeating: Wire.string([11]), count: 60_000).flatMap(\.self)
        let room = client.connection.capacity
        try client.connection.receive(stream.prefix(room))
        #expect(client.connection.capacity == 0)
        #expect(throws: AgentProtocolError.tooMuchData) { try client.connection.receive(stream.suffix(1)) }
    }

    @Test("A client that leaves ends its pending request")
    mutating func leaving() throws {
        let request = try #require(client.send(passkey.sign(messageData()), to: &state).request)
        #expect(client.connection.close() == request.id)
        #expect(client.connection.close() == nil)
        #expect(client.connection.complete(request.id, with: nil) == nil)
        try client.connection.receive(Wire.string([11]))
        #expect(try client.connection.next(&state, at: client.now) == nil)
    }

    @Test("The signature of another request is not an answer")
    mutating func otherSignature() throws {
        let data = messageData(namespace: "file")
        let (authenticatorData, der) = try passkey.assertion(data)
        let key = try passkey.publicKey
        let signature = try SSHSignature(
            derSignature: der,
            authenticatorData: authenticatorData,
            by: key,
            over: try SignedData(parsing: data, for: key)
        )
        let request = try #require(client.send(passkey.sign(messageData()), to: &state).request)
        #expect(client.connection.complete(request.id, with: signature)?.refusal == .notSigned)
    }

    @Test("A request of one connection is not answered on another")
    mutating func otherConnection() throws {
        let request = try #require(client.send(passkey.sign(messageData()), to: &state).request)
        var other = TestClient()
        #expect(other.connection.complete(request.id, with: nil) == nil)
    }

    @Test("Unknown keys and flags of RSA signatures are refused")
    mutating func keysAndFlags() throws {
        let other = try TestPasskey()
        #expect(try client.send(other.sign(messageData()), to: &state).refusal == .unknownKey)
        for flags in [1, 2, 4, 0x80] as [UInt8] {
            #expect(try client.send(passkey.sign(messageData(), flags: flags), to: &state).refusal == .signatureFlags)
        }
    }

    @Test("Client data of a website, data with trailing bytes and logins with another key are refused")
    mutating func otherData() throws {
        let clientData =
            #"{"type":"webauthn.get","challenge":"AAAA","origin":"https://key.example.org","crossOrigin":false}"#
        #expect(try client.send(passkey.sign(Array(clientData.utf8)), to: &state).refusal == .data(.unrecognized))
        let session = TestServer.session(1)
        let login = try passkey.login(session)
        for data in [login, try passkey.login(session, hostKey: TestServer().blob), messageData()] {
            let action = try client.send(passkey.sign(data + [0]), to: &state)
            #expect(action.refusal == .data(.format(.trailingBytes)))
        }
        let foreign = try TestPasskey().login(session)
        #expect(try client.send(passkey.sign(foreign), to: &state).refusal == .data(.foreignKey))
    }

    @Test("At most 64 keys are offered")
    mutating func manyKeys() throws {
        let keys = try (0..<65).map { _ in try TestPasskey() }
        state.keys = try keys.map { try $0.agentKey() }
        #expect(try client.send([11], to: &state).reply?.bytes[4..<9] == [12, 0, 0, 0, 64])
        #expect(try client.send(keys[64].sign(messageData()), to: &state).refusal == .unknownKey)
        #expect(try client.send(keys[63].sign(messageData()), to: &state).request != nil)
    }

    @Test("Prompts show names as quoted, bounded text")
    mutating func shownTexts() throws {
        let user = "ada\"<b>" + String(repeating: "x", count: 200)
        let sign = try passkey.sign(try passkey.login(TestServer.session(1), user: user))
        let request = try #require(client.send(sign, to: &state).request)
        let shown = request.shownSubject.description
        #expect(shown.hasPrefix("\"ada'bxxx") && shown.hasSuffix("x\u{2026}\""))
        #expect(shown.unicodeScalars.count == 66)
        #expect(request.shownKeyName.description == "\"phone\"")
    }
}
