// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import HybridUHID

/// Events as the kernel writes them: 4,376 bytes.
enum KernelEvent {
    static let report = (0..<64).map { UInt8($0 + 1) }

    /// Returns an event with a part at an offset, and zeros elsewhere.
    static func bytes(_ type: UInt8, _ parts: [(offset: Int, bytes: [UInt8])] = []) -> [UInt8] {
        var event = [UInt8](repeating: 0, count: 4376)
        event[0] = type
        for part in parts { event.replaceSubrange(part.offset..<part.offset + part.bytes.count, with: part.bytes) }
        return event
    }

    /// Returns the event of a program that sends a report, of 65 bytes by default: the report number 0 is the first.
    static func output(
        _ report: [UInt8] = report,
        number: UInt8 = 0,
        size: UInt16 = 65,
        kind: UInt8 = 1
    ) -> [UInt8] {
        bytes(6, [(4, [number] + report), (4100, [UInt8(size & 0xFF), UInt8(size >> 8), kind])])
    }

    /// Returns a request to get (9) or to set (13) a report.
    static func request(_ type: UInt8, id: [UInt8]) -> [UInt8] { bytes(type, [(4, id + [0, 0])]) }
}

@Suite("Events and requests of /dev/uhid")
struct EventTests {
    @Test("The device is a security key on USB, whatever the client wants")
    func create() throws {
        let bytes = UHIDRequest.create(serialNumber: "0123456789abcdef0123456789abcdef").bytes
        func field(_ range: Range<Int>) -> String {
            String(decoding: bytes[range].prefix { $0 != 0 }, as: UTF8.self)
        }
        try #require(bytes.count == 280 + 34)
        #expect(bytes[..<4] == [11, 0, 0, 0])
        #expect(field(4..<132) == "Hybrid security key (phone)")
        #expect(field(132..<196) == "hybrid-uhid")
        #expect(field(196..<260) == "0123456789abcdef0123456789abcdef")
        #expect(bytes[260..<262] == [34, 0], "length of the descriptor")
        #expect(bytes[262..<264] == [3, 0], "bus")
        #expect(bytes[264..<272] == [0x09, 0x12, 0, 0, 0xB1, 0xCA, 0, 0], "vendor and product")
        #expect(bytes[272..<280] == [1, 0, 0, 0, 0, 0, 0, 0], "version and country")
        let descriptor = "06d0f10901a1010920150026ff007508954081020921150026ff00750895409102c0"
        #expect(Array(bytes[280...]) == Hexadecimal.bytes(descriptor))
    }

    @Test("A long serial number stays within its field")
    func longSerialNumber() {
        let bytes = UHIDRequest.create(serialNumber: String(repeating: "a", count: 200)).bytes
        #expect(bytes.count == 280 + 34 && bytes[258] == 0x61 && bytes[259] == 0 && bytes[262] == 3)
    }

    @Test("Requests have the kernel's format")
    func requests() {
        let report = DeviceReport(SIMD64(KernelEvent.report))
        #expect(UHIDRequest.input(report).bytes == [12, 0, 0, 0, 64, 0] + KernelEvent.report)
        #expect(UHIDRequest.destroy.bytes == [1, 0, 0, 0])
        let id: UInt32 = 0x0403_0201
        #expect(UHIDRequest.rejectGetReport(id: id).bytes == [10, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0])
        #expect(UHIDRequest.rejectSetReport(id: id).bytes == [14, 0, 0, 0, 1, 2, 3, 4, 5, 0])
    }

    @Test("Events are decoded")
    func events() {
        let report = DeviceReport(SIMD64(KernelEvent.report))
        #expect(UHIDEvent(KernelEvent.output()) == .output(report))
        #expect(UHIDEvent(KernelEvent.request(9, id: [1, 2, 3, 4])) == .getReport(id: 0x0403_0201))
        #expect(UHIDEvent(KernelEvent.request(13, id: [9, 0, 0, 0])) == .setReport(id: 9))
        for type: UInt8 in [0, 1, 2, 3, 4, 5, 7, 8, 10, 11, 12, 14, 15, 255] {
            #expect(UHIDEvent(KernelEvent.bytes(type)) == .other, "\(type)")
        }
    }

    @Test("Output that is no report of this device is ignored")
    func otherOutput() {
        for event in [
            KernelEvent.output(size: 64), KernelEvent.output(size: 66), KernelEvent.output(size: 0),
            KernelEvent.output(size: 4096), KernelEvent.output(number: 1), KernelEvent.output(kind: 0),
            KernelEvent.output(kind: 2),
        ] {
            #expect(UHIDEvent(event) == .other)
        }
    }

    @Test("Events of another length are refused")
    func lengths() {
        let event = KernelEvent.output()
        for count in [0, 1, 3, 4, 69, 4102, 4375] { #expect(UHIDEvent(Array(event[..<count])) == nil, "\(count)") }
        #expect(UHIDEvent(event + [0]) == nil)
    }

    @Test("No changed bit leads to a crash or to a report that was not sent")
    func damagedEvents() {
        for damaged in Damage.someBitFlips(of: KernelEvent.output()) {
            guard case .output(let report) = UHIDEvent(damaged) else { continue }
            #expect(report.bytes == SIMD64(damaged[5..<69]))
        }
    }

    @Test("The top bit of the fifth byte marks the first report of a message")
    func reports() {
        var bytes = SIMD64(KernelEvent.report)
        bytes[4] = 0x7F
        #expect(!DeviceReport(bytes).beginsMessage)
        bytes[4] = 0x86
        #expect(DeviceReport(bytes).beginsMessage)
    }
}
