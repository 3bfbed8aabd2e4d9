// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// Writes JSON (RFC 8259) into one buffer that can be wiped, because an export contains private keys.
struct JSONWriter {
    /// The text so far.
    private(set) var bytes: [UInt8] = []
    private var isFirst = true

    /// Overwrites and removes the text.
    mutating func wipe() {
        SecretBytes.wipe(&bytes)
        bytes = []
    }

    /// Writes an object, whose members `body` writes.
    mutating func object(_ body: (inout JSONWriter) -> Void) { enclosed("{", "}", body) }

    /// Writes an array, whose elements `body` writes with ``element(_:)``.
    mutating func array(_ body: (inout JSONWriter) -> Void) { enclosed("[", "]", body) }

    /// Writes an element of an array.
    mutating func element(_ body: (inout JSONWriter) -> Void) {
        separate()
        body(&self)
    }

    /// Writes a member of an object.
    mutating func member(_ name: StaticString, _ body: (inout JSONWriter) -> Void) {
        separate()
        append(quoting: "\(name)")
        bytes.append(UInt8(ascii: ":"))
        body(&self)
    }

    /// Writes a string member.
    mutating func member(_ name: StaticString, text: String) { member(name) { $0.append(quoting: text) } }

    /// Writes a number member.
    mutating func member(_ name: StaticString, number: UInt64) { member(name) { $0.append(plain: "\(number)") } }

    /// Writes a Boolean member.
    mutating func member(_ name: StaticString, boolean: Bool) {
        member(name) { $0.append(plain: boolean ? "true" : "false") }
    }

    /// Writes bytes as a base64url member.
    mutating func member(_ name: StaticString, bytes: some Sequence<UInt8>) {
        member(name) { writer in
            writer.append(plain: "\"")
            writer.append(base64URL: bytes)
            writer.append(plain: "\"")
        }
    }

    /// Appends text that needs no quoting.
    mutating func append(plain text: String) { bytes += text.utf8 }

    /// Appends a quoted string.
    mutating func append(quoting text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20, 0x7F: bytes += Array("\\u00".utf8) + Hex.encode([byte]).utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends bytes in base64url without padding.
    mutating func append(base64URL content: some Sequence<UInt8>) { Base64URL.append(content, to: &bytes) }

    private mutating func enclosed(_ begin: String, _ end: String, _ body: (inout JSONWriter) -> Void) {
        append(plain: begin)
        isFirst = true
        body(&self)
        isFirst = false
        append(plain: end)
    }

    private mutating func separate() {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
    }
}
