// SPDX-License-Identifier: Apache-2.0

package import HybridPrimitives

/// A line that answers a question, with the secret that it may contain; wiped on release.
package struct SheetAnswer: SecretMaterial {
    /// The line with its line feed.
    package let line: SecretBytes

    private init(_ line: SecretBytes) { self.line = line }

    /// The first line of the program.
    package static var ready: SheetAnswer { SheetAnswer(plain: #"{"ready":1}"#) }

    private init(plain text: String) {
        self.init(Self.copy(Array("\(text)\n".utf8)))
    }

    /// The user declined.
    static func decline(_ number: Int) -> SheetAnswer { SheetAnswer(plain: #"{"answer":\#(number),"decline":true}"#) }

    /// The user agreed.
    static func agree(_ number: Int) -> SheetAnswer { SheetAnswer(plain: #"{"answer":\#(number),"agree":true}"#) }

    /// The user chose an account.
    static func account(_ index: Int, _ number: Int) -> SheetAnswer {
        SheetAnswer(plain: #"{"answer":\#(number),"account":\#(index)}"#)
    }

    /// The user agreed and typed a name, in UTF-8.
    static func agree(_ number: Int, named name: SecretBytes) -> SheetAnswer {
        text(name, after: #"{"answer":\#(number),"agree":true,"name":""#)
    }

    /// The user typed a secret, in UTF-8.
    static func text(_ secret: SecretBytes, as member: String, _ number: Int) -> SheetAnswer {
        text(secret, after: #"{"answer":\#(number),"\#(member)":""#)
    }

    /// Returns a line that ends with a text.
    private static func text(_ secret: SecretBytes, after head: String) -> SheetAnswer {
        let start = Array(head.utf8)
        let end = Array("\"}\n".utf8)
        // An escaped byte has six characters.
        let buffer = SecretBytes(count: start.count + 6 * secret.memory.count + end.count)
        var count = 0
        func append(_ byte: UInt8) {
            buffer.memory[count] = byte
            count += 1
        }
        start.forEach(append)
        for byte in secret.memory {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(byte)
            case ..<0x20:
                "\\u00".utf8.forEach(append)
                append(hexadecimal(byte >> 4))
                append(hexadecimal(byte & 15))
            default: append(byte)
            }
        }
        end.forEach(append)
        return SheetAnswer(SecretBytes(copying: UnsafeRawBufferPointer(rebasing: buffer.memory[..<count])))
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }

    private static func copy(_ bytes: [UInt8]) -> SecretBytes {
        bytes.withUnsafeBytes { SecretBytes(copying: $0) }
    }
}
