// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The word by which a relay knows who may open tunnels; never shown.
public struct TunnelToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// What stands in the request.
    let text: String

    /// Why a file gives no token.
    public enum FileFailure: Error, Hashable, Sendable {
        /// It can't be opened; the text is the system's.
        case unreadable(String)
        /// Nothing is in it.
        case empty
        /// Its first line is no token.
        case malformed
    }

    /// Takes 1 to 512 characters of RFC 6750's `b68token`; anything else is `nil`.
    public init?(_ text: String) {
        let isToken = text.utf8.allSatisfy { character in
            switch character {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-._~+/=".utf8.contains(character)
            }
        }
        guard (1...512).contains(text.utf8.count), isToken else { return nil }
        self.text = text
    }

    /// Reads the first line of a file.
    public init(file path: String) throws(FileFailure) {
        guard let file = fopen(path, "re") else { throw .unreadable(String(cString: strerror(errno))) }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 600)
        defer {
            buffer.withUnsafeMutableBytes { bytes in
                if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
            }
        }
        errno = 0
        guard fgets(&buffer, Int32(buffer.count), file) != nil else {
            // A folder can be opened, but not read.
            throw errno == 0 ? .empty : .unreadable(String(cString: strerror(errno)))
        }
        let line = buffer.prefix { $0 != 0 && $0 != 10 && $0 != 13 }.map { UInt8(bitPattern: $0) }
        guard let token = TunnelToken(String(decoding: line, as: UTF8.self)) else { throw .malformed }
        self = token
    }

    /// The type's name only.
    public var description: String { "TunnelToken(hidden)" }
    /// The type's name only.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension CheckOutcome {
    /// The same without a token that the relay may have repeated.
    func hiding(_ token: TunnelToken?) -> CheckOutcome {
        guard let token else { return self }
        func hidden(_ text: String) -> String { text.replacing(token.text, with: "(token)") }
        return switch self {
        case .ok(let text): .ok(hidden(text))
        case .differs(let text): .differs(hidden(text))
        case .skipped(let text): .skipped(hidden(text))
        case .prevented(let text): .prevented(hidden(text))
        }
    }
}
