// SPDX-License-Identifier: Apache-2.0

import Crypto

@testable import HybridCaBLE

/// An offer that parses is written as a text that parses to the same offer.
///
/// What begins with an F is a text; anything else is bytes, of which the digits are made.
func fuzzQR(_ input: [UInt8]) throws -> Bool {
    var text = String(decoding: input, as: UTF8.self)
    if let first = input.first, first | 0x20 != UInt8(ascii: "f") {
        let digits = DigitCoding.encode(input)
        try invariant(DigitCoding.decode(Array(digits.utf8)) == input, "digits mean the bytes they were made of")
        text = QROffer.scheme + digits
    }
    guard let offer = try? QROffer(parsing: text) else { return false }
    let again = try QROffer(parsing: offer.text)
    try invariant(again.text == offer.text, "an offer reads back as it was written")
    try invariant(again.secret == offer.secret && again.channels == offer.channels, "with all its fields")
    try invariant(again.created == offer.created && again.hint == offer.hint, "with all its fields")
    try invariant(again.supportsLinking == offer.supportsLinking, "with all its fields")
    try invariant(again.assignedDomainsKnown == offer.assignedDomainsKnown, "with all its fields")
    try invariant(again.clientKey.x963Representation == offer.clientKey.x963Representation, "with all its fields")
    try invariant(offer.text.utf8.count <= 200, "it fits a QR")
    try invariant(!offer.channels.isEmpty && Set(offer.channels).count == offer.channels.count, "each channel once")
    try invariant((try? QROffer(parsing: offer.text.lowercased())) != nil, "the scheme's case does not matter")
    return true
}
