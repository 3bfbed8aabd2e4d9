// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridLocalPage

@Suite("Owner of the socket at the other end")
struct SocketOwnerTests {
    private let heading =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    private let connection = (client: 0xC350, server: 0x1F90)

    private func line(_ local: String, _ remote: String, state: String = "01", user: String = "1000") -> String {
        "   0: \(local) \(remote) \(state) 00000000:00000000 00:00000000 00000000  \(user)        0 12345 1 0000 20\n"
    }

    private func user(_ lines: String...) -> UInt32? {
        SocketOwner.user(of: connection, in: Array((heading + lines.joined()).utf8))
    }

    @Test("the owner is found by both addresses, for IPv4 and for IPv4-mapped IPv6")
    func found() {
        // The tables are in host byte order.
        let isLittle = UInt32(1).littleEndian == 1
        let own = isLittle ? "0100007F" : "7F000001"
        let mapped = "0000000000000000" + (isLittle ? "FFFF0000" : "0000FFFF") + own
        #expect(user(line("\(own):C350", "\(own):1F90")) == 1000)
        #expect(user(line("\(mapped):C350", "\(mapped):1F90", user: "0")) == 0)
        let others = line("\(own):C351", "\(own):1F90", user: "7") + line("\(own):1F90", "\(own):C350", user: "8")
        #expect(user(others) == nil)
        #expect(user(others, line("\(own):C350", "\(own):1F90")) == 1000)
        #expect(user(line("0200007F:C350", "\(own):1F90")) == nil)
    }

    @Test("a closed socket and a malformed line have no owner")
    func notFound() {
        let own = UInt32(1).littleEndian == 1 ? "0100007F" : "7F000001"
        for state in ["02", "04", "05", "06", "0A", "1"] {
            #expect(user(line("\(own):C350", "\(own):1F90", state: state)) == nil)
        }
        for number in ["-1", "x", "4294967296"] {
            #expect(user(line("\(own):C350", "\(own):1F90", user: number)) == nil)
        }
        #expect(user() == nil && user("\n\n", " 0: \(own):C350 \(own):1F90 01\n") == nil)
    }
}
