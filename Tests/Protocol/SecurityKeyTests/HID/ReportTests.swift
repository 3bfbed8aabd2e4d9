// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridPrimitives
import HybridSecurityKey
import TestSupport
import Testing

@Suite("Reports")
struct ReportTests {
    private static func padded(_ start: [UInt8]) -> [UInt8] { start + [UInt8](repeating: 0, count: 64 - start.count) }

    @Test("a report has 64 bytes")
    func length() {
        #expect(HIDReport(bytes: [UInt8](repeating: 1, count: 64)) != nil)
        for count in [0, 1, 63, 65, 128] { #expect(HIDReport(bytes: [UInt8](repeating: 1, count: count)) == nil) }
    }

    /// The example has the layout of CTAP 2.2 §11.2.9.1.3.
    @Test("INIT on the broadcast channel is answered byte for byte")
    func initialization() throws {
        let nonce: [UInt8] = [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]
        let request = try #require(HIDReport(bytes: Self.padded([0xFF, 0xFF, 0xFF, 0xFF, 0x86, 0, 8] + nonce)))
        for (supportsWink, capabilities) in [(false, 0x0C), (true, 0x0D)] as [(Bool, UInt8)] {
            let version = CTAPHIDDeviceVersion(major: 5, minor: 4, build: 3)
            var device = CTAPHIDDevice(version: version, supportsWink: supportsWink)
            let header: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0x86, 0, 17]
            let answer = header + nonce + [0, 0, 0, 1, 2, 5, 4, 3, capabilities]
            let report = try #require(HIDReport(bytes: Self.padded(answer)))
            #expect(device.receive(request, at: .zero) == [.send(report)])
        }
    }

    @Test("messages of every length survive the round trip", arguments: [0, 1, 56, 57, 58, 115, 116, 117, 7550, 7609])
    func ping(length: Int) throws {
        var device = ObservedDevice()
        let channel = try #require(try device.open())
        let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let message = ReferenceMessage(channel: channel, command: 0x01, payload: payload)
        #expect(try device.receive(message) == [message])
        #expect(message.reports.count == (length == 7609 ? 129 : max(1, (length - 57 + 58) / 59 + 1)))
    }

    @Test("a message beyond 7,609 bytes is rejected at once, and its packets are ignored")
    func tooLong() throws {
        var device = ObservedDevice()
        let channel = try #require(try device.open())
        for command in [0x01, 0x10] as [UInt8] {
            let start = ReferenceMessage.fourBytes(channel) + [command | 0x80, 0x1D, 0xBA]
            #expect(try device.receive(Self.padded(start)).map(\.payload) == [[0x03]])
            #expect(try device.receive(Self.padded(ReferenceMessage.fourBytes(channel) + [0])) == [])
        }
    }

    @Test("a response beyond 7,609 bytes becomes an error")
    func longResponse() throws {
        var device = ObservedDevice()
        let channel = try #require(try device.open())
        for (length, command) in [(7608, 0x10), (7609, 0x3F)] as [(Int, UInt8)] {
            _ = try device.receive(ReferenceMessage(channel: channel, command: 0x10, payload: [0x04]))
            let transaction = try #require(device.requests.last?.transaction)
            let response = CTAPResponse.success([UInt8](repeating: 1, count: length))
            #expect(try device.answer(transaction, with: response).map(\.command) == [command])
        }
    }

    @Test("every truncation of a message times out, and no bit flip crashes the device")
    func damage() throws {
        let message = ReferenceMessage(channel: 1, command: 0x10, payload: [UInt8](repeating: 0x42, count: 150))
        for count in message.reports.indices {
            var device = ObservedDevice()
            _ = try device.open()
            for report in message.reports.prefix(count) { #expect(try device.receive(report) == []) }
            let late = try device.advance(by: .milliseconds(500))
            #expect(late.map(\.payload) == (count == 0 ? [] : [[0x05]]))
            #expect(device.requests.isEmpty)
        }
        for (index, report) in message.reports.enumerated() {
            for flipped in Damage.bitFlips(of: report) {
                var device = ObservedDevice()
                _ = try device.open()
                for (other, report) in message.reports.enumerated() {
                    #expect(throws: Never.self) { try device.receive(other == index ? flipped : report) }
                }
            }
        }
    }
}
