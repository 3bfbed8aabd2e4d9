// SPDX-License-Identifier: Apache-2.0

/// A failure with a sentence for users, which states cause and remedy, and with a code for programs.
public protocol ExplainedFailure: Error {
    /// The identifier of the cause for programs: lower-case words joined by hyphens.
    ///
    /// It is stable across versions.
    var code: String { get }
    /// The cause and the remedy on one line, without a final period; the remedy follows the first semicolon.
    var sentence: String { get }
    /// The exit status of a command that ends with this failure.
    var status: ExitStatus { get }
}
