// SPDX-License-Identifier: Apache-2.0

/// How much a document holds, counted before anything of it is decoded.
///
/// A decoder notes every value, which costs many times the two bytes that a value can be: 16 MiB of them would cost a
/// gigabyte. Real documents have names and texts in them, and some twenty bytes for each of the marks that are counted.
enum DocumentBounds {
    /// - Throws: ``ExchangeFile/Refusal`` for more than ``ExchangeFormat/maximumMarks``, or for what is not UTF-8's JSON.
    static func check(_ json: [UInt8]) throws(ExchangeFile.Refusal) {
        guard let marks = marks(json) else { throw ExchangeFile.Refusal(words: "it is not JSON") }
        guard marks <= ExchangeFormat.maximumMarks else {
            throw ExchangeFile.Refusal(words: "it has more than \(ExchangeFormat.maximumMarks) values")
        }
    }

    /// Counts brackets that open, colons and commas outside strings; `nil` if there is a zero byte.
    ///
    /// No JSON in UTF-8 has one, and all in UTF-16 and UTF-32 does, which decoders take: there a quotation mark may be
    /// half of a character, and what looks like a string none.
    private static func marks(_ json: [UInt8]) -> Int? {
        json.withUnsafeBufferPointer { bytes -> Int? in
            var count = 0
            var isString = false
            var index = 0
            while index < bytes.count {
                switch bytes[index] {
                case 0: return nil
                case UInt8(ascii: "\""): isString.toggle()
                // What follows, be it a quotation mark, is the string's; a zero byte there is found, too.
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
