// SPDX-License-Identifier: Apache-2.0

/// What must always hold did not; the tests that replay the corpus fail with it, the fuzzer stops.
struct BrokenInvariant: Error, CustomStringConvertible {
    let description: String
}

/// Throws unless the condition holds.
func invariant(_ holds: Bool, _ meaning: @autoclosure () -> String) throws(BrokenInvariant) {
    guard holds else { throw BrokenInvariant(description: "broken: \(meaning())") }
}

/// The value, which must be there.
func present<Value>(_ value: Value?, _ meaning: @autoclosure () -> String) throws(BrokenInvariant) -> Value {
    guard let value else { throw BrokenInvariant(description: "broken: \(meaning())") }
    return value
}
