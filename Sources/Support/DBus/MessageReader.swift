// SPDX-License-Identifier: Apache-2.0

internal import CHybridSystemd
private import Glibc

/// A reader of message bodies, which enforces `BusLimits`.
struct MessageReader {
    private let message: OpaquePointer
    private let selection: BusSelection
    private var weight = 0

    /// Returns the body of `message`, with only the selected entries of dictionaries.
    static func body(
        of message: OpaquePointer,
        _ selection: BusSelection = .everything
    ) throws(BusError) -> [BusValue] {
        var reader = MessageReader(message: message, selection: selection)
        return try reader.rest(depth: 0)
    }

    /// Returns the remaining values of the container being read.
    private mutating func rest(depth: Int) throws(BusError) -> [BusValue] {
        var values: [BusValue] = []
        while let next = try peek() {
            values.append(try value(next, depth: depth))
        }
        return values
    }

    private struct Next {
        let type: UInt8
        let contents: String
    }

    private func peek() throws(BusError) -> Next? {
        var type: CChar = 0
        var contents: UnsafePointer<CChar>?
        let result = sd_bus_message_peek_type(message, &type, &contents)
        guard result >= 0 else { throw .malformed("unreadable message") }
        return result == 0 ? nil : Next(type: UInt8(bitPattern: type), contents: BusMessage.text(contents))
    }

    private mutating func count(_ more: Int) throws(BusError) {
        weight += more
        guard weight <= BusLimits.weight else { throw .malformed("message too large") }
    }

    private mutating func value(_ next: Next, depth: Int) throws(BusError) -> BusValue {
        guard depth < BusLimits.depth else { throw .malformed("message nested too deeply") }
        try count(1)
        switch next.type {
        case UInt8(ascii: "y"): return .byte(try basic(next, UInt8(0)))
        case UInt8(ascii: "b"): return .bool(try basic(next, Int32(0)) != 0)
        case UInt8(ascii: "n"): return .int16(try basic(next, Int16(0)))
        case UInt8(ascii: "q"): return .uint16(try basic(next, UInt16(0)))
        case UInt8(ascii: "i"): return .int32(try basic(next, Int32(0)))
        case UInt8(ascii: "u"): return .uint32(try basic(next, UInt32(0)))
        case UInt8(ascii: "x"): return .int64(try basic(next, Int64(0)))
        case UInt8(ascii: "t"): return .uint64(try basic(next, UInt64(0)))
        case UInt8(ascii: "d"): return .double(try basic(next, Double(0)))
        case UInt8(ascii: "s"): return .string(try text(next))
        case UInt8(ascii: "o"): return .objectPath(try text(next))
        case UInt8(ascii: "g"): return .signature(try text(next))
        case UInt8(ascii: "a"): return try array(next, depth: depth)
        case UInt8(ascii: "r"): return .structure(try inside(next, depth: depth))
        case UInt8(ascii: "v"):
            guard let inner = try inside(next, depth: depth).first else { throw .malformed("empty variant") }
            return .variant(inner)
        default: throw .malformed("unsupported type")
        }
    }

    private func basic<Number>(_ next: Next, _ zero: Number) throws(BusError) -> Number {
        var number = zero
        let result = withUnsafeMutableBytes(of: &number) {
            sd_bus_message_read_basic(message, CChar(bitPattern: next.type), $0.baseAddress)
        }
        guard result > 0 else { throw .malformed("unreadable number") }
        return number
    }

    private mutating func text(_ next: Next) throws(BusError) -> String {
        var pointer: UnsafePointer<CChar>?
        let result = sd_bus_message_read_basic(message, CChar(bitPattern: next.type), &pointer)
        guard result > 0, let pointer else { throw .malformed("unreadable text") }
        let text = String(cString: pointer)
        try count(text.utf8.count)
        return text
    }

