// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOCore
import NIOSSL
import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("TLS records of a relay's peers", .timeLimit(.minutes(10)))
struct TLSRecordTests {
    /// Runs `body` with a relay over TLS, on one thread.
    private static func run(
        chain: Int = 1,
        balancers: [AddressBlock] = [],
        _ body: (HandDrivenRelay, NIOSSLContext) throws -> Void
    ) async throws {
        let files = try await CertificateFiles()
        let certificate = Array(try Data(contentsOf: URL(filePath: files.directory + "/own.pem")))
        let key = Array(try Data(contentsOf: URL(filePath: files.directory + "/own.key")))
        let all = (0..<chain).flatMap { _ in certificate }
        let transport = SocketSecurity.tls(try RelayCertificate.context(certificate: all, key: key))
        try body(try HandDrivenRelay(transport: transport, balancers: balancers), try files.clientContext())
    }

    /// Sends the request of a phone and a message, and checks the response and a client's conversation.
    private static func finish(_ phone: WireEnd, _ relay: HandDrivenRelay, _ tls: NIOSSLContext) throws {
        let routing = try WireEnd.routing(in: try #require(phone.takeHead()))
        let (client, head) = try relay.client(routing, tls: tls)
        #expect(head.hasPrefix("HTTP/1.1 101 "))
        #expect(client.takeFrames().map(\.payload) == [[5]])
        try client.send(Wire.frame([6]) + Wire.closeFrame(1000))
        try relay.settle()
        #expect(phone.takeFrames().map(\.payload) == [[6], [0x03, 0xE8]])
        for end in [phone, client] {
            #expect(end.tls?.hasReceivedCloseNotify == true && end.hasEnded)
            end.close()
        }
        try relay.settle()
        #expect(relay.connections == 0)
    }

    @Test("are passed to TLS only when complete, whatever their type, unless the header cannot be one of TLS")
    func completeLength() {
        func length(_ bytes: [UInt8]) -> Int { TLSRecords.completeLength(of: bytes.span.bytes) }
        for type: UInt8 in [0x16, 0x17, 0x99] {
            let record = [type, 3, 3, 0, 2, 7, 7]
            for count in 0..<record.count { #expect(length(Array(record[..<count])) == 0) }
            #expect(length(record) == 7 && length(record + [type, 3]) == 7)
        }
        #expect(length(Array("GET / HTTP/1.1".utf8)) == 14)
        #expect(length([0x16, 3, 3, 0xFF, 0xFF]) == 5)
    }

    @Test("may be cut at every byte of the handshake, the request and the first frame")
    func cuts() async throws {
        try await Self.run { relay, tls in
            let step = Thoroughness.isFull ? 1 : 7
            var cut = 0
            var isBeyond = false
            while !isBeyond {
                let phone = try relay.connect(tls: tls)
                // All bytes that the client sends, counted over its flights.
                var position = 0
                func send(_ wire: [UInt8]) throws {
                    let split = min(max(cut - position, 0), wire.count)
                    position += wire.count
                    try phone.socket.send(Array(wire[..<split]))
                    while relay.turn(0) {}
                    try phone.socket.send(Array(wire[split...]))
                    try relay.settle()
                }
                try send(try #require(phone.tls).takeOutput())
                // The client has sent its last flight while the loops ran.
                try send(try phone.wire(WireEnd.request()))
                try send(try phone.wire(Wire.frame([5])))
                isBeyond = cut >= position
                try Self.finish(phone, relay, tls)
                cut += step
            }
        }
    }

    @Test("may follow a PROXY header in the same piece")
    func afterProxyHeader() async throws {
        let balancer = try SocketAddress(ipAddress: "192.0.2.1", port: 1)
        let block = try AddressBlock(parsing: "192.0.2.1")
        try await Self.run(balancers: [block]) { relay, tls in
            let header = Array("PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n".utf8)
            for cut in stride(from: 0, to: header.count + 300, by: Thoroughness.isFull ? 1 : 9) {
                let phone = try relay.connect(tls: tls, from: balancer)
                let wire = header + (try #require(phone.tls).takeOutput())
                try phone.socket.send(Array(wire[..<cut]))
                while relay.turn(0) {}
                try phone.socket.send(Array(wire[cut...]))
                try relay.settle()
                try phone.send(WireEnd.request() + Wire.frame([5]))
                try relay.settle()
                try Self.finish(phone, relay, tls)
            }
        }
    }

    @Test("may arrive byte by byte")
    func bytes() async throws {
        try await Self.run { relay, tls in
            let phone = try relay.connect(tls: tls)
            func send(_ wire: [UInt8]) throws {
                for byte in wire {
                    try phone.socket.send([byte])
                    while relay.turn(0) {}
                }
                try relay.settle()
            }
            try send(try #require(phone.tls).takeOutput())
            try send(try phone.wire(WireEnd.request() + Wire.frame([5])))
            try Self.finish(phone, relay, tls)
        }
    }

    @Test("may be many in one read, together with the end of the handshake")
    func many() async throws {
        try await Self.run { relay, tls in
            let phone = try relay.connect(tls: tls)
            phone.isReading = false
            try phone.socket.send(try #require(phone.tls).takeOutput())
            try relay.settle()
            phone.isReading = true
            // Encrypted before the handshake ends, so the records follow its last message in one write.
            var wire: [UInt8] = []
            for byte in WireEnd.request() + Wire.frame([5]) { wire += try phone.wire([byte]) }
            #expect(wire.isEmpty)
            try relay.settle()
            try Self.finish(phone, relay, tls)
        }
    }

    @Test("do not mix with those of other connections, however reads and records are cut")
    func interleaved() async throws {
        try await Self.run { relay, tls in
            var random = SeededGenerator()
            let messages = Thoroughness.rounds(10, thorough: 200)
            let tunnels = try (0..<8).map { number -> (phone: WireEnd, client: WireEnd) in
                try relay.pair(tls: tls, tunnel: String(repeating: "\(number)", count: 32))
            }
            var flows = tunnels.indices.flatMap { number in
                [true, false].map { isPhone in
                    let numbered = NumberedMessages(tunnel: number, isPhone: isPhone)
                    return (
                        output: PendingOutput(numbered.frames(0..<messages)), input: ExpectedInput(numbered),
                        from: isPhone ? tunnels[number].phone : tunnels[number].client,
                        to: isPhone ? tunnels[number].client : tunnels[number].phone
                    )
                }
            }
            while flows.contains(where: { !$0.output.isEmpty }) {
                for _ in 0..<random.number(1...20) {
                    let index = random.number(0...(flows.count - 1))
                    guard !flows[index].output.isEmpty else { continue }
                    try flows[index].output.sendPiece(by: flows[index].from, &random)
                }
                relay.turn(0)
            }
            try relay.settle()
            for index in flows.indices {
                let isRight = flows[index].input.check(flows[index].to)
                #expect(isRight, "a wrong message, \(random)")
                #expect(flows[index].input.count == messages, "\(random)")
            }
            #expect(relay.bufferedBytes == 0)
        }
    }

    @Test("are sent in the handshake even if the peer reads late")
    func outputBlockedInHandshake() async throws {
        // A chain of 60 certificates does not fit into the kernel's buffer.
        try await Self.run(chain: 60) { relay, tls in
            let phone = try relay.connect(tls: tls, buffer: 4 << 10)
            phone.isReading = false
            try phone.socket.send(try #require(phone.tls).takeOutput())
            try relay.settle()
            phone.isReading = true
            try relay.settle()
            try phone.send(WireEnd.request() + Wire.frame([5]))
            try relay.settle()
            try Self.finish(phone, relay, tls)
        }
    }

    @Test("are not read while the peer does not read the handshake", arguments: [true, false])
    func floodInBlockedHandshake(isFinished: Bool) async throws {
        try await Self.run(chain: 60) { relay, tls in
            let phone = try relay.connect(tls: tls, buffer: 4 << 10)
            phone.isReading = false
            let record = [0x17, 3, 3, 0x40, 0] + [UInt8](repeating: 0, count: 16 << 10)
            let flood = try #require(phone.tls).takeOutput() + record + record
            _ = try phone.socket.sendSome(flood)
            try relay.settle()
            for _ in 0..<20 {
                _ = try? phone.socket.sendSome(record)
                try relay.settle()
            }
            if isFinished { phone.socket.shutDownOutput() }
            try relay.settle()
            #expect(relay.bufferedBytes <= 200_000)
            phone.close()
            try relay.settle()
            #expect(relay.connections == 0 && relay.bufferedBytes == 0)
        }
    }

    @Test("that are invalid end their own connection only")
    func otherConnections() async throws {
        try await Self.run { relay, tls in
            let damages: [[UInt8]] = [
                Array("GET / HTTP/1.1\r\n\r\n".utf8), [0x16, 3, 1, 0, 4, 1, 0, 0, 0],
                [0x17, 3, 3, 0, 4, 0, 0, 0, 0], [0x17, 3, 3, 0xFF, 0xFF, 0], [UInt8](repeating: 0xFF, count: 70_000),
            ]
            for damage in damages {
                let (phone, routing) = try relay.phone(tls: tls)
                let message = try phone.wire(Wire.frame([5]))
                try phone.socket.send(Array(message.prefix(9)))
                // The failure and an incomplete record of another connection are handled in the same turn.
                let broken = try relay.connect()
                _ = try broken.socket.sendSome(damage)
                try relay.settle()
                #expect(relay.connections == 1)
                // Before another TLS session on this thread, which would clear an error that the failure left behind.
                try phone.socket.send(Array(message.dropFirst(9)))
                try relay.settle()
                #expect(!phone.hasEnded)
                let (client, _) = try relay.client(routing, tls: tls)
                #expect(client.takeFrames().map(\.payload) == [[5]])
                for end in [phone, client, broken] { end.close() }
                try relay.settle()
            }
            #expect(relay.connections == 0 && relay.bufferedBytes == 0)
        }
    }

    @Test("end the tunnel if they stop in the middle, or after a close_notify", arguments: [true, false])
    func truncated(hasCloseNotify: Bool) async throws {
        try await Self.run { relay, tls in
            let (phone, client) = try relay.pair(tls: tls)
            if hasCloseNotify {
                try phone.socket.send(try #require(phone.tls).closeNotify())
            } else {
                try phone.socket.send(Array(try phone.wire(Wire.frame([5])).dropLast()))
                phone.socket.shutDownOutput()
            }
            try relay.settle()
            #expect(client.takeFrames().map(\.closeCode) == [1001])
            #expect(client.tls?.hasReceivedCloseNotify == true)
        }
    }

    @Test("of an idle connection hold no memory of the budget")
    func idle() async throws {
        try await Self.run { relay, tls in
            let (phone, client) = try relay.pair(tls: tls)
            for _ in 0..<10 {
                try phone.send(Wire.frame([UInt8](repeating: 1, count: 40_000)))
                try relay.settle()
            }
            #expect(client.takeFrames().count == 10)
            #expect(relay.bufferedBytes == 0)
        }
    }
}
