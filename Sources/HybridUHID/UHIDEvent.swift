// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// One report of the device: 64 bytes, without a report number.
struct DeviceReport: Hashable, Sendable {
    /// Length in bytes.
    static let length = 64

    /// The 64 bytes, in place rather than in an array, which would need an allocation.
    let bytes: SIMD64<UInt8>

    /// Creates a report.
    init(_ bytes: SIMD64<UInt8>) { self.bytes = bytes }

    /// True if the report is the first of a CTAPHID message, the only thing that is read from reports.
    var beginsMessage: Bool { bytes[4] & 0x80 != 0 }
}

/// An event of the kernel: `struct uhid_event` of `linux/uhid.h`, which is packed and in the byte order of the processor.
enum UHIDEvent: Hashable, Sendable {
    /// Length in bytes of what the kernel writes for one event.
    static let length = 4376

    /// A program sent a report to the device.
    case output(DeviceReport)
    /// A program asks for a report, and waits for 5 s unless it gets a reply.
    case getReport(id: UInt32)
    /// A program sets a report, and waits for 5 s unless it gets a reply.
    case setReport(id: UInt32)
    /// Any other event, or an output that is not a report of this device.
    case other

    /// Creates the event from the bytes of one read(2); `nil` for another length.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        func value<Value: BitwiseCopyable>(at offset: Int) -> Value {
            bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Value.self) }
        }
        switch value(at: 0) as UInt32 {
        case 6:
            // The kernel passes the number of the report on, which is 0 for a device without numbers.
            let isReport = value(at: 4100) == UInt16(1 + DeviceReport.length) && value(at: 4102) == UInt8(1)
            self = isReport && bytes[4] == 0 ? .output(DeviceReport(value(at: 5))) : .other
        case 9: self = .getReport(id: value(at: 4))
        case 13: self = .setReport(id: value(at: 4))
        default: self = .other
        }
    }
}

/// A request to the kernel, in the same format as an event.
///
/// Zeros at its end are left out.
struct UHIDRequest: Hashable, Sendable {
    /// The bytes for one write(2).
    let bytes: [UInt8]

    /// Creates the device.
    ///
    /// Everything except the serial number is constant, so that no client can create a keyboard. The bus is USB, because
    /// libfido2 ignores security keys on others. docs/uhid.md is about the identifiers.
    ///
    /// - Parameter serialNumber: At most 63 bytes of ASCII.
    static func create(serialNumber: String) -> Self {
        Self(
            number(UInt32(11)) + text("Hybrid security key (phone)", size: 128) + text("hybrid-uhid", size: 64)
                + text(serialNumber, size: 64) + number(UInt16(descriptor.count)) + number(busUSB)
                + number(UInt32(0x1209)) + number(UInt32(0xCAB1)) + number(UInt32(1)) + number(UInt32(0)) + descriptor
        )
    }

    /// Removes the device.
    static let destroy = Self(number(UInt32(1)))

    /// Sends a report of the device to the programs that have it open.
    static func input(_ report: DeviceReport) -> Self {
        Self(number(UInt32(12)) + number(UInt16(DeviceReport.length)) + number(report.bytes))
    }

    /// Rejects a request for a report.
    static func rejectGetReport(id: UInt32) -> Self {
        Self(number(UInt32(10)) + number(id) + number(UInt16(EIO)) + number(UInt16(0)))
    }

    /// Rejects a request to set a report.
    static func rejectSetReport(id: UInt32) -> Self {
        Self(number(UInt32(14)) + number(id) + number(UInt16(EIO)))
    }

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    private static let busUSB: UInt16 = 3

    /// The report descriptor of CTAP 2.2 §11.2.8.2: usage page FIDO, one input and one output report of 64 bytes.
    private static let descriptor: [UInt8] = [
        0x06, 0xD0, 0xF1, 0x09, 0x01, 0xA1, 0x01, 0x09, 0x20, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40,
        0x81, 0x02, 0x09, 0x21, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40, 0x91, 0x02, 0xC0,
    ]

    private static func number(_ value: some BitwiseCopyable) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

    /// Returns the text in a field that ends with at least one zero.
    private static func text(_ text: String, size: Int) -> [UInt8] {
        let bytes = Array(text.utf8.prefix(size - 1))
        return bytes + [UInt8](repeating: 0, count: size - bytes.count)
    }
}
