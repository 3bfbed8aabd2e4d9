// SPDX-License-Identifier: Apache-2.0

/// A violated invariant, which stops the fuzzer and fails tests that replay the corpus.
package struct BrokenInvariant: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}

/// Throws an error unless the condition holds.
package func invariant(_ holds: Bool, _ meaning: @autoclosure () -> String) throws(BrokenInvariant) {
    guard holds else { throw BrokenInvariant(description: "broken: \(meaning())") }
}

/// Returns the value, which must not be `nil`.
package func present<Value>(_ value: Value?, _ meaning: @autoclosure () -> String) throws(BrokenInvariant) -> Value {
    guard let value else { throw BrokenInvariant(description: "broken: \(meaning())") }
    return value
}
