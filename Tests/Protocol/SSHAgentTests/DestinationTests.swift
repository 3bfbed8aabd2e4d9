// SPDX-License-Identifier: Apache-2.0

import SSHTestSupport
import TestSupport
import Testing

@testable import HybridSSHAgent

@Suite("Permitted destinations")
struct DestinationTests {
    let passkey: TestPasskey
    let jump = TestServer()
    let target = TestServer()
    let first = TestServer.session(1)
    let second = TestServer.session(2)
    var state: AgentState
    var client = TestClient()

    init() throws {
        passkey = try TestPasskey()
        let (jumpKey, targetKey) = (try jump.hostKey.fingerprint, try target.hostKey.fingerprint)
        state = AgentState(keys: [
            try passkey.agentKey(destinations: [
                PermittedDestination(to: jumpKey),
                try #require(PermittedDestination("\(jumpKey)>ada@\(targetKey)")),
                try #require(PermittedDestination("\(jumpKey)>git@\(targetKey)")),
            ])
        ])
    }

    private func login(at server: TestServer, _ session: [UInt8], user: String = "ada") throws -> [UInt8] {
        try passkey.sign(try passkey.login(session, user: user, hostKey: server.blob))
    }

    /// The number of keys in an answer.
    private mutating func listed() throws -> UInt8? { try client.send([11], to: &state).reply?.bytes[8] }

    @Test("A permitted login is signed")
    mutating func permitted() throws {
        #expect(try client.send(jump.bind(first), login(at: jump, first), to: &state).request != nil)
    }

    @Test("A login at another host is refused, and the key hidden")
    mutating func otherHost() throws {
        _ = try client.send(target.bind(first), to: &state)
        #expect(try listed() == 0)
        #expect(try client.send(login(at: target, first), to: &state).refusal == .destination)
    }

    @Test("A login through a permitted hop is signed for permitted users only")
    mutating func forwarded() throws {
        _ = try client.send(jump.bind(first, isForwarded: true), to: &state)
        #expect(try listed() == 1)
        _ = try client.send(target.bind(second), to: &state)
        #expect(try listed() == 1)
        for user in ["root", "adas", "ad", "Ada"] {
            #expect(try client.send(login(at: target, second, user: user), to: &state).refusal == .destination)
        }
        #expect(try client.send(login(at: target, second), to: &state).request != nil)
    }

    @Test("A key is hidden beyond a hop from which nothing is permitted")
    mutating func beyondHop() throws {
        let third = TestServer()
        _ = try client.send(jump.bind(first, isForwarded: true), to: &state)
        _ = try client.send(target.bind(second, isForwarded: true), to: &state)
        #expect(try listed() == 0)
        let session = TestServer.session(3)
        #expect(try client.send(third.bind(session), login(at: third, session), to: &state).refusal == .destination)
    }

    @Test("A restricted key signs neither messages nor logins on connections without a binding")
    mutating func unbound() throws {
        #expect(try listed() == 1)
        #expect(try client.send(login(at: jump, first), to: &state).refusal == .destination)
        #expect(try client.send(passkey.sign(passkey.login(first)), to: &state).refusal == .destination)
        #expect(try client.send(passkey.sign(messageData()), to: &state).refusal == .destination)
    }

    @Test("A restricted connection does not count as this computer")
    mutating func restricted() throws {
        var direct = TestClient(isRestricted: true)
        #expect(try direct.send(jump.bind(first), login(at: jump, first), to: &state).refusal == .destination)
        var forwarded = TestClient(isRestricted: true)
        _ = try forwarded.send(jump.bind(first, isForwarded: true), to: &state)
        #expect(try forwarded.send(target.bind(second), login(at: target, second), to: &state).request != nil)
    }

    @Test("A destination survives its text, other texts are refused")
    func texts() throws {
        let (one, two) = (try jump.hostKey.fingerprint, try target.hostKey.fingerprint)
        let user = try #require(SSHUserName(Array("ada.l@corp".utf8)[...]))
        for destination in [
            PermittedDestination(to: one), PermittedDestination(from: one, to: two),
            PermittedDestination(as: user, to: one), PermittedDestination(from: two, as: user, to: one),
        ] {
            #expect(PermittedDestination("\(destination)") == destination)
        }
        let long = String(repeating: "a", count: PermittedDestination.maximumUserLength + 1)
        for text in [
            "", "example.org", "@\(one)", ">\(one)", "\(one)>", "\(one)>\(two)>\(one)", "a b@\(one)", "a,b@\(one)",
            "*@\(one)", "a>\(one)", "\(one)@", "\(one) ", "\(long)@\(one)", "ä@\(one)",
        ] {
            #expect(PermittedDestination(text) == nil, "\(text)")
        }
    }

    @Test("A certificate counts as its key")
    func certificate() throws {
        let recording = try Recording()
        let login = try #require(try recording.logins.first { "\($0)".hasPrefix("ssh-ed25519-cert") })
        let host = try #require(SSHFingerprint(try login.json.text("hostFingerprint")))
        var state = try recording.state(destinations: [PermittedDestination(to: host)])
        var client = TestClient()
        var last: AgentConnection.Action?
        for request in login.requests { last = try client.send(request, to: &state) }
        #expect(last?.request != nil)
    }
}
