// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How much a property test tries: enough to notice most faults every time, or all there is before a release.
public enum Thoroughness {
    /// Whether `HYBRID_TEST_THOROUGH` is set, as `scripts/release-check` does.
    public static let isFull = ProcessInfo.processInfo.environment["HYBRID_TEST_THOROUGH"] != nil

    /// So many rounds now.
    public static func rounds(_ usual: Int, thorough: Int) -> Int { isFull ? thorough : usual }
}
