// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The number of cases in a property test: enough to find most faults in every run, or all of them before a release.
package enum Thoroughness {
    /// True if `HYBRID_TEST_THOROUGH` is set, as in `scripts/release-check`.
    package static let isFull = ProcessInfo.processInfo.environment["HYBRID_TEST_THOROUGH"] != nil

    /// Returns the number of rounds.
    package static func rounds(_ usual: Int, thorough: Int) -> Int { isFull ? thorough : usual }
}
