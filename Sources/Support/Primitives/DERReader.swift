// SPDX-License-Identifier: Apache-2.0

/// A reader that takes elements from the front of DER data (X.690).
///
/// Lengths must be definite, below 16 MiB, and encoded in the shortest form.
package struct DERReader {
    /// The identifier octet of an element.
    package struct Tag: RawRepresentable, Hashable, Sendable {
        /// The octet.
        package let rawValue: UInt8
        /// Creates a tag from its octet.
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// INTEGER.
        package static let integer = Tag(rawValue: 0x02)
        /// BIT STRING.
        package static let bitString = Tag(rawValue: 0x03)
        /// OCTET STRING.
        package static let octetString = Tag(rawValue: 0x04)
        /// OBJECT IDENTIFIER.
        package static let objectIdentifier = Tag(rawValue: 0x06)
        /// SEQUENCE.
        package static let sequence = Tag(rawValue: 0x30)
        /// SET.
        package static let set = Tag(rawValue: 0x31)
        /// Returns the tag of a constructed, context-specific element such as `[0]`; `number` is 0 to 30.
        package static func context(_ number: UInt8) -> Tag { Tag(rawValue: 0xA0 | number & 0x1F) }
    }

    private var rest: ArraySlice<UInt8>

    /// Creates a reader of `bytes`.
    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// The tag of the next element; `nil` at the end.
    package var nextTag: Tag? { rest.first.map(Tag.init) }

    /// True if nothing is left.
    package var isAtEnd: Bool { rest.isEmpty }

    /// Takes the next element if it has `tag`.
    ///
    /// - Returns: The element's contents, or `nil` if nothing was taken.
    package mutating func take(_ tag: Tag) -> ArraySlice<UInt8>? {
        guard nextTag == tag else { return nil }
        return takeContents()
    }

    /// Takes the next element if it has `tag`, and returns a reader of its contents; otherwise returns `nil`.
    package mutating func enter(_ tag: Tag) -> DERReader? { take(tag).map(DERReader.init) }

    /// Takes the next element and returns its text.
    ///
    /// - Returns: `nil` if the element is not a UTF8String, PrintableString, IA5String, TeletexString or BMPString.
    package mutating func takeText() -> String? {
        guard let tag = rest.first, let bytes = takeContents() else { return nil }
        switch tag {
        case 0x0C, 0x13, 0x16: return String(decoding: bytes, as: UTF8.self)
        case 0x14: return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        case 0x1E:
            let units = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).map {
                UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
            }
            return String(decoding: units, as: UTF16.self)
        default: return nil
        }
    }

    private mutating func takeContents() -> ArraySlice<UInt8>? {
        var reading = rest.dropFirst()
        guard let first = reading.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard (1...3).contains(count), reading.count >= count else { return nil }
            length = reading.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            guard length >= (count == 1 ? 0x80 : 1 << (8 * (count - 1))) else { return nil }
            reading = reading.dropFirst(count)
        }
        guard reading.count >= length else { return nil }
        rest = reading.dropFirst(length)
        return reading.prefix(length)
    }
}
