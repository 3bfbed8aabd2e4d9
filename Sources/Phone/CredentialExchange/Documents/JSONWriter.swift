// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// A writer for JSON (RFC 8259) into one buffer that can be wiped, because an export contains private keys.
package struct JSONWriter {
    /// The text so far.
    package private(set) var bytes: [UInt8] = []
    /// True if no comma precedes the next value: at the beginning, after an opening bracket and after a name.
    private var isFirst = true

    /// Creates an empty writer.
    package init() {}

    /// Overwrites and removes the text.
    package mutating func wipe() {
        SecretBytes.wipe(&bytes)
        bytes = []
    }

    /// Writes an object, whose members `body` writes.
    mutating func object(_ body: (inout JSONWriter) -> Void) { enclosed("{", "}", body) }

    /// Writes a member that is an object, whose members `body` writes.
    mutating func object(_ name: StaticString, _ body: (inout JSONWriter) -> Void) {
        append(name: name)
        object(body)
    }

    /// Writes a member that is an array, whose elements `body` writes.
    mutating func array(_ name: StaticString, _ body: (inout JSONWriter) -> Void) {
        append(name: name)
        enclosed("[", "]", body)
    }

    /// Writes a string.
    mutating func string(_ text: String) {
        separate()
        append(quoting: text)
    }

    /// Writes a string member.
    mutating func member(_ name: StaticString, text: String) {
        append(name: name)
        string(text)
    }

    /// Writes a number member.
    mutating func member(_ name: StaticString, number: UInt64) {
        append(name: name)
        append(value: "\(number)")
    }

    /// Writes a Boolean member.
    mutating func member(_ name: StaticString, boolean: Bool) {
        append(name: name)
        append(value: boolean ? "true" : "false")
    }

    /// Writes bytes as a base64url member.
    mutating func member(_ name: StaticString, bytes content: some Sequence<UInt8>) {
        append(name: name)
        append(value: "\"")
        Base64URL.append(content, to: &bytes)
        append(plain: "\"")
    }

    /// Appends text as it is, without quotation marks or escapes.
    mutating func append(plain text: String) { bytes += text.utf8 }

    private mutating func append(quoting text: String) {
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

    private mutating func append(name: StaticString) {
        string("\(name)")
        append(plain: ":")
        isFirst = true
    }

    private mutating func append(value text: String) {
        separate()
        append(plain: text)
    }

    private mutating func enclosed(_ begin: String, _ end: String, _ body: (inout JSONWriter) -> Void) {
        append(value: begin)
        isFirst = true
        body(&self)
        isFirst = false
        append(plain: end)
    }

    private mutating func separate() {
        if !isFirst { append(plain: ",") }
        isFirst = false
    }
}
