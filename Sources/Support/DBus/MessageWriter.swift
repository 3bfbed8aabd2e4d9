// SPDX-License-Identifier: Apache-2.0

internal import CHybridSystemd

/// A writer of message bodies.
struct MessageWriter {
    private let message: OpaquePointer

    /// Appends `values` to `message`.
    static func append(_ values: [BusValue], to message: OpaquePointer) throws(BusError) {
        let writer = MessageWriter(message: message)
        for value in values {
            try writer.append(value, depth: 0)
        }
    }

    private func append(_ value: BusValue, depth: Int) throws(BusError) {
        guard depth < BusLimits.depth else { throw .malformed("value nested too deeply") }
        switch value {
        case .byte(let number): try basic("y", number)
        case .bool(let flag): try basic("b", Int32(flag ? 1 : 0))
        case .int16(let number): try basic("n", number)
        case .uint16(let number): try basic("q", number)
        case .int32(let number): try basic("i", number)
        case .uint32(let number): try basic("u", number)
        case .int64(let number): try basic("x", number)
        case .uint64(let number): try basic("t", number)
        case .double(let number): try basic("d", number)
        case .string(let text): try self.text("s", text)
        case .objectPath(let text): try self.text("o", text)
        case .signature(let text): try self.text("g", text)
        case .bytes(let bytes): try self.bytes(bytes)
        case .array(let element, let elements): try container("a", element, elements, depth: depth)
        case .dictionary(let key, let value, let entries):
            try open("a", "{" + key + value + "}")
            for entry in entries {
                try container("e", key + value, [entry.key, entry.value], depth: depth + 1)
            }
            try close()
        case .structure(let fields):
            try container("r", fields.map(\.typeSignature).joined(), fields, depth: depth)
        case .variant(let inner): try container("v", inner.typeSignature, [inner], depth: depth)
        }
    }

    private func check(_ result: CInt) throws(BusError) {
        guard result >= 0 else { throw .malformed("values that do not make a message") }
    }

    private func basic<Number>(_ type: Unicode.Scalar, _ number: Number) throws(BusError) {
        let result = withUnsafeBytes(of: number) {
            sd_bus_message_append_basic(message, CChar(truncatingIfNeeded: type.value), $0.baseAddress)
        }
        try check(result)
    }

    private func text(_ type: Unicode.Scalar, _ text: String) throws(BusError) {
        // A C string ends at the first NUL, so the rest would be lost without an error.
        guard !text.utf8.contains(0) else { throw .malformed("text with a NUL") }
        try check(text.withCString { sd_bus_message_append_basic(message, CChar(truncatingIfNeeded: type.value), $0) })
    }

    private func bytes(_ bytes: [UInt8]) throws(BusError) {
        let result = bytes.withUnsafeBytes {
            sd_bus_message_append_array(message, CChar(UInt8(ascii: "y")), $0.baseAddress, $0.count)
        }
        try check(result)
    }

    private func container(
        _ type: Unicode.Scalar,
        _ contents: String,
        _ values: [BusValue],
        depth: Int
    ) throws(BusError) {
        try open(type, contents)
        for value in values {
            try append(value, depth: depth + 1)
        }
        try close()
    }

    private func open(_ type: Unicode.Scalar, _ contents: String) throws(BusError) {
        try check(sd_bus_message_open_container(message, CChar(truncatingIfNeeded: type.value), contents))
    }

    private func close() throws(BusError) {
        try check(sd_bus_message_close_container(message))
    }
}
