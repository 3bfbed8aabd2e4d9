// SPDX-License-Identifier: Apache-2.0

/// A limit on the number of values in a document, which is checked before decoding.
///
/// A value can be as short as two bytes, but a decoder allocates many times as much. A document of 16 MiB could
/// therefore take a gigabyte. Real documents have about twenty bytes for each counted mark.
enum DocumentBounds {
    /// Checks the number of values in a document.
    ///
    /// - Throws: ``ExchangeFile/ParseError`` if it has more than ``ExchangeFormat/maximumMarks`` marks or cannot be
    ///   JSON in UTF-8.
    static func check(_ json: [UInt8]) throws(ExchangeFile.ParseError) {
        guard let marks = marks(json) else { throw ExchangeFile.ParseError(reason: "it is not JSON") }
        guard marks <= ExchangeFormat.maximumMarks else {
            throw ExchangeFile.ParseError(reason: "it has more than \(ExchangeFormat.maximumMarks) values")
        }
    }

    /// Returns the number of opening brackets, colons and commas outside strings; `nil` if there is a zero byte.
    ///
    /// JSON in UTF-8 has no zero byte, but JSON in UTF-16 or UTF-32 always does, and decoders accept it. In those
    /// encodings, the byte of a quotation mark may be part of another character, so strings could not be recognized.
    private static func marks(_ json: [UInt8]) -> Int? {
        json.withUnsafeBufferPointer { bytes -> Int? in
            var count = 0
            var isString = false
            var index = 0
            while index < bytes.count {
                switch bytes[index] {
                case 0: return nil
                case UInt8(ascii: "\""): isString.toggle()
                // The next byte belongs to the string; a zero byte is left for the first case.
                case UInt8(ascii: "\\") where isString && index + 1 < bytes.count && bytes[index + 1] != 0: index += 1
                case UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: ":"), UInt8(ascii: ","):
                    if !isString { count += 1 }
                default: break
                }
                index += 1
            }
            return count
        }
    }
}
