// SPDX-License-Identifier: Apache-2.0

import NIOCore
import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("Reading a balancer's PROXY header")
struct ProxyHeaderReaderTests {
    /// Result of reading pieces.
    enum Outcome: Equatable {
        case complete(ProxyHeader, rest: [UInt8])
        case rejected(ProxyViolation)
        case incomplete
    }

    static func read(_ pieces: [[UInt8]]) -> Outcome {
        let all = pieces.flatMap(\.self)
        var count = 0
        for piece in pieces {
            count += piece.count
            do throws(ProxyViolation) {
                if let (header, length) = try ProxyHeaderReader.read(all.span.extracting(first: count).bytes) {
                    return .complete(header, rest: Array(all[length...]))
                }
            } catch {
                return .rejected(error)
            }
        }
        return .incomplete
    }

    static func read(_ text: String) -> Outcome { read([Array(text.utf8)]) }

    static func relayed(_ address: String, _ port: Int) throws -> ProxyHeader {
        .relayed(try SocketAddress(ipAddress: address, port: port))
    }

    // MARK: Valid headers

    @Test(
        "accepts the lines of version 1",
        arguments: [
            ("TCP4 192.168.0.1 192.168.0.11 56324 443", "192.168.0.1", 56324),
            ("TCP4 255.255.255.255 255.255.255.255 65535 65535", "255.255.255.255", 65535),
            ("TCP4 0.0.0.0 0.0.0.0 0 0", "0.0.0.0", 0),
            ("TCP6 2001:db8::1 2001:DB8::2 1 443", "2001:db8::1", 1),
            ("TCP6 :: ::1 10 443", "::", 10),
            ("TCP6 ::ffff:192.0.2.7 ::ffff:192.0.2.8 39334 443", "::ffff:192.0.2.7", 39334),
            (
                "TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff FFFF:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535",
                "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 65535
            ),
        ]
    )
    func lines(words: String, address: String, port: Int) throws {
        let expected = try Self.relayed(address, port)
        #expect(Self.read("PROXY \(words)\r\nGET") == .complete(expected, rest: Array("GET".utf8)))
        #expect(expected.source?.port == port)
    }

    @Test(
        "accepts lines of version 1 without addresses",
        arguments: [
            "", " ", " a b c", " ffff:ffff ffff 65535 65535", " \u{0}\t\u{E9}", " TCP4 192.0.2.1 192.0.2.2 1 2",
        ]
    )
    func unknownLines(rest: String) {
        #expect(Self.read("PROXY UNKNOWN\(rest)\r\nX") == .complete(.unknown, rest: [UInt8(ascii: "X")]))
        #expect(ProxyHeader.unknown.source == nil)
    }

    @Test("accepts a line of 107 bytes and none longer")
    func longestLine() {
        let worst = "PROXY UNKNOWN " + String(repeating: "f", count: 107 - 16) + "\r\n"
        #expect(worst.utf8.count == 107)
        #expect(Self.read(worst) == .complete(.unknown, rest: []))
        #expect(Self.read(worst.replacing("\r\n", with: "f\r\n")) == .rejected(.lineTooLong))
        #expect(Self.read(worst.replacing("\r\n", with: "ff")) == .rejected(.lineTooLong))
        #expect(Self.read(worst.replacing("\r\n", with: "f\r")) == .rejected(.lineTooLong))
        #expect(Self.read(worst.replacing("\r\n", with: "f")) == .incomplete)
    }

