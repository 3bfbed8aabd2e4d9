// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HybridPrimitives
import TestSupport

/// Compares strict JSON with another parser, and checks that a value survives its serialization.
func fuzzJSON(_ input: [UInt8]) throws -> Bool {
    let value: JSONText
    do throws(JSONSyntaxError) {
        value = try JSONText(parsing: input)
    } catch {
        return false
    }
    // The other parser rejects numbers that are out of range, and unpaired surrogates.
    let isSpecial = hasLargeNumber(value) || hasSurrogate(input)
    try invariant(isSpecial || isJSON(input), "another parser accepts it")
    for escaping in [JSONText.Escaping.terminalSafe, .clientData] {
        let text = value.serialized(escaping)
        try invariant(!text.utf8.contains { $0 < 0x20 }, "the serialization is one line")
        let again = try JSONText(parsing: Array(text.utf8))
        try invariant(again.serialized(escaping) == text, "the serialization is the same value")
    }
    return true
}

private func isJSON(_ input: [UInt8]) -> Bool {
    do {
        _ = try JSONDecoder().decode(AnyJSON.self, from: Data(input))
        return true
    } catch {
        return false
    }
}

/// Any JSON, of which nothing is kept.
private struct AnyJSON: Decodable {
    init(from decoder: any Decoder) throws {}
}

/// Returns true if a surrogate may be escaped.
private func hasSurrogate(_ input: [UInt8]) -> Bool {
    let digits = input.split(separator: UInt8(ascii: "u")).dropFirst()
    return digits.contains { $0.starts(with: "d".utf8) || $0.starts(with: "D".utf8) }
}

private func hasLargeNumber(_ value: JSONText) -> Bool {
    switch value {
    case .numeral(let text): text.utf8.count > 15
    case .array(let elements): elements.contains(where: hasLargeNumber)
    case .object(let members): members.contains { hasLargeNumber($0.1) }
    default: false
    }
}
