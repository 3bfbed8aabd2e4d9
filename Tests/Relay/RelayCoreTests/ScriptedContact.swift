// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import NIOCore
import TestSupport
import Testing

@testable import HybridRelayCore

/// A contact over TCP: the phone and the client connect in either order, and the phone may connect again at any time.
///
/// It blocks its thread, which must not run tasks.
struct ScriptedContact {
    private let address: SocketAddress
    private let phone = LinkedPhone()

    init(at address: SocketAddress) { self.address = address }

    /// Contacts the phone, which joins or declines.
    func run(_ random: inout SeededGenerator) throws {
        let replacements = random.number(0...2)
        let clientComes = random.number(0...replacements)
        var client: WireEnd?
        var listeners: [WireEnd] = []
        for round in 0...replacements {
            if round == clientComes { client = try connect(phone.contactRequest(signals: "true") + Wire.frame([1])) }
            listeners.append(try listen())
        }
        guard let client, let listener = listeners.last else { return }
        let wakeUp = try #require(ReceivedWakeUp(try message(of: listener)), "\(random)")
        #expect(try client.readHead().hasPrefix("HTTP/1.1 101 "), "\(random)")
        for older in listeners.dropLast() { try checkReplaced(older, random) }
        if random.number(0...3) == 0 {
            try listener.send(LinkedPhone.frame(.decline(number: wakeUp.number)))
            #expect(try client.readFrame().closeCode == 1013, "\(random)")
        } else {
            let joined = try connect(
                WireEnd.request(routing: wakeUp.routing, tunnel: wakeUp.tunnel) + Wire.frame([2])
            )
            #expect(try joined.readHead().hasPrefix("HTTP/1.1 101 "), "\(random)")
            #expect(try [client.readFrame().payload, client.readFrame().payload] == [[0], [2]], "\(random)")
            #expect(try joined.readFrame().payload == [1], "\(random)")
            try joined.send(Wire.closeFrame(1000))
            for end in [client, joined] { #expect(try end.readFrame().closeCode == 1000, "\(random)") }
        }
        try listener.send(phone.revocation())
        #expect(try listener.readFrame().closeCode == 1000, "\(random)")
        #expect(try connect(phone.contactRequest()).readHead().hasPrefix("HTTP/1.1 410 "), "\(random)")
    }

    private func connect(_ bytes: [UInt8]) throws -> WireEnd {
        let end = try WireEnd(try BlockingSocket.connected(to: address))
        try end.send(bytes)
        return end
    }

    /// Connects the phone and proves its contact ID.
    private func listen() throws -> WireEnd {
        let end = try connect(phone.listenRequest())
        try #require(try end.readHead().hasPrefix("HTTP/1.1 101 "))
        guard case .hello(let challenge, _) = try message(of: end) else { throw WireEnd.Ended() }
        try end.send(phone.proof(of: challenge))
        try #require(try message(of: end) == .ok)
        return end
    }

    private func message(of end: WireEnd) throws -> ListenMessage {
        try ListenMessage(parsing: try end.readFrame().payload)
    }

    /// Checks that a replaced connection received the wake-up at most once, and was closed.
    private func checkReplaced(_ end: WireEnd, _ random: SeededGenerator) throws {
        var wakeUps = 0
        while true {
            let frame = try end.readFrame()
            if frame.opcode == Wire.close {
                #expect(frame.closeCode == 1008 && wakeUps <= 1, "\(random)")
                return
            }
            wakeUps += 1
        }
    }
}
