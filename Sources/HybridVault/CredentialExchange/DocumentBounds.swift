// SPDX-License-Identifier: Apache-2.0

/// Limit of the number of values in a document, checked before it is decoded.
///
/// A decoder allocates many times the two bytes that a value can have: 16 MiB of such values would cost a gigabyte.
/// Real documents have about twenty bytes for each mark that is counted.
enum DocumentBounds {
    /// Checks a document.
    ///
    /// - Throws: ``ExchangeFile/ParseError`` if it has more than ``ExchangeFormat/maximumMarks`` marks or cannot be JSON
    ///   in UTF-8.
    static func check(_ json: [UInt8]) throws(ExchangeFile.ParseError) {
        guard let marks = marks(json) else { throw ExchangeFile.ParseError(reason: "it is not JSON") }
        guard marks <= ExchangeFormat.maximumMarks else {
            throw ExchangeFile.ParseError(reason: "it has more than \(ExchangeFormat.maximumMarks) values")
        }
    }

    /// Counts opening brackets, colons and commas outside strings; `nil` if there is a zero byte.
    ///
    /// JSON in UTF-8 has no zero byte, but UTF-16 and UTF-32 always do, and decoders accept those. There a quotation
    /// mark may be half of a character, so strings could not be recognized.
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
