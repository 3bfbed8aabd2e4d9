// SPDX-License-Identifier: Apache-2.0

public import HybridSession
public import ServiceSupport

extension ExitStatus {
    /// The status with which a program ends after a failure of this sort.
    public init(_ kind: FailureKind) {
        // The kind's number is the status; a test goes through all of them.
        self = ExitStatus(rawValue: kind.rawValue) ?? .software
    }
}

extension CommandFailure {
    /// A ceremony's failure as the end of a command: the same sentence and code, and the status of its sort.
    public init(_ failure: some ExplainedFailure) {
        self.init(failure.sentence, code: failure.code, status: ExitStatus(failure.kind))
    }
}
