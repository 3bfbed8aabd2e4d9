// SPDX-License-Identifier: Apache-2.0

import HybridSSHAgent
import SSHTestSupport
import Testing

@testable import HybridKeyService

@Suite("The purpose of a signature")
struct DescriptionTests {
    let passkey: TestPasskey
    let server = TestServer()
    var state: AgentState
    var client = TestClient()

    init() throws {
        passkey = try TestPasskey()
        state = AgentState(keys: [try passkey.agentKey(allowsForwardedMessages: true)])
    }

    @Test("A login names user, host key and key, and a host only if it is known")
    mutating func login() throws {
        let session = TestServer.session(1)
        let data = try passkey.sign(try passkey.login(session, hostKey: server.blob))
        let request = try #require(try client.send(server.bind(session), data, to: &state).request)
        let fingerprint = "\(try server.hostKey.fingerprint)"
        let unknown = SigningDescription(request, hostName: nil)
        #expect(unknown.text == #"log in as "ada", host key \#(fingerprint) (ssh key "phone")"#)
        let known = SigningDescription(request, hostName: "example.org")
        #expect(known.text == #"log in as "ada" on example.org, host key \#(fingerprint) (ssh key "phone")"#)
        let event =
            #"{"event":"request","operation":"ssh-login","user":"ada","host":"example.org","fingerprint":"\#(fingerprint)""#
            + #","key":"phone","rp_id":"key.example.org","forwarded":false,"timeout_ms":5000}"#
        #expect(known.event(timeout: .seconds(5)) == event)
    }

    @Test("Without a binding, the host is unknown and perhaps forwarded")
    mutating func unbound() throws {
        let data = try passkey.sign(try passkey.login(TestServer.session(1)))
        let request = try #require(try client.send(data, to: &state).request)
        let text = SigningDescription(request, hostName: nil).text
        #expect(text == #"log in as "ada", host unknown, perhaps forwarded (ssh key "phone")"#)
    }

    @Test("A message names its namespace, and the servers through which it came")
    mutating func message() throws {
        let data = try passkey.sign(messageData())
        let local = try #require(try client.send(data, to: &state).request)
        #expect(SigningDescription(local, hostName: nil).text == #"sign for git (ssh key "phone")"#)
        var other = TestClient()
        let bind = try server.bind(TestServer.session(1), isForwarded: true)
        let request = try #require(
            try other.send(bind, passkey.sign(messageData(namespace: "file")), to: &state).request
        )
        let description = SigningDescription(request, hostName: nil)
        let fingerprint = try server.hostKey.fingerprint
        #expect(description.text == #"sign for "file" (ssh key "phone"), forwarded through \#(fingerprint)"#)
        #expect(description.event(timeout: .seconds(5)).contains(#""namespace":"file""#))
        #expect(description.event(timeout: .seconds(5)).contains(#""forwarded":true"#))
    }
}