    @Test("accepts headers of HAProxy 2.6", arguments: HAProxyHeaders.all)
    func haproxy(sample: HAProxyHeaders.Sample) throws {
        let bytes = sample.bytes
        let expected = try sample.address.map { try Self.relayed($0, sample.port) }
        let rest = Array("HELLO".utf8)
        #expect(Self.read([bytes + rest]) == .complete(expected ?? sample.otherwise, rest: rest))
        #expect(Self.read(bytes.map { [$0] }) == .complete(expected ?? sample.otherwise, rest: []))
        for cut in 0...bytes.count {
            let pieces = [Array(bytes[..<cut]), Array(bytes[cut...]) + rest]
            #expect(Self.read(pieces) == .complete(expected ?? sample.otherwise, rest: rest), "\(cut)")
        }
        for truncated in Damage.truncations(of: bytes) { #expect(Self.read([truncated]) == .incomplete) }
    }

    @Test("accepts version 2 with addresses of all families")
    func families() throws {
        let v4 = WrittenProxyHeader.Endpoint(address: [192, 0, 2, 1], port: 0x1234)
        #expect(
            Self.read([WrittenProxyHeader.version2(v4, v4)])
                == .complete(try Self.relayed("192.0.2.1", 0x1234), rest: [])
        )
        let v6 = WrittenProxyHeader.Endpoint(address: Array(0x20..<0x30), port: 65535)
        let text = "2021:2223:2425:2627:2829:2a2b:2c2d:2e2f"
        #expect(Self.read([WrittenProxyHeader.version2(v6, v6)]) == .complete(try Self.relayed(text, 65535), rest: []))
        let path = Array("/run/a.sock".utf8)
        let unix = path + [UInt8](repeating: 0, count: 216 - path.count)
        let header = WrittenProxyHeader.version2(command: 1, family: 0x31, addresses: unix)
        guard case .complete(let taken, []) = Self.read([header]) else {
            Issue.record("a unix socket's header must be accepted")
            return
        }
        #expect(taken.source?.protocol == .unix)
        #expect(taken.source?.pathname == "", "its path is left out")
    }

    @Test("ignores the contents after LOCAL and without a family", arguments: [0, 1, 12, 100, 4080])
    func ignored(count: Int) {
        let junk = [UInt8](repeating: 0xFF, count: count)
        for family: UInt8 in [0x00, 0x11, 0x12, 0x31, 0xFF] {
            let header = WrittenProxyHeader.version2(command: 0, family: family, addresses: junk)
            #expect(Self.read([header]) == .complete(.local, rest: []))
        }
        let header = WrittenProxyHeader.version2(command: 1, family: 0x00, addresses: junk)
        #expect(Self.read([header, [7]]) == .complete(.unknown, rest: [7]))
    }

    @Test("skips unknown extensions, up to 4096 bytes of header")
    func extensions() throws {
        let end = WrittenProxyHeader.Endpoint(address: [192, 0, 2, 1], port: 1)
        let expected = try Self.relayed("192.0.2.1", 1)
        func header(_ extensions: [WrittenProxyHeader.Extension], checksum: Bool = false) -> [UInt8] {
            WrittenProxyHeader.version2(end, end, extensions: extensions, checksum: checksum)
        }
        // Reserved, no-op, unique ID, TLS, a cloud provider's, and an unassigned type.
        for type: UInt8 in [0x00, 0x04, 0x05, 0x20, 0xEA, 0xFF] {
            for count in [0, 1, 300] {
                let tested = [WrittenProxyHeader.Extension(type: type, value: [UInt8](repeating: 3, count: count))]
                for checksum in [false, true] {
                    #expect(Self.read([header(tested + tested, checksum: checksum)]) == .complete(expected, rest: []))
                }
            }
        }
        let longest = header([.init(type: 4, value: [UInt8](repeating: 0, count: 4096 - 28 - 3))])
        #expect(longest.count == 4096)
        #expect(Self.read([longest]) == .complete(expected, rest: []))
        #expect(Self.read(longest.map { [$0] }) == .complete(expected, rest: []))
        let longer = header([.init(type: 4, value: [UInt8](repeating: 0, count: 4096 - 28 - 2))])
        #expect(Self.read([longer]) == .rejected(.headerTooLong))
        #expect(Self.read([Array(longer.prefix(16))]) == .rejected(.headerTooLong), "rejected at its length field")
    }

    // MARK: Violations

