// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridPrimitives
import NIOCore
import NIOSSL
import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("Phones that listen", .timeLimit(.minutes(10)))
struct ListenerTests {
    private let phone = LinkedPhone()

    /// Proofs that must not be accepted.
    enum WrongProof: CaseIterable {
        case otherSigner
        case otherKey
        case otherHost
        case hostOfTheRequest
        case otherChallenge
        case otherContact
        case revocation
    }

    @Test("must prove their contact ID for this relay and this connection", arguments: WrongProof.allCases)
    func proof(wrong: WrongProof) throws {
        let relay = try HandDrivenRelay()
        let client = try relay.contact(phone)
        let (end, challenge) = try relay.challenged(phone)
        let other = LinkedPhone()
        var generator = SystemRandomNumberGenerator()
        let proof =
            switch wrong {
            case .otherSigner: phone.proof(of: challenge, signedBy: other.key)
            case .otherKey: other.proof(of: challenge)
            case .otherHost: phone.proof(of: challenge, host: "other.test")
            case .hostOfTheRequest: phone.proof(of: challenge, host: "cable.example")
            case .otherChallenge: phone.proof(of: ListenChallenge(using: &generator))
            case .otherContact:
                LinkedPhone.frame(
                    .own(
                        phone.key.publicKey,
                        phone.key.sign(.listen(host: LinkedPhone.host, challenge, other.contact))
                    )
                )
            case .revocation:
                LinkedPhone.frame(
                    .own(phone.key.publicKey, phone.key.sign(.gone(host: LinkedPhone.host, phone.contact)))
                )
            }
        try end.send(proof + phone.proof(of: challenge))
        try relay.settle()
        #expect(end.takeFrames().map(\.closeCode) == [1008])
        #expect(client.received.isEmpty, "the request is still held")
        let listener = try relay.listener(phone)
        #expect(try listener.takeWakeUp().number == 1)
        try relay.expectEmpty(afterClosing: [end, client, listener])
    }

    @Test("may prove it with the request, in fragments and byte by byte")
    func pieces() throws {
        let relay = try HandDrivenRelay()
        let (end, challenge) = try relay.challenged(phone, glued: Wire.frame([1], opcode: Wire.ping))
        let message = Array(phone.proof(of: challenge))
        for byte in message {
            try end.send([byte])
            try relay.settle()
        }
        #expect(end.takeFrames().map(\.opcode) == [Wire.pong, Wire.binary])
        let (other, second) = try relay.challenged(phone)
        let signature = phone.key.sign(.listen(host: LinkedPhone.host, second, phone.contact))
        let whole = ListenMessage.own(phone.key.publicKey, signature).encoded
        try other.send(Wire.frame(Array(whole.prefix(40)), final: false) + Wire.frame([], opcode: Wire.ping))
        try other.send(Wire.frame(Array(whole.dropFirst(40)), opcode: 0))
        try relay.settle()
        #expect(other.takeFrames().map(\.payload) == [ListenMessage.ok.encoded, []])
        #expect(end.takeFrames().map(\.closeCode) == [1008], "the newer connection replaces the older one")
        try relay.expectEmpty(afterClosing: [end, other])
    }

    @Test("are closed for any other message", arguments: [false, true])
    func violations(isProven: Bool) throws {
        let relay = try HandDrivenRelay()
        var generator = SystemRandomNumberGenerator()
        let wrong: [([UInt8], UInt16)] = [
            (LinkedPhone.frame(.ok), 1008),
            (LinkedPhone.frame(.hello(ListenChallenge(using: &generator), pingSeconds: 55)), 1008),
            (isProven ? phone.proof(of: ListenChallenge(using: &generator)) : phone.revocation(), 1008),
            (isProven ? phone.revocation(host: "other.test") : LinkedPhone.frame(.decline(number: 1)), 1008),
            (Wire.frame([]), 1008), (Wire.frame([0xA1, 0x00]), 1008),
            (Wire.frame([UInt8](repeating: 0, count: 1024)), 1008),
            (Wire.frame([UInt8](repeating: 0, count: 1025)), 1009), (Wire.frame([0x61], opcode: 1), 1003),
            (Wire.frame([1], mask: nil), 1002), (Wire.frame([1], opcode: 0), 1002), (Wire.closeFrame(4000), 4000),
        ]
        for (bytes, code) in wrong {
            let end = try isProven ? relay.listener(phone) : relay.challenged(phone).end
            try end.send(bytes + phone.revocation())
            try relay.settle()
            #expect(end.takeFrames().map(\.closeCode) == [code], "\(bytes.prefix(20))")
            try relay.expectEmpty(afterClosing: [end])
        }
        #expect(try relay.contact(phone).received.isEmpty, "nothing was revoked")
    }

