// SPDX-License-Identifier: Apache-2.0

import SSHTestSupport
import Testing

@testable import HybridSSHAgent

@Suite("Restricted connections")
struct RestrictedTests {
    let passkey: TestPasskey
    let server = TestServer()
    let session = TestServer.session(1)
    var state: AgentState
    var client = TestClient(isRestricted: true)

    init() throws {
        passkey = try TestPasskey()
        state = AgentState(keys: [try passkey.agentKey()])
    }

    private func hostBound() throws -> [UInt8] { try passkey.sign(try passkey.login(session, hostKey: server.blob)) }

    @Test("A login without a binding is refused")
    mutating func unbound() throws {
        for sign in [try passkey.sign(try passkey.login(session)), try hostBound()] {
            #expect(try client.send(sign, to: &state).refusal == .notBound)
        }
    }

    @Test("A login that does not name the server is refused")
    mutating func plain() throws {
        let action = try client.send(server.bind(session), passkey.sign(passkey.login(session)), to: &state)
        #expect(action.refusal == .notHostBound)
    }

    @Test("A bound login counts as forwarded, with or without the hop's binding")
    mutating func login() throws {
        let direct = try #require(try client.send(server.bind(session), hostBound(), to: &state).request)
        #expect(direct.isForwarded && direct.purpose.via == [])
        let hop = TestServer()
        let binding = try hop.bind(TestServer.session(2), isForwarded: true)
        for isRestricted in [false, true] {
            var client = TestClient(isRestricted: isRestricted)
            let request = try #require(try client.send(binding, server.bind(session), hostBound(), to: &state).request)
            let key = try hop.hostKey
            #expect(request.isForwarded && request.purpose.via == [key])
        }
        var local = TestClient()
        #expect(try local.send(server.bind(session), hostBound(), to: &state).request?.isForwarded == false)
    }

    @Test("A message is refused unless the key allows it")
    mutating func message() throws {
        let sign = try passkey.sign(messageData())
        #expect(try client.send(sign, to: &state).refusal == .forwardedMessage)
        #expect(try client.send(server.bind(session), sign, to: &state).refusal == .forwardedMessage)
        state.keys = [try passkey.agentKey(allowsForwardedMessages: true)]
        for binding in [[], [try server.bind(session)]] {
            var client = TestClient(isRestricted: true)
            for message in binding { _ = try client.send(message, to: &state) }
            #expect(try client.send(sign, to: &state).request?.isForwarded == true)
        }
    }

    @Test("It can neither lock nor unlock the agent")
    mutating func lock() throws {
        let (lock, unlock) = ([22] + Wire.string("secret"), [23] + Wire.string("secret"))
        #expect(try client.send(lock, to: &state).type == 5 && !state.lock.isLocked)
        var local = TestClient()
        #expect(try local.send(lock, to: &state).type == 6)
        #expect(try client.send(unlock, to: &state).type == 5 && state.lock.isLocked)
        #expect(try client.send(server.bind(session), hostBound(), to: &state).refusal == .locked)
    }
}
