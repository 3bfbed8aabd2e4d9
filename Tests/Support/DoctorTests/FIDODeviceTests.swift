// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import HybridDoctor

@Suite("FIDO devices of the kernel")
struct FIDODeviceTests {
    /// The descriptor of a FIDO key: usage page, usage, collection, input and output report.
    static let key: [UInt8] = [
        0x06, 0xD0, 0xF1, 0x09, 0x01, 0xA1, 0x01, 0x09, 0x20, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40,
        0x81,
        0x02, 0x09, 0x21, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40, 0x91, 0x02, 0xC0,
    ]
    /// The beginning of the descriptor of a keyboard.
    static let keyboard: [UInt8] = [0x05, 0x01, 0x09, 0x06, 0xA1, 0x01, 0x05, 0x07, 0x19, 0xE0, 0x29, 0xE7, 0xC0]

    @Test("A descriptor with FIDO's usage page is one, in whatever place and form")
    func descriptors() {
        #expect(FIDODevice.isFIDO(reportDescriptor: Self.key))
        #expect(FIDODevice.isFIDO(reportDescriptor: Self.keyboard + Self.key))
        #expect(FIDODevice.isFIDO(reportDescriptor: [0x07, 0xD0, 0xF1, 0x00, 0x00]))
        #expect(FIDODevice.isFIDO(reportDescriptor: [0xFE, 0x02, 0x10, 0x06, 0xD0] + Self.key), "after a long item")
        for other: [UInt8] in [
            [], Self.keyboard, [0x06, 0xD0], [0x26, 0xD0, 0xF1], [0x0A, 0xD0, 0xF1], [0x06, 0xF1, 0xD0], [0xFE],
            [0xFE, 0x03, 0x10, 0x06, 0xD0, 0xF1], [0x27, 0x06, 0xD0, 0xF1, 0x00],
        ] {
            #expect(!FIDODevice.isFIDO(reportDescriptor: other), "\(other)")
        }
    }

    @Test("Random descriptors never crash")
    func randomDescriptors() {
        var generator = SeededGenerator()
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                UInt8.random(in: .min ... .max, using: &generator)
            }
            let isFIDO = FIDODevice.isFIDO(reportDescriptor: bytes)
            #expect(!isFIDO || bytes.count >= 3, "\(generator)")
        }
    }

    @Test("Devices of the helper are told from others by their place")
    func devices() async throws {
        try await TestFolder.with { folder in
            let devices = folder.path + "/sys/devices"
            func add(_ number: Int, _ place: String, _ descriptor: [UInt8]) throws {
                let device = "\(devices)/\(place)"
                let entry = "\(folder.path)/class/hidraw\(number)"
                try FileManager.default.createDirectory(atPath: device, withIntermediateDirectories: true)
                try FileManager.default.createDirectory(atPath: entry, withIntermediateDirectories: true)
                try Data(descriptor).write(to: URL(fileURLWithPath: device + "/report_descriptor"))
                try FileManager.default.createSymbolicLink(atPath: entry + "/device", withDestinationPath: device)
            }
            try add(0, "pci0000:00/usb1/0003:1050:0407.0001", Self.key)
            try add(1, "pci0000:00/usb1/0003:046D:C31C.0002", Self.keyboard)
            try add(2, "virtual/misc/uhid/0003:1209:CAB1.0003", Self.key)
            try add(3, "virtual/misc/uhid/0005:1209:CAB1.0004", Self.key)
            try add(4, "virtual/misc/uhid/0003:1209:F1D0.0005", Self.key)
            let found = FIDODevice.all(in: folder.path + "/class")
            #expect(found.map(\.name) == ["hidraw0", "hidraw2", "hidraw3", "hidraw4"])
            #expect(found.map(\.isVirtual) == [false, true, false, false])
            #expect(FIDODevice.all(in: folder.path + "/nothing").isEmpty)
        }
    }
}