    @Test(
        "rejects malformed lines",
        arguments: [
            "PROXY \r\n", "PROXY  TCP4 192.0.2.1 192.0.2.2 1 2\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 \r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n",
            "PROXY TCP4 192.0.2.1  192.0.2.2 1 2\r\n", "PROXY TCP4\t192.0.2.1 192.0.2.2 1 2\r\n",
            "PROXY tcp4 192.0.2.1 192.0.2.2 1 2\r\n", "PROXY TCP5 192.0.2.1 192.0.2.2 1 2\r\n",
            "PROXY UDP4 192.0.2.1 192.0.2.2 1 2\r\n", "PROXY UNKNOWNX\r\n", "PROXY unknown\r\n",
            "PROXY TCP4 192.0.2 192.0.2.2 1 2\r\n", "PROXY TCP4 192.0.2.1.1 192.0.2.2 1 2\r\n",
            "PROXY TCP4 192.0.2.256 192.0.2.2 1 2\r\n", "PROXY TCP4 192.0.2.01 192.0.2.2 1 2\r\n",
            "PROXY TCP4 0300.0.2.1 192.0.2.2 1 2\r\n", "PROXY TCP4 0xC0.0.2.1 192.0.2.2 1 2\r\n",
            "PROXY TCP4 3221225985 192.0.2.2 1 2\r\n", "PROXY TCP4 192.0.2.1 192.0.2.x 1 2\r\n",
            "PROXY TCP4 192.0.2.1\u{0} 192.0.2.2 1 2\r\n", "PROXY TCP4 2001:db8::1 192.0.2.2 1 2\r\n",
            "PROXY TCP4 192.0.2.1 2001:db8::1 1 2\r\n", "PROXY TCP6 192.0.2.1 2001:db8::1 1 2\r\n",
            "PROXY TCP6 2001:db8::1 192.0.2.1 1 2\r\n", "PROXY TCP6 2001:db8::1::2 ::1 1 2\r\n",
            "PROXY TCP6 1:2:3:4:5:6:7 ::1 1 2\r\n", "PROXY TCP6 1:2:3:4:5:6:7:8:9 ::1 1 2\r\n",
            "PROXY TCP6 12345::1 ::1 1 2\r\n", "PROXY TCP6 [::1] ::1 1 2\r\n", "PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n",
            "PROXY TCP6 ::g ::1 1 2\r\n", "PROXY TCP6 ::ffff:1.2.3 ::1 1 2\r\n", "PROXY TCP6 : ::1 1 2\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 65536 2\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 00\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 +1 2\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 -1 2\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\rX", "PROXY UNKNOWN\n", "PROXY UNKNOWN a\rb\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2  2\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 99999999999999999999 2\r\n",
        ]
    )
    func malformedLines(line: String) {
        #expect(Self.read(line) == .rejected(.malformedLine))
        #expect(Self.read(line.utf8.map { [$0] }) == .rejected(.malformedLine))
    }

    @Test(
        "rejects other input at its first wrong byte, and not before",
        arguments: [
            "G", "PROXY\r", "PROXYT", "p", "PRI", "\u{16}", "\n", " ", "\r\r", "\r\n\r\n\r", "\r\n\r\n\u{0}\r\nQUIX",
            "\u{0}",
        ]
    )
    func noHeader(text: String) {
        let bytes = Array(text.utf8)
        #expect(Self.read([bytes]) == .rejected(.noHeader))
        #expect(Self.read([bytes + [UInt8](repeating: 32, count: 5000)]) == .rejected(.noHeader))
        #expect(Self.read([bytes.dropLast()]) == .incomplete)
    }

    private static let v4 = WrittenProxyHeader.version2(
        .init(address: [192, 0, 2, 1], port: 1),
        .init(address: [192, 0, 2, 2], port: 2)
    )

    /// Returns a header of version 2 with one byte changed.
    private static func changed(_ index: Int, _ byte: UInt8) -> [UInt8] {
        var bytes = v4
        bytes[index] = byte
        return bytes
    }

    @Test("rejects version 2 at the first wrong byte")
    func malformedVersion2() {
        for version: UInt8 in [0x01, 0x11, 0x31, 0xF1] {
            #expect(Self.read([Array(Self.changed(12, version).prefix(13))]) == .rejected(.unknownVersion))
        }
        for command: UInt8 in 0x22...0x2F {
            #expect(Self.read([Array(Self.changed(12, command).prefix(13))]) == .rejected(.unknownCommand))
        }
        for family in UInt8.min...UInt8.max where ![0x00, 0x11, 0x21, 0x31].contains(family) {
            let expected: ProxyViolation = [0x12, 0x22, 0x32].contains(family) ? .datagrams : .unknownFamily
            #expect(Self.read([Array(Self.changed(13, family).prefix(14))]) == .rejected(expected), "\(family)")
        }
        for (family, length): (UInt8, UInt8) in [(0x11, 11), (0x21, 35), (0x31, 215), (0x11, 0)] {
            var bytes = Self.changed(13, family)
            bytes[15] = length
            #expect(Self.read([Array(bytes.prefix(16))]) == .rejected(.missingAddresses))
        }
    }

