// SPDX-License-Identifier: Apache-2.0

import Crypto
import TestSupport

@testable import HybridCaBLE

/// Tests that the text of a parsed offer gives the same offer.
///
/// Input that begins with an F is a text. Any other input is encoded as digits.
func fuzzQR(_ input: [UInt8]) throws -> Bool {
    var text = String(decoding: input, as: UTF8.self)
    if let first = input.first, first | 0x20 != UInt8(ascii: "f") {
        let digits = DigitCoding.encode(input)
        try invariant(DigitCoding.decode(Array(digits.utf8)) == input, "digits survive the round trip")
        text = CodeText.Scheme.signIn.rawValue + digits
    }
    guard let offer = try? QROffer(parsing: text) else { return false }
    let again = try QROffer(parsing: offer.text)
    try invariant(again.text == offer.text, "an offer survives the round trip")
    try invariant(again.secret == offer.secret && again.channels == offer.channels, "all fields survive the round trip")
    try invariant(again.created == offer.created && again.hint == offer.hint, "all fields survive the round trip")
    try invariant(again.supportsLinking == offer.supportsLinking, "all fields survive the round trip")
    try invariant(again.assignedDomainsKnown == offer.assignedDomainsKnown, "all fields survive the round trip")
    try invariant(
        again.clientKey.x963Representation == offer.clientKey.x963Representation,
        "all fields survive the round trip"
    )
    try invariant(offer.text.utf8.count <= 200, "the text fits a QR code")
    try invariant(!offer.channels.isEmpty && Set(offer.channels).count == offer.channels.count, "each channel once")
    try invariant((try? QROffer(parsing: offer.text.lowercased())) != nil, "the scheme's case does not matter")
    return true
}
