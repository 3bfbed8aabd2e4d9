// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// Writes JSON (RFC 8259) into one buffer that can be wiped: the text of an export holds keys.
struct JSONWriter {
    /// What was written.
    private(set) var bytes: [UInt8] = []
    private var isFirst = true

    /// Overwrites what was written.
    mutating func wipe() {
        SecretBytes.wipe(&bytes)
        bytes = []
    }

    /// An object, whose members `body` writes.
    mutating func object(_ body: (inout JSONWriter) -> Void) { enclosed("{", "}", body) }

    /// An array, whose elements `body` writes, each by ``element(_:)``.
    mutating func array(_ body: (inout JSONWriter) -> Void) { enclosed("[", "]", body) }

    /// An element of an array.
    mutating func element(_ body: (inout JSONWriter) -> Void) {
        separate()
        body(&self)
    }

    /// A member of an object.
    mutating func member(_ name: StaticString, _ body: (inout JSONWriter) -> Void) {
        separate()
        append(quoting: "\(name)")
        bytes.append(UInt8(ascii: ":"))
        body(&self)
    }

    /// A member that is a text.
    mutating func member(_ name: StaticString, text: String) { member(name) { $0.append(quoting: text) } }

    /// A member that is a number.
    mutating func member(_ name: StaticString, number: UInt64) { member(name) { $0.append(plain: "\(number)") } }

    /// A member that is true or false.
    mutating func member(_ name: StaticString, boolean: Bool) {
        member(name) { $0.append(plain: boolean ? "true" : "false") }
    }

    /// A member that holds bytes.
    mutating func member(_ name: StaticString, bytes: some Sequence<UInt8>) {
        member(name) { writer in
            writer.append(plain: "\"")
            writer.append(base64URL: bytes)
            writer.append(plain: "\"")
        }
    }

    /// Text that needs no quoting.
    mutating func append(plain text: String) { bytes += text.utf8 }

    /// A string.
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

    /// Bytes in base64url, without padding.
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
