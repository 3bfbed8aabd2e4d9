// SPDX-License-Identifier: Apache-2.0

import SSHTestSupport
import Testing

@testable import HybridKeyService
@testable import HybridSSHAgent

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

    @Test("Weak host keys are called weak, of the server and of the hosts on the way")
    mutating func weak() throws {
        let session = TestServer.session(1)
        let data = try passkey.sign(try passkey.login(session, hostKey: server.blob))
        let strong = try #require(try client.send(server.bind(session), data, to: &state).request)
        let modulus = [UInt8](repeating: 0xC5, count: 128)
        let weak = try HostKey(
            parsing: Wire.string("ssh-rsa") + Wire.string([1, 0, 1]) + Wire.string([0] + modulus)
        )
        let user = try #require(SSHUserName(Array("ada".utf8)[...]))
        func description(_ host: HostKey, via: HostKey) -> SigningDescription {
            let request = SignRequest(
                id: strong.id,
                key: strong.key,
                data: strong.data,
                purpose: .login(user: user, host: host, via: [via]),
                isForwarded: true
            )
            return SigningDescription(request, hostName: nil)
        }
        let known = try server.hostKey
        let atWeak = description(weak, via: known)
        let start = #"log in as "ada", weak host key \#(weak.fingerprint) (ssh key "phone")"#
        #expect(atWeak.text == "\(start), forwarded through \(known.fingerprint)")
        let member = #""fingerprint":"\#(weak.fingerprint)","weak":true,"#
        #expect(atWeak.event(timeout: .seconds(5)).contains(member))
        let throughWeak = description(known, via: weak)
        #expect(throughWeak.text.contains("\", host key \(known.fingerprint)"))
        #expect(throughWeak.text.hasSuffix(", forwarded through weak \(weak.fingerprint)"))
        #expect(!throughWeak.event(timeout: .seconds(5)).contains("weak"))
    }

    @Test("A login with a certificate names its authority and principals")
    mutating func certificate() throws {
        let authority = Wire.string("ssh-ed25519") + Wire.string([UInt8](repeating: 1, count: 32))
        let principals = ["root", "a\u{202E}\"b", String(repeating: "x", count: 90), String(repeating: "y", count: 90)]
            .flatMap { Wire.string($0) }
        let key = try passkey.publicKey
        let application = Wire.string(key.application.description)
        let number = [UInt8](repeating: 0, count: 8)
        var blob = Wire.string(SSHUserCertificate.algorithm) + Wire.string([1, 2, 3])
        let parts: [[UInt8]] = [
            Wire.string("nistp256"), Wire.string(key.x963Representation), application, number, [0, 0, 0, 1],
            Wire.string("id"), Wire.string(principals), number, number, Wire.string(""), Wire.string(""),
            Wire.string(""), Wire.string(authority), Wire.string("sig"),
        ]
        for part in parts { blob += part }
        var fields = LoginFields(
            session: TestServer.session(1),
            user: Array("ada".utf8),
            method: "publickey-hostbound-v00@openssh.com",
            key: blob
        )
        fields.algorithm = SSHUserCertificate.algorithm
        let data = try passkey.sign(fields.bytes + Wire.string(server.blob))
        let request = try #require(
            try client.send(server.bind(TestServer.session(1)), data, to: &state).request
        )
        let certificate = try #require(request.certificate)
        let description = SigningDescription(request, hostName: nil)
        #expect(
            certificate.shownPrincipals.hasPrefix(#""root", "a"#)
                && certificate.shownPrincipals.hasSuffix(" and 1 more")
        )
        #expect(!certificate.shownPrincipals.contains("\u{202E}"))
        #expect(
            description.text.hasSuffix(", certificate of \(certificate.authority) for \(certificate.shownPrincipals)")
        )
        let event = description.event(timeout: .seconds(5))
        #expect(event.contains(#""authority":"\#(certificate.authority)""#))
        #expect(event.contains(#""principals":"\"root\", \"a"#) && event.contains(#" and 1 more""#), "\(event)")
    }

    @Test("Without a binding, the host is unknown and perhaps forwarded")
    mutating func unbound() throws {
        let data = try passkey.sign(try passkey.login(TestServer.session(1)))
        let request = try #require(try client.send(data, to: &state).request)
        let text = SigningDescription(request, hostName: nil).text
        #expect(text == #"log in as "ada", unknown host, perhaps forwarded (ssh key "phone")"#)
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