    @Test(
        "rejects malformed extensions",
        arguments: [
            [4], [4, 0], [4, 0, 1], [4, 0, 0, 4], [4, 0, 0, 4, 0, 5, 1, 2, 3, 4], [4, 255, 255, 0],
            [3, 0, 0], [3, 0, 3, 1, 2, 3], [3, 0, 5, 1, 2, 3, 4, 5],
        ] as [[UInt8]]
    )
    func malformedExtensions(bytes: [UInt8]) {
        var header = Self.v4 + bytes
        header[15] += UInt8(bytes.count)
        #expect(Self.read([header]) == .rejected(.malformedExtension))
    }

    @Test("verifies the checksum, and accepts only one")
    func checksum() throws {
        let end = WrittenProxyHeader.Endpoint(address: [192, 0, 2, 1], port: 1)
        let noop = WrittenProxyHeader.Extension(type: 4, value: [1, 2, 3])
        let header = WrittenProxyHeader.version2(end, end, extensions: [noop], checksum: true)
        #expect(Self.read([header]) == .complete(try Self.relayed("192.0.2.1", 1), rest: []))
        for index in 16..<header.count where ![28, 29, 30, 35, 36, 37].contains(index) {
            for bit in 0..<8 {
                var damaged = header
                damaged[index] ^= 1 << UInt8(bit)
                #expect(Self.read([damaged]) == .rejected(.wrongChecksum), "byte \(index), bit \(bit)")
            }
        }
        let second = WrittenProxyHeader.Extension(type: 3, value: [0, 0, 0, 0])
        let twice = WrittenProxyHeader.version2(end, end, extensions: [second], checksum: true)
        #expect(Self.read([twice]) == .rejected(.malformedExtension))
    }

    @Test("computes the checksum of the known examples")
    func knownChecksums() {
        // RFC 3720, appendix B.4, and the customary check value.
        let examples: [([UInt8], UInt32)] = [
            ([UInt8](repeating: 0, count: 32), 0x8A91_36AA), ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
            (Array(0..<32), 0x46DD_794E), ((0..<32).reversed(), 0x113F_DB5C), (Array("123456789".utf8), 0xE306_9283),
            ([], 0),
        ]
        for (bytes, expected) in examples {
            #expect(CRC32C.checksum(bytes[...]) == expected)
            #expect(WrittenProxyHeader.castagnoli(bytes) == expected, "the reference implementation")
        }
    }

    // MARK: Random input

    @Test("never traps on flipped bits, and never returns another address if there is a checksum")
    func bitFlips() throws {
        for sample in HAProxyHeaders.all {
            let bytes = sample.bytes
            guard case .complete(let original, _) = Self.read([bytes]) else { continue }
            let hasChecksum = sample.testDescription.contains("crc32c")
            for flipped in Damage.bitFlips(of: bytes) {
                let outcome = Self.read([flipped])
                let halves = [Array(flipped.prefix(17)), Array(flipped.dropFirst(17))]
                #expect(outcome == Self.read(halves), "pieces must not matter")
                guard hasChecksum, case .complete(let header, _) = outcome else { continue }
                // Changing the type of the checksum or the command to LOCAL changes no address.
                #expect(header == original || header.source == nil)
            }
        }
    }

    @Test("reads the same from random bytes in one piece and in many", arguments: 0..<100)
    func randomBytes(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let starts = [Array("PROXY TCP4 ".utf8), Array("PROXY ".utf8), ProxyHeaderV2.signature + [0x21], []]
        let alphabet = Array(" 0123456789.:abcdef\r\n".utf8)
        var bytes = starts[random.number(0...3)]
        for _ in 0..<random.number(0...200) {
            bytes.append(
                random.number(0...3) > 0 ? alphabet[random.number(0...(alphabet.count - 1))] : random.bytes(1)[0]
            )
        }
        #expect(Self.read([bytes]) == Self.read(bytes.map { [$0] }), "\(random)")
    }

    @Test("does not print the address")
    func hidden() throws {
        let header = try Self.relayed("192.0.2.77", 1)
        for text in Shown.texts(header) { #expect(!text.contains("192.0.2") && !text.contains("77")) }
    }
}
