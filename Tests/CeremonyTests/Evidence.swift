// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

/// How many expectations have failed; while it grows, no stage throws away what could tell why.
enum Evidence {
    private static let failures = Mutex(0)

    static var count: Int { failures.withLock { $0 } }

    fileprivate static func note() { failures.withLock { $0 += 1 } }
}

extension Trait where Self == IssueHandlingTrait {
    /// Lets stages know of expectations that failed without ending the test.
    static var keepsEvidence: Self {
        .compactMapIssues { issue in
            Evidence.note()
            return issue
        }
    }
}