    private mutating func array(_ next: Next, depth: Int) throws(BusError) -> BusValue {
        if next.contents == "y" { return .bytes(try bytes()) }
        let contents = next.contents.utf8
        guard contents.first == UInt8(ascii: "{"), contents.last == UInt8(ascii: "}"), contents.count >= 4 else {
            return .array(next.contents, try inside(next, depth: depth))
        }
        let (key, value) = (String(contents.dropFirst().prefix(1)), String(contents.dropFirst(2).dropLast()))
        guard let key, let value else { throw .malformed("unreadable signature") }
        var entries: [BusEntry] = []
        try enter(next)
        while let pair = try peek() {
            try enter(pair)
            if key == "s" {
                if let read = try selected(value: value, depth: depth) { entries.append(read) }
            } else {
                let both = try rest(depth: depth + 1)
                guard both.count == 2 else { throw .malformed("unreadable dictionary") }
                entries.append(BusEntry(both[0], both[1]))
            }
            try leave()
        }
        try leave()
        return .dictionary(key, value, entries)
    }

    /// Returns the dictionary entry being read, whose key is a string; `nil` if it is not selected.
    private mutating func selected(value signature: String, depth: Int) throws(BusError) -> BusEntry? {
        var pointer: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(message, CChar(UInt8(ascii: "s")), &pointer) > 0, let pointer else {
            throw .malformed("unreadable text")
        }
        guard selection.contains(pointer) else {
            guard sd_bus_message_skip(message, signature) >= 0 else { throw .malformed("unreadable dictionary") }
            return nil
        }
        let key = String(cString: pointer)
        try count(1 + key.utf8.count)
        let value = try rest(depth: depth + 1)
        guard value.count == 1 else { throw .malformed("unreadable dictionary") }
        return BusEntry(.string(key), value[0])
    }

    private mutating func bytes() throws(BusError) -> [UInt8] {
        var pointer: UnsafeRawPointer?
        var size = 0
        guard sd_bus_message_read_array(message, CChar(UInt8(ascii: "y")), &pointer, &size) > 0 else {
            throw .malformed("unreadable bytes")
        }
        try count(size)
        return Array(UnsafeRawBufferPointer(start: pointer, count: size))
    }

    private mutating func inside(_ next: Next, depth: Int) throws(BusError) -> [BusValue] {
        try enter(next)
        let values = try rest(depth: depth + 1)
        try leave()
        return values
    }

    private func enter(_ next: Next) throws(BusError) {
        guard sd_bus_message_enter_container(message, CChar(bitPattern: next.type), next.contents) > 0 else {
            throw .malformed("unreadable container")
        }
    }

    private func leave() throws(BusError) {
        guard sd_bus_message_exit_container(message) >= 0 else { throw .malformed("unreadable container") }
    }
}

/// The dictionary entries to read from a message.
///
/// All other entries are skipped and do not count toward `BusLimits`. bluetoothd sends about 15 properties for every
/// device, and there may be thousands of devices. A program that needs only two of the properties should neither wait
/// for the rest nor exceed a limit because of them. Only string keys are compared; entries with other keys are always
/// read.
package struct BusSelection: Sendable {
    /// All entries.
    package static let everything = BusSelection(keys: nil)

    /// The keys, each with a terminating NUL; `nil` selects all entries.
    private let keys: [[CChar]]?

    private init(keys: [[CChar]]?) {
        self.keys = keys
    }

    /// Creates a selection of the entries with these keys in any dictionary; the case of keys is ignored.
    package init(_ keys: [String]) {
        self.init(keys: keys.map { Array($0.utf8CString) })
    }

    /// Returns true if entries with this key are read.
    func contains(_ key: UnsafePointer<CChar>) -> Bool {
        guard let keys else { return true }
        return keys.contains { strcasecmp($0, key) == 0 }
    }
}

/// Limits for messages from the bus, to which every program on the computer can connect.
package enum BusLimits {
    /// The maximum nesting depth of containers.
    ///
    /// D-Bus itself allows 64.
    package static let depth = 32
    /// The maximum weight of a message: its number of values plus the number of bytes in texts and byte arrays.
    ///
    /// On a computer with 500 known Bluetooth devices, the reply to GetManagedObjects has about 400,000.
    package static let weight = 4 << 20
    /// The maximum number of received method calls that wait for a deferred reply.
    package static let deferredReplies = 1024
    /// The maximum number of sent method calls that wait for a reply.
    package static let pendingCalls = 4096
}