    @Test("are replaced by a newer connection, which gets the wake-ups again", arguments: [0, 1])
    func replaced(loop: Int) throws {
        let relay = try HandDrivenRelay(loops: 2)
        let older = try relay.listener(phone)
        let client = try relay.contact(phone, signals: "true")
        let first = try older.takeWakeUp()
        let newer = try relay.listener(phone, onLoop: loop)
        #expect(older.takeFrames().map(\.closeCode) == [1008])
        let second = try newer.takeWakeUp()
        #expect((first.number, first.tunnel) == (second.number, second.tunnel))
        older.close()
        try relay.settle()
        // The end of the older connection takes nothing from the newer one.
        let other = try relay.contact(phone)
        #expect(try newer.takeWakeUp().number == 2)
        let (joined, _) = try relay.client(second.routing, tunnel: second.tunnel)
        #expect(client.takeHead() != nil && client.takeFrames().map(\.payload) == [[0]])
        #expect(newer.takeFrames() == [])
        try relay.expectEmpty(afterClosing: [client, newer, other, joined])
    }

    @Test("get the wake-ups that came while they were not connected")
    func returning() throws {
        let relay = try HandDrivenRelay()
        let older = try relay.listener(phone)
        let client = try relay.contact(phone)
        older.close()
        try relay.settle()
        let newer = try relay.listener(phone)
        let wakeUp = try newer.takeWakeUp()
        let (joined, head) = try relay.client(wakeUp.routing, tunnel: wakeUp.tunnel)
        #expect(head.hasPrefix("HTTP/1.1 101 "))
        let (again, _) = try relay.challenged(phone)
        #expect(newer.takeFrames() == [], "a connection without a proof replaces none")
        try relay.expectEmpty(afterClosing: [client, newer, joined, again])
    }

    @Test("revoke their contact ID, which is gone from then on, and no other phone can")
    func revoked() throws {
        let relay = try HandDrivenRelay(loops: 2)
        let ringing = try relay.listener(phone)
        let client = try relay.contact(phone, onLoop: 1)
        try ringing.send(phone.revocation())
        try relay.settle()
        #expect(ringing.takeFrames().last?.closeCode == 1000)
        #expect(client.takeHead() != nil && client.takeFrames().map(\.closeCode) == [1013])
        let late = try relay.contact(phone, onLoop: 1)
        let head = try #require(late.takeHead())
        #expect(head.hasPrefix("HTTP/1.1 410 Gone\r\n"))
        func field(_ name: String) throws -> [UInt8] {
            let line = try #require(head.split(separator: "\r\n").first { $0.hasPrefix("\(name): ") })
            return try #require(ContactID(base64URL: line.dropFirst(name.count + 2))).bytes
        }
        let key = try #require(ContactPublicKey(bytes: try field("X-Hybrid-Contact-Key")))
        let signature = try #require(ContactSignature(bytes: try field("X-Hybrid-Contact-Gone")))
        #expect(key.contactID == phone.contact)
        #expect(key.verifies(signature, of: .gone(host: LinkedPhone.host, phone.contact)))
        #expect(try relay.contact(LinkedPhone()).received.isEmpty, "an unknown contact ID is not gone")
        // The phone may still listen, to revoke it again after a restart.
        let again = try relay.listener(phone)
        #expect(try relay.contact(phone).takeHead()?.hasPrefix("HTTP/1.1 410 ") == true)
        for end in [ringing, client, late, again] { end.close() }
    }

    @Test("revoke also for clients that wait for them")
    func revokedWhileHeld() throws {
        let relay = try HandDrivenRelay()
        let client = try relay.contact(phone)
        let (end, challenge) = try relay.challenged(phone)
        try end.send(phone.proof(of: challenge) + phone.revocation())
        try relay.settle()
        // The proof alone accepts the request; the revocation follows.
        #expect(end.takeFrames().last?.closeCode == 1000)
        let head = try #require(client.takeHead())
        let isAccepted = head.hasPrefix("HTTP/1.1 101 ")
        #expect(isAccepted ? client.takeFrames().map(\.closeCode) == [1013] : head.hasPrefix("HTTP/1.1 410 "))
        try relay.expectEmpty(afterClosing: [client, end])
    }

    @Test("are closed with 1012 after their lifetime, and with 1008 if they prove nothing in time")
    func lifetime() throws {
        let relay = try HandDrivenRelay { $0.headTime = .seconds(5) }
        let (silent, _) = try relay.challenged(phone)
        try relay.advance(by: .seconds(6))
        #expect(silent.takeFrames().map(\.closeCode) == [1008])
        let listener = try relay.listener(phone)
        var age = 0
        var code: UInt16?
        while code == nil, age < 700 {
            try listener.send(Wire.frame([], opcode: Wire.pong))
            try relay.settle()
            try relay.advance(by: .seconds(10))
            age += 10
            code = listener.takeFrames().compactMap(\.closeCode).first
        }
        #expect(code == 1012 && (480...600).contains(age), "\(age)")
        try relay.expectEmpty(afterClosing: [silent, listener])
    }

