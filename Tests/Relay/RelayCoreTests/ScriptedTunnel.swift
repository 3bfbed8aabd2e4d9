// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOSSL
import TestSupport
import Testing

/// A tunnel over TCP whose ends send numbered messages in pieces of random sizes, some with their requests.
///
/// It blocks its thread, which must not run tasks.
struct ScriptedTunnel {
    private static let messages = 12

    let number: Int
    let address: SocketAddress
    let tls: NIOSSLContext?

    init(number: Int, at address: SocketAddress, tls: NIOSSLContext?) {
        (self.number, self.address, self.tls) = (number, address, tls)
    }

    /// Opens the tunnel, sends messages in both directions at once, and closes it.
    func run(_ random: inout SeededGenerator) throws {
        let digits = String(number, radix: 16)
        let tunnel = String(repeating: "0", count: 32 - digits.count) + digits
        let fromPhone = NumberedMessages(tunnel: number, isPhone: true)
        let fromClient = NumberedMessages(tunnel: number, isPhone: false)

        let phone = try WireEnd(try BlockingSocket.connected(to: address), tls: tls)
        try phone.handshake()
        let early = random.number(0...Self.messages)
        var phoneOutput = PendingOutput(WireEnd.request(tunnel: tunnel) + fromPhone.frames(0..<early))
        while !phoneOutput.isEmpty { try phoneOutput.sendPiece(by: phone, &random) }
        let routing = try WireEnd.routing(in: try phone.readHead())

        let client = try WireEnd(try BlockingSocket.connected(to: address), tls: tls)
        try client.handshake()
        let request = WireEnd.request(routing: routing, tunnel: tunnel)
        var clientOutput = PendingOutput(request + fromClient.frames(0..<Self.messages))
        phoneOutput = PendingOutput(fromPhone.frames(early..<Self.messages))
        var (atPhone, atClient) = (ExpectedInput(fromClient), ExpectedInput(fromPhone))
        var hasResponse = false
        while atPhone.count < Self.messages || atClient.count < Self.messages {
            if !phoneOutput.isEmpty, random.number(0...1) == 0 { try phoneOutput.sendPiece(by: phone, &random) }
            if !clientOutput.isEmpty, random.number(0...1) == 0 { try clientOutput.sendPiece(by: client, &random) }
            let isBusy = try phone.pump() || client.pump()
            if !hasResponse { hasResponse = client.takeHead()?.hasPrefix("HTTP/1.1 101 ") ?? false }
            let isRight = atPhone.check(phone)
            try #require(isRight, "a wrong message from the client, \(random)")
            if hasResponse {
                let isRight = atClient.check(client)
                try #require(isRight, "a wrong message from the phone, \(random)")
            }
            try #require(!phone.hasEnded && !client.hasEnded, "the tunnel ended, \(random)")
            if !isBusy, phoneOutput.isEmpty, clientOutput.isEmpty { try wait(phone, client) }
        }
        try client.send(Wire.closeFrame(1000))
        for end in [phone, client] {
            #expect(try end.readFrame().closeCode == 1000, "\(random)")
            #expect(end.readToEnd() == [], "\(random)")
            if let tls = end.tls { #expect(tls.hasReceivedCloseNotify) }
        }
    }

    /// Waits until an end can be read.
    private func wait(_ ends: WireEnd...) throws {
        var polled = ends.map { pollfd(fd: $0.socket.descriptor, events: Int16(POLLIN), revents: 0) }
        try #require(poll(&polled, nfds_t(polled.count), 60_000) > 0, "nothing arrives")
    }
}
