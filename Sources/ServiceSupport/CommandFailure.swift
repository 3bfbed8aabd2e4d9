// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Why a command ends without having done its work: one sentence for a person, one status for a script.
public struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// Cause and remedy; becomes one line on standard error.
    public let sentence: String
    /// The exit code.
    public let status: ExitStatus

    /// Puts a failure together; the sentence needs no program name and no newline.
    public init(_ sentence: String, status: ExitStatus) {
        self.sentence = sentence
        self.status = status
    }

    /// The sentence.
    public var description: String { sentence }

    /// Prints `program: sentence` as one line on standard error and exits with the status.
    public func exit(program: String) -> Never {
        StandardError.writeLine("\(program): \(sentence)")
        Glibc.exit(status.rawValue)
    }
}
