// SPDX-License-Identifier: Apache-2.0

import SSHTestSupport
import TestSupport
import Testing

@testable import HybridSSHAgent

@Suite("Bindings to sessions")
struct BindingTests {
    let passkey: TestPasskey
    let server = TestServer()
    let session = TestServer.session(1)
    var state: AgentState
    var client = TestClient()

    init() throws {
        passkey = try TestPasskey()
        state = AgentState(keys: [try passkey.agentKey()])
    }

    private func hostBound(_ session: [UInt8], at server: TestServer) throws -> [UInt8] {
        try passkey.sign(try passkey.login(session, hostKey: server.blob))
    }

    @Test("A login on a bound connection names the verified server")
    mutating func boundLogin() throws {
        let action = try client.send(server.bind(session), hostBound(session, at: server), to: &state)
        let request = try #require(action.request)
        let user = try #require(SSHUserName(Array("ada".utf8)[...]))
        #expect(request.purpose == .login(user: user, host: try server.hostKey, via: []))
    }

    @Test("A login without the server's name is signed in the bound session")
    mutating func plainLogin() throws {
        let action = try client.send(server.bind(session), passkey.sign(passkey.login(session)), to: &state)
        guard case .login(_, let host, let via)? = action.request?.purpose else { throw SignedDataError.method }
        #expect(host == (try server.hostKey) && via == [])
    }

    @Test("Without a binding the server is unknown, even if the data names one")
    mutating func unboundLogin() throws {
        for data in [try passkey.login(session), try passkey.login(session, hostKey: server.blob)] {
            var client = TestClient()
            let action = try client.send(passkey.sign(data), to: &state)
            guard case .login(_, let host, let via)? = action.request?.purpose else { throw SignedDataError.method }
            #expect(host == nil && via == [])
        }
    }

    @Test("A login in another session than the last bound one is refused")
    mutating func otherSession() throws {
        let other = TestServer.session(2)
        _ = try client.send(server.bind(session), to: &state)
        for data in [try passkey.login(other), try passkey.login(other, hostKey: server.blob)] {
            #expect(try client.send(passkey.sign(data), to: &state).refusal == .otherSession)
        }
        // The session of a hop is not that of the login.
        var forwarded = TestClient()
        let hop = try server.bind(session, isForwarded: true)
        let action = try forwarded.send(hop, TestServer().bind(other), hostBound(session, at: server), to: &state)
        #expect(action.refusal == .otherSession)
    }

    @Test("A login in the session of another connection's binding is refused")
    mutating func stolenSession() throws {
        var other = TestClient()
        let stolen = TestServer.session(2)
        _ = try other.send(TestServer().bind(stolen), to: &state)
        _ = try client.send(server.bind(session), to: &state)
        #expect(try client.send(hostBound(stolen, at: server), to: &state).refusal == .otherSession)
    }

    @Test("A login at another server than the bound one is refused")
    mutating func otherHostKey() throws {
        let action = try client.send(server.bind(session), hostBound(session, at: TestServer()), to: &state)
        #expect(action.refusal == .otherHostKey)
    }

    @Test("A binding with a wrong signature is refused, and nothing is signed afterwards")
    mutating func wrongSignature() throws {
        let forged = try server.bind(session, signing: TestServer.session(2))
        #expect(try client.send(forged, to: &state).type == 28)
        #expect(try client.send([11], to: &state).type == 12)
        for data in [try passkey.login(session), try passkey.login(session, hostKey: server.blob), messageData()] {
            #expect(try client.send(passkey.sign(data), to: &state).refusal == .bindingFailed)
        }
        // A valid binding afterwards does not help.
        #expect(try client.send(server.bind(session), to: &state).type == 6)
        #expect(try client.send(hostBound(session, at: server), to: &state).refusal == .bindingFailed)
    }

    @Test("A signature with SHA-1 is refused with a reason of its own")
    mutating func sha1() throws {
        let signature = Wire.string("ssh-rsa") + Wire.string([1])
        let contents = Wire.string(server.blob) + Wire.string(session) + Wire.string(signature) + [0]
        let request = [27] + Wire.string("session-bind@openssh.com") + contents
        #expect(try client.send(request, to: &state).refusal == .binding(.sha1))
        #expect(try client.send(passkey.sign(passkey.login(session)), to: &state).refusal == .bindingFailed)
    }

    @Test("A binding with another server's signature is refused")
    mutating func foreignSignature() throws {
        let (own, other) = (try server.bind(session), try TestServer().bind(session))
        // The other server's signature under this server's key.
        let forged = own.prefix(own.count - 88) + other.suffix(88)
        #expect(try client.send(Array(forged), to: &state).refusal == .binding(.signature))
        #expect(try client.send(hostBound(session, at: server), to: &state).refusal == .bindingFailed)
    }

    @Test("A malformed binding counts as a failed one")
    mutating func malformedBinding() throws {
        let valid = try server.bind(session)
        for malformed in [valid + [0], Array(valid.dropLast()), Array(valid.dropLast()) + [2]] {
            var client = TestClient()
            let action = try client.send(malformed, to: &state)
            #expect(action.type == 28 && action.refusal == .binding(.malformed))
            #expect(try client.send(hostBound(session, at: server), to: &state).refusal == .bindingFailed)
        }
    }

