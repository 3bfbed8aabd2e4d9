// SPDX-License-Identifier: Apache-2.0

/// One input that the fuzzer made up, as an array.
public func fuzzInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> [UInt8] {
    Array(UnsafeBufferPointer(start: start, count: count))
}

/// Stops the run, which keeps the input, if an invariant does not hold.
@inline(never)
public func invariant(_ holds: Bool, _ meaning: StaticString) {
    guard holds else { fatalError("broken: \(meaning)") }
}
