// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import TestSupport

/// Tests that strict mode accepts canonical input only, and that lenient mode gives the same value.
func fuzzCBOR(_ input: [UInt8]) throws -> Bool {
    let lenient = try? CBORDecoder.decode(input, mode: .lenient)
    let strict = try? CBORDecoder.decode(input, mode: .strict)
    guard let lenient else {
        try invariant(strict == nil, "lenient mode accepts what strict mode accepts")
        return false
    }
    let canonical = CBOREncoder.encode(lenient)
    try invariant((strict != nil) == (canonical == input), "strict mode accepts canonical input only")
    try invariant(strict == nil || strict == lenient, "both modes give the same value")
    // Only a repaired text may become longer: U+FFFD has three bytes.
    let isRepaired = strict == nil && canonical.contains(0xEF)
    try invariant(canonical.count <= input.count || isRepaired, "the canonical form is the shortest")
    try invariant(try CBORDecoder.decode(canonical, mode: .strict) == lenient, "the canonical form has the same value")
    let (prefix, length) = try CBORDecoder.decodePrefix(input + [0xFF, 0x00], mode: .lenient)
    try invariant(prefix == lenient && length == (input.count, input.count + 2), "an item has a definite length")
    try invariant(error(input.dropLast(), CBORLimits()) == .truncated, "a shortened item is truncated")
    try invariant(error(input + [0xF6], CBORLimits()) == .trailingBytes, "trailing bytes are rejected")
    try limitsAreExact(input, lenient)
    return true
}

private func limitsAreExact(_ input: [UInt8], _ value: CBORValue) throws {
    let (depth, items) = size(of: value)
    let exact = CBORLimits(depth: depth, items: items, bytes: input.count)
    try invariant(error(input, exact) == nil, "input within the limits is accepted")
    try invariant(
        error(input, CBORLimits(depth: depth - 1, items: items, bytes: input.count)) == .tooDeep,
        "depth is bounded"
    )
    try invariant(
        error(input, CBORLimits(depth: depth, items: items - 1, bytes: input.count)) == .tooLarge,
        "the number of items is bounded"
    )
    try invariant(
        error(input, CBORLimits(depth: depth, items: items, bytes: input.count - 1)) == .tooLarge,
        "the length is bounded"
    )
}

private func error(_ input: some Sequence<UInt8>, _ limits: CBORLimits) -> CBORError? {
    do throws(CBORError) {
        _ = try CBORDecoder.decode(input, mode: .lenient, limits: limits)
        return nil
    } catch {
        return error
    }
}

/// Returns the nesting depth and the number of items.
private func size(of value: CBORValue) -> (depth: Int, items: Int) {
    let parts: [CBORValue] =
        switch value {
        case .array(let elements): elements
        case .map(let map): map.entries.flatMap { [$0.key, $0.value] }
        default: []
        }
    let sizes = parts.map(size(of:))
    return ((sizes.map(\.depth).max() ?? 0) + 1, sizes.map(\.items).reduce(1, +))
}
