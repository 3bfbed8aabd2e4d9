// SPDX-License-Identifier: Apache-2.0

package import HybridPrimitives

/// A code that the camera, the clipboard or a link has given, on its way to the helper; wiped after its use.
///
/// Anyone who has it can take part in the sign-in, so it has no description and is never stored.
package struct ScannedCode {
    /// The line for the helper's standard input, with its line feed.
    package let line: SecretBytes
    /// The purpose of the code.
    package let kind: Kind

    /// A purpose of a code.
    package enum Kind: Equatable, Sendable {
        /// A sign-in, or another request of a computer.
        case signIn
        /// A relay, which its operator offers.
        case relay
        /// Passkeys, which the device that shows the code receives.
        case transfer
    }

    /// Creates a code from text; `nil` if the text is no code.
    ///
    /// The helper decides whether a code is valid. This check only keeps other texts, such as those of a clipboard, from
    /// the helper.
    package init?(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// Creates a code from text in UTF-8; `nil` if the text is no code.
    package init?(_ text: [UInt8]) {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
        let start = text.firstIndex { !isSpace($0) } ?? text.endIndex
        let end = text.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? start
        let code = text[start..<end]
        guard code.count <= Self.maximumLength else { return nil }
        if Self.rest(of: code, after: "fido:/").map(Self.isDigits) == true {
            kind = .signIn
        } else if Self.rest(of: code, after: "hybrid:/").map(Self.isDigits) == true {
            kind = .transfer
        } else if Self.rest(of: code, after: "hybrid-relay:").map(Self.isVisible) == true {
            kind = .relay
        } else {
            return nil
        }
        line = SecretBytes(count: code.count + 1)
        line.memory.copyBytes(from: code)
        line.memory[code.count] = UInt8(ascii: "\n")
    }

    /// The text of a relay's link, which is public; `nil` for other codes.
    package var relayLink: String? {
        kind == .relay ? String(decoding: line.memory.dropLast(), as: UTF8.self) : nil
    }

    private static let maximumLength = 4096

    private static func rest(of code: ArraySlice<UInt8>, after prefix: String) -> ArraySlice<UInt8>? {
        guard code.count > prefix.utf8.count else { return nil }
        let matches = zip(code, prefix.utf8).allSatisfy { byte, expected in
            ((0x41...0x5A).contains(byte) ? byte + 0x20 : byte) == expected
        }
        return matches ? code.dropFirst(prefix.utf8.count) : nil
    }

    private static func isDigits(_ rest: ArraySlice<UInt8>) -> Bool {
        // Programs that pass links on may add a slash.
        let digits = rest.first == UInt8(ascii: "/") ? rest.dropFirst() : rest
        return !digits.isEmpty && digits.allSatisfy { (0x30...0x39).contains($0) }
    }

    private static func isVisible(_ rest: ArraySlice<UInt8>) -> Bool {
        rest.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
