// SPDX-License-Identifier: Apache-2.0

/// The limits of lists of finger names, which come from fprintd and from callers.
package enum FingerList {
    /// Maximum number of fingers; people have ten.
    package static let maximumCount = 32
    /// Maximum length of a name in bytes of UTF-8.
    package static let maximumBytes = 64

    /// Returns true if a list can be kept: sorted, without duplicates, not empty and within the limits.
    package static func isValid(_ names: [String]) -> Bool {
        (1...maximumCount).contains(names.count)
            && names.allSatisfy { (1...maximumBytes).contains($0.utf8.count) }
            && zip(names, names.dropFirst()).allSatisfy { $0 < $1 }
    }
}
