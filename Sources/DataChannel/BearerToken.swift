// SPDX-License-Identifier: Apache-2.0

/// The word by which a relay knows who may open tunnels; printable ASCII without spaces, never shown.
public struct BearerToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let text: String

    /// Takes 1 to 512 characters of RFC 6750's `b68token`; anything else is `nil`.
    public init?(_ text: String) {
        let isToken = text.utf8.allSatisfy { character in
            switch character {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
                true
            default: false
            }
        }
        guard (1...512).contains(text.utf8.count), isToken else { return nil }
        self.text = text
    }

    /// The type's name only.
    public var description: String { "BearerToken(hidden)" }
    /// The type's name only.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
