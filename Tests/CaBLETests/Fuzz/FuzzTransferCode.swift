// SPDX-License-Identifier: Apache-2.0

import Crypto
import TestSupport

@testable import HybridCaBLE

/// Tests that the text of a parsed code gives the same code, which is never an offer.
///
/// Input that begins with an H is a text. Any other input is encoded as digits.
func fuzzTransferCode(_ input: [UInt8]) throws -> Bool {
    var text = String(decoding: input, as: UTF8.self)
    if let first = input.first, first | 0x20 != UInt8(ascii: "h") {
        text = CodeText.text(.transfer, input)
    }
    guard let code = try? TransferCode(line: text) else { return false }
    let again = try TransferCode(line: code.text)
    try invariant(again.text == code.text, "a code survives the round trip")
    try invariant(again.secret == code.secret && again.channels == code.channels, "all fields survive the round trip")
    try invariant(again.created == code.created && again.purpose == code.purpose, "all fields survive the round trip")
    try invariant(
        again.receiverKey.x963Representation == code.receiverKey.x963Representation,
        "all fields survive the round trip"
    )
    try invariant(code.text.utf8.count <= 195, "the text fits a QR code")
    try invariant(!code.channels.isEmpty && Set(code.channels).count == code.channels.count, "each channel once")
    try invariant((try? TransferCode(line: code.text.lowercased())) != nil, "the scheme's case does not matter")
    try invariant((try? QROffer(line: text)) == nil, "a code is for one use")
    return true
}
