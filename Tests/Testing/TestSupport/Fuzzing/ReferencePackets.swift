// SPDX-License-Identifier: Apache-2.0

/// A message of CTAPHID, written and read independently of the code under test.
package struct ReferenceMessage: Hashable {
    package var channel: UInt32
    /// The command without its top bit.
    package var command: UInt8
    package var payload: [UInt8]

    package init(channel: UInt32, command: UInt8, payload: [UInt8]) {
        self.channel = channel
        self.command = command
        self.payload = payload
    }

    /// The reports that carry the message, each of 64 bytes.
    package var reports: [[UInt8]] {
        let prefix = Self.fourBytes(channel)
        var stream = payload
        var reports: [[UInt8]] = []
        repeat {
            let isFirst = reports.isEmpty
            var report = prefix
            if isFirst {
                report += [command | 0x80, UInt8(payload.count / 256), UInt8(payload.count % 256)]
            } else {
                report.append(UInt8(reports.count - 1))
            }
            let space = 64 - report.count
            report += stream.prefix(space)
            stream.removeFirst(min(space, stream.count))
            report += [UInt8](repeating: 0, count: 64 - report.count)
            reports.append(report)
        } while !stream.isEmpty
        return reports
    }

    /// Returns the bytes of a number, big-endian.
    package static func fourBytes(_ number: UInt32) -> [UInt8] {
        [UInt8(number >> 24), UInt8(number >> 16 & 0xFF), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)]
    }
}

/// A reader that joins the reports of a device to messages.
package struct ReferenceReader {
    private struct Part {
        var message: ReferenceMessage
        var length: Int
        var sequence: UInt8
    }

    private var parts: [UInt32: Part] = [:]

    package init() {}

    /// True if no message is incomplete.
    package var isIdle: Bool { parts.isEmpty }

    /// Reads a report and returns the message that it completes.
    package mutating func read(_ report: [UInt8]) throws -> ReferenceMessage? {
        try invariant(report.count == 64, "a report has 64 bytes")
        let channel = report[0..<4].reduce(0) { $0 * 256 + UInt32($1) }
        var part: Part
        if report[4] >= 0x80 {
            try invariant(parts[channel] == nil, "messages of a channel do not overlap")
            let message = ReferenceMessage(channel: channel, command: report[4] - 0x80, payload: Array(report[7...]))
            part = Part(message: message, length: Int(report[5]) * 256 + Int(report[6]), sequence: 0)
        } else {
            part = try present(parts[channel], "a continuation follows a beginning")
            try invariant(report[4] == part.sequence, "packets are numbered")
            part.message.payload += report[5...]
            part.sequence += 1
        }
        guard part.message.payload.count >= part.length else {
            parts[channel] = part
            return nil
        }
        parts[channel] = nil
        try invariant(part.message.payload[part.length...].allSatisfy { $0 == 0 }, "zeros fill the last packet")
        part.message.payload.removeSubrange(part.length...)
        return part.message
    }
}