    @Test("A connection that authenticates is not bound again")
    mutating func boundForAuthentication() throws {
        for again in [
            try server.bind(session), try server.bind(session, isForwarded: true),
            try TestServer().bind(TestServer.session(2)),
        ] {
            var client = TestClient()
            let action = try client.send(server.bind(session), again, to: &state)
            #expect(action.type == 28 && action.refusal == .binding(.boundForAuthentication))
            #expect(try client.send(hostBound(session, at: server), to: &state).refusal == .bindingFailed)
        }
    }

    @Test("A session is not bound with two host keys")
    mutating func twoHostKeys() throws {
        let first = try server.bind(session, isForwarded: true)
        let action = try client.send(first, TestServer().bind(session), to: &state)
        #expect(action.refusal == .binding(.otherHostKey))
    }

    @Test("A connection has at most 16 bindings; repetitions do not count")
    mutating func manyBindings() throws {
        for number in 1...16 as ClosedRange<UInt8> {
            let hop = try TestServer().bind(TestServer.session(number), isForwarded: true)
            #expect(try client.send(hop, hop, to: &state).type == 6)
        }
        let last = try TestServer().bind(TestServer.session(17))
        let action = try client.send(last, to: &state)
        #expect(action.type == 28 && action.refusal == .binding(.tooMany))
    }

    @Test("A forwarded login names the hops and must name the server")
    mutating func forwardedLogin() throws {
        let target = TestServer()
        let other = TestServer.session(2)
        let hop = try server.bind(session, isForwarded: true)
        _ = try client.send(hop, target.bind(other), to: &state)
        #expect(try client.send(passkey.sign(passkey.login(other)), to: &state).refusal == .notHostBound)
        let request = try #require(client.send(hostBound(other, at: target), to: &state).request)
        guard case .login(_, let host, let via) = request.purpose else { throw SignedDataError.method }
        let (targetKey, hopKey) = (try target.hostKey, try server.hostKey)
        #expect(host == targetKey && via == [hopKey])
    }

    @Test("A login in the session of a forwarding hop is refused")
    mutating func forwardingSession() throws {
        let hop = try server.bind(session, isForwarded: true)
        let action = try client.send(hop, hostBound(session, at: server), to: &state)
        #expect(action.refusal == .forwardingSession)
    }

    @Test("A message on a bound connection is refused unless the key allows it", arguments: [false, true])
    mutating func boundMessage(isForwarded: Bool) throws {
        let sign = try passkey.sign(messageData())
        let bind = try server.bind(session, isForwarded: isForwarded)
        #expect(try client.send(bind, sign, to: &state).refusal == .forwardedMessage)

        state.keys = [try passkey.agentKey(allowsForwardedMessages: true)]
        let request = try #require(client.send(sign, to: &state).request)
        let namespace = try #require(SignatureNamespace("git"))
        #expect(request.purpose == .message(namespace: namespace, via: [try server.hostKey]))
    }

    @Test("Recorded connections of ssh lead to the recorded purposes")
    func recordedConnections() throws {
        let recording = try Recording()
        var state = try recording.state()
        for login in try recording.logins + [Login(recording.json.value("unbound"))] {
            var client = TestClient()
            var last: AgentConnection.Action?
            for request in login.requests { last = try client.send(request, to: &state) }
            guard case .login(let user, let host?, let via)? = last?.request?.purpose else {
                Issue.record("\(login) is signed")
                continue
            }
            #expect(user.description == (try login.json.text("user")))
            #expect(via == [])
            if login.json["hostFingerprint"] != nil {
                #expect(host.fingerprint.description == (try login.json.text("hostFingerprint")))
            }
        }
        let forwarded = try recording.forwardedLogin
        var client = TestClient()
        var last: AgentConnection.Action?
        for request in forwarded.requests { last = try client.send(request, to: &state) }
        guard case .login(_, let host?, let via)? = last?.request?.purpose else { throw SignedDataError.method }
        let hops = (via + [host]).map { JSONValue.text($0.fingerprint.description) }
        #expect(hops == (try forwarded.json.list("hostFingerprints")))

        var messages = TestClient()
        for request in try recording.forwardedMessage { last = try messages.send(request, to: &state) }
        #expect(last?.refusal == .forwardedMessage)
    }

    @Test("The answers agree with those of OpenSSH's agent")
    func stockAgent() throws {
        let recording = try Recording()
        for conversation in try recording.json.list("stock") {
            let name = try conversation.text("name")
            var state = try recording.state()
            var connection = AgentConnection()
            var now = ContinuousClock.now
            for message in try conversation.list("messages") {
                try connection.receive(Wire.string(try message.hex("request")))
                let reply = try #require(connection.next(&state, at: now)?.reply, "\(name)")
                now = now.advanced(by: reply.delay)
                // OpenSSH's agent does not distinguish failures of extensions.
                let type = reply.bytes[4] == 28 ? 5 : Int(reply.bytes[4])
                #expect(type == (try message.number("type")), "\(name)")
                if type == 12 { #expect(Int(reply.bytes[8]) == (try message.number("keys")), "\(name)") }
            }
        }
    }
}
