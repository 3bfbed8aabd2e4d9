// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Testing

@testable import HybridNetwork

@Suite("Heads and dates of responses")
struct ResponseTests {
    @Test("A head is read piece by piece, and must be of HTTP/1")
    func heads() {
        var head = ResponseHead()
        #expect(head.append(Array("HTTP/1.1 2".utf8)) == .incomplete)
        #expect(head.append(Array("00 OK\r\n\r".utf8)) == .incomplete)
        #expect(head.append(Array("\nrest".utf8)) == .complete(status: 200, rest: Array("rest".utf8)))
        for nonsense in [
            "SSH-2.0", "HTTP/2 200 OK\n\n", "HTTP/1.1 20\n\n", "HTTP/1.1 2000 X\n\n", "HTTP/1.1 999 X\n\n",
        ] {
            var head = ResponseHead()
            #expect(head.append(Array(nonsense.utf8)) == .malformed("it does not speak HTTP"), "\(nonsense)")
        }
    }

    @Test("Interim responses before the final one are skipped, up to eight")
    func interimResponses() {
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
        let final = "HTTP/1.1 200 Connection established\r\n\r\n"
        var head = ResponseHead()
        let four = Array((String(repeating: interim, count: 4) + final).utf8)
        for byte in four.dropLast() { #expect(head.append([byte]) == .incomplete) }
        #expect(head.append(four.suffix(1)) == .complete(status: 200, rest: []))
        for ending in ["", "rest"] {
            var head = ResponseHead()
            #expect(head.append(four + ending.utf8) == .complete(status: 200, rest: Array(ending.utf8)))
        }
        head = ResponseHead()
        let five = Array((String(repeating: interim, count: 5) + final).utf8)
        #expect(head.append(five) == .malformed(InterimResponses.tooMany))
        head = ResponseHead()
        #expect(head.append(Array("HTTP/1.1 101 Other\n\n".utf8)) == .complete(status: 101, rest: []))
    }

    @Test("only the final response is passed on, in pieces of any size, and something else than HTTP at once")
    func passedOn() throws {
        let interim = "HTTP/1.0 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\nLink: </a>\n\n"
        let final =
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\u{1}\u{2}HTTP/1.1 100 Continue\r\n\r\n"
        for length in [1, 2, 3, 7, 11, 12, 13, 50, 1000] {
            let channel = EmbeddedChannel(handler: HeadLimiter())
            var rest = Array((interim + final).utf8)[...]
            while !rest.isEmpty {
                try channel.writeInbound(ByteBuffer(bytes: rest.prefix(length)))
                rest = rest.dropFirst(length)
            }
            var passed: [UInt8] = []
            while let piece = try channel.readInbound(as: ByteBuffer.self) { passed += piece.readableBytesView }
            #expect(passed == Array(final.utf8), "pieces of \(length)")
        }
        for text in ["SSH-2.0-OpenSSH", "H\n", "HTTP/2 100", "HTTP/1.1 1x0 "] {
            let channel = EmbeddedChannel(handler: HeadLimiter())
            try channel.writeInbound(ByteBuffer(string: text))
            #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: text))
        }
    }

    @Test("Dates of RFC 9110 are parsed")
    func dates() {
        for (text, seconds) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Tue, 29 Feb 2028 23:59:59 GMT", 1_835_481_599), ("Fri, 01 Mar 2030 00:00:00 GMT", 1_898_553_600),
        ] {
            #expect(HTTPDate.seconds(text) == seconds, "\(text)")
        }
        for text in [
            "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Non 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1969 08:49:37 GMT",
        ] {
            #expect(HTTPDate.seconds(text) == nil, "\(text)")
        }
    }
}