    @Test("are pinged after 25 seconds, and closed if they do not respond")
    func pings() throws {
        let relay = try HandDrivenRelay()
        let (listener, silent) = (try relay.listener(phone), try relay.listener(LinkedPhone()))
        try relay.advance(by: .seconds(1))
        try relay.advance(by: .seconds(24))
        #expect(listener.takeFrames() == [])
        try relay.advance(by: .seconds(1))
        for end in [listener, silent] { #expect(end.takeFrames().map(\.opcode) == [Wire.ping]) }
        for _ in 0..<3 {
            try listener.send(Wire.frame([], opcode: Wire.pong))
            try relay.settle()
            try relay.advance(by: .seconds(25))
        }
        #expect(silent.takeFrames().last?.closeCode == 1001)
        #expect(!listener.takeFrames().contains { $0.opcode == Wire.close })
        try relay.expectEmpty(afterClosing: [listener, silent])
    }

    @Test("move to another relay when this one drains, and so do clients that wait for them")
    func drain() throws {
        let relay = try HandDrivenRelay(loops: 2)
        let other = LinkedPhone()
        let (listener, unproven) = (try relay.listener(phone), try relay.challenged(other, onLoop: 1).end)
        let (ringing, held) = (try relay.contact(phone, onLoop: 1, signals: "true"), try relay.contact(other))
        let wakeUp = try listener.takeWakeUp()
        relay.context.admission.drain()
        for loop in relay.loops { loop.mailbox.post(.drain) }
        try relay.settle()
        for end in [listener, unproven] { #expect(end.takeFrames().map(\.closeCode) == [1012]) }
        #expect(held.takeHead()?.hasPrefix("HTTP/1.1 503 ") == true)
        for request in [phone.listenRequest(), phone.contactRequest()] {
            let end = try relay.connect()
            try end.send(request)
            try relay.settle()
            #expect(end.takeHead()?.hasPrefix("HTTP/1.1 503 ") == true)
            end.close()
        }
        let (joined, head) = try relay.client(wakeUp.routing, tunnel: wakeUp.tunnel)
        #expect(head.hasPrefix("HTTP/1.1 101 "), "a phone that has been woken can still join")
        #expect(ringing.takeHead() != nil && ringing.takeFrames().map(\.payload) == [[0]])
        try relay.expectEmpty(afterClosing: [listener, unproven, ringing, held, joined])
    }

    @Test("keep their places when the relay is full, once they have proven their contact IDs")
    func full() throws {
        let relay = try HandDrivenRelay {
            $0.connections = 8
            $0.heldContacts = 8
        }
        let listener = try relay.listener(phone)
        let (unproven, _) = try relay.challenged(LinkedPhone())
        let held = try relay.contact(LinkedPhone())
        let idle = try (0..<5).map { _ in try relay.connect() }
        for _ in 0..<6 { _ = try relay.connect() }
        try relay.settle()
        #expect(!listener.hasEnded && !held.hasEnded)
        #expect(unproven.hasEnded && idle.allSatisfy(\.hasEnded))
        #expect(relay.connections == 8)
        _ = listener
    }

    @Test("over TLS, wake and join as without it")
    func secure() async throws {
        let files = try await CertificateFiles()
        try secure(try files.relayTransport(), try files.clientContext())
    }

    private func secure(_ transport: SocketSecurity, _ tls: NIOSSLContext) throws {
        let relay = try HandDrivenRelay(loops: 2, transport: transport)
        func request(_ bytes: [UInt8], onLoop loop: Int) throws -> WireEnd {
            let end = try relay.connect(onLoop: loop, tls: tls)
            try relay.settle()
            try end.send(bytes)
            try relay.settle()
            return end
        }
        let client = try request(phone.contactRequest(signals: "true") + Wire.frame([1]), onLoop: 0)
        try client.send(Wire.frame([2]))
        try relay.settle()
        #expect(client.received.isEmpty)
        let listener = try request(phone.listenRequest(), onLoop: 1)
        #expect(listener.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
        guard case .hello(let challenge, _) = try listener.takeListenMessage() else {
            Issue.record("the first message is a challenge")
            return
        }
        try listener.send(phone.proof(of: challenge))
        try relay.settle()
        #expect(try listener.takeListenMessage() == .ok)
        let wakeUp = try listener.takeWakeUp()
        let joined = try request(WireEnd.request(routing: wakeUp.routing, tunnel: wakeUp.tunnel), onLoop: 1)
        #expect(joined.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
        #expect(client.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
        #expect(client.takeFrames().map(\.payload) == [[0]] && joined.takeFrames().map(\.payload) == [[1], [2]])
        try relay.expectEmpty(afterClosing: [client, listener, joined])
    }
}
