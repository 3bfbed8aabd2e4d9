// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import HybridRelayCore

/// PROXY headers sent by HAProxy 2.6.12 on a loopback interface.
enum HAProxyHeaders {
    struct Sample: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        let address: String?
        let port: Int
        let otherwise: ProxyHeader

        init(_ name: String, _ bytes: [UInt8], _ address: String, _ port: Int) {
            (testDescription, self.bytes, self.address, self.port, otherwise) = (name, bytes, address, port, .unknown)
        }

        init(_ name: String, _ bytes: [UInt8], _ otherwise: ProxyHeader) {
            (testDescription, self.bytes, address, port, self.otherwise) = (name, bytes, nil, 0, otherwise)
        }
    }

    static let all = [
        Sample("send-proxy, IPv4", line("TCP4 127.0.0.1 127.0.0.1 43874 21001"), "127.0.0.1", 43874),
        Sample("send-proxy, IPv6", line("TCP6 ::1 ::1 46308 21001"), "::1", 46308),
        Sample(
            "send-proxy, bind v4v6",
            line("TCP6 ::ffff:127.0.0.1 ::ffff:127.0.0.1 39334 21006"),
            "::ffff:127.0.0.1",
            39334
        ),
        Sample("send-proxy, unix socket", line("UNKNOWN"), .unknown),
        Sample("send-proxy-v2, IPv4", hex("2111000c7f0000017f000001dbde520a"), "127.0.0.1", 0xDBDE),
        Sample(
            "send-proxy-v2, IPv6",
            hex("212100240000000000000000000000000000000100000000000000000000000000000001adaa520a"),
            "::1",
            0xADAA
        ),
        Sample(
            "send-proxy-v2, bind v4v6",
            hex("2121002400000000000000000000ffff7f00000100000000000000000000ffff7f000001a06e520f"),
            "::ffff:127.0.0.1",
            0xA06E
        ),
        Sample("send-proxy-v2, unix socket or health check", hex("20000000"), .local),
        Sample(
            "crc32c,unique-id, IPv4",
            hex("211100237f0000017f000001a258520b030004a0423c7e05000d37463030303030313a41323538"),
            "127.0.0.1",
            0xA258
        ),
        Sample(
            "crc32c,unique-id, IPv6",
            hex(
                "212100530000000000000000000000000000000100000000000000000000000000000001ee16520b0300049342ba3005002530"
                    + "303030303030303030303030303030303030303030303030303030303030313a45453136"
            ),
            "::1",
            0xEE16
        ),
        Sample("crc32c,unique-id, unix socket", hex("2000000a030004826374b8050000"), .local),
        Sample("crc32c, health check", hex("20000007030004a9b87e8f"), .local),
        Sample(
            "send-proxy-v2-ssl-cn with crc32c and all else",
            hex(
                "211100807f0000017f0000019a56520c03000492ffe5b0010008687474702f312e3102000d72656c61792e6578616d706c6505"
                    + "000869642d33303530342000440100000000210007544c5376312e33250005454332353624001165636473612d7769"
                    + "74682d534841323536230016544c535f4145535f3235365f47434d5f534841333834"
            ),
            "127.0.0.1",
            0x9A56
        ),
    ]

    private static func line(_ words: String) -> [UInt8] { Array("PROXY \(words)\r\n".utf8) }

    /// Returns a header from the hexadecimal digits after its signature.
    private static func hex(_ digits: String) -> [UInt8] {
        WrittenProxyHeader.signature + (Hexadecimal.bytes(digits) ?? [])
    }
}
