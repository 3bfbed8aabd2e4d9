// SPDX-License-Identifier: Apache-2.0

/// A failure that a user can read: one sentence with cause and remedy, and what programs need.
public protocol ExplainedFailure: Error {
    /// The cause for programs: lower-case words joined by hyphens. It never changes.
    var code: String { get }
    /// Cause and remedy on one line, without a full stop; the remedy follows the first semicolon.
    var sentence: String { get }
    /// The exit status of a command that ends with this failure.
    var status: ExitStatus { get }
}
