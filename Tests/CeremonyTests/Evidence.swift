// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

/// Whether expectations have failed on a stage; then it does not throw away what could tell why.
final class Evidence: Sendable {
    /// That of the stage on which the task plays.
    @TaskLocal static var ofStage: Evidence?

    private let isNeeded = Atomic(false)

    /// Whether something failed.
    var isWanted: Bool { isNeeded.load(ordering: .relaxed) }

    fileprivate func want() { isNeeded.store(true, ordering: .relaxed) }
}

extension Trait where Self == IssueHandlingTrait {
    /// Lets stages know of expectations that failed without ending the test.
    static var keepsEvidence: Self {
        .compactMapIssues { issue in
            Evidence.ofStage?.want()
            return issue
        }
    }
}
