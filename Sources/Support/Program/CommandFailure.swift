// SPDX-License-Identifier: Apache-2.0

private import Glibc
public import HybridPrimitives

/// The failure with which a command ends: one sentence for users, a code and an exit status for scripts.
public struct CommandFailure: ExplainedFailure, Hashable, CustomStringConvertible {
    /// The cause and the remedy, written as one line on standard error.
    public let sentence: String
    /// The identifier of the cause for programs: lower-case words joined by hyphens.
    ///
    /// It is stable across versions.
    public let code: String
    /// The exit status.
    public let status: ExitStatus
    /// Further facts for programs, by name.
    public let details: [String: String]
    /// Seconds until the command may succeed, if they are known.
    public let waitSeconds: Int?

    /// Creates a failure.
    ///
    /// - Parameters:
    ///   - sentence: The cause and, after the first semicolon, the remedy, without the program's name and a newline.
    ///   - code: The identifier of the cause; by default, the name of the status.
    ///   - status: The exit status.
    ///   - details: Further facts for programs, by name.
    ///   - waitSeconds: Seconds until the command may succeed, if they are known.
    public init(
        _ sentence: String,
        code: String? = nil,
        status: ExitStatus,
        details: [String: String] = [:],
        waitSeconds: Int? = nil
    ) {
        self.sentence = sentence
        self.code = code ?? status.name
        self.status = status
        self.details = details
        self.waitSeconds = waitSeconds
    }

    /// Creates the failure of a command from a library's failure: the same sentence, code, status and facts.
    public init(_ failure: some ExplainedFailure) {
        if let failure = failure as? CommandFailure {
            self = failure
        } else {
            self.init(failure.sentence, code: failure.code, status: failure.status)
        }
    }

    /// The sentence.
    public var description: String { sentence }

    /// Prints `program: sentence` as one line on standard error and exits with the status.
    public func exit(program: String) -> Never {
        StandardError.writeLine("\(program): \(sentence)")
        Glibc.exit(status.rawValue)
    }
}

extension ExplainedFailure {
    /// The cause: the sentence up to its first semicolon.
    public var message: String { cut.message }
    /// The remedy, if the sentence has one.
    public var remedy: String? { cut.remedy }

    private var cut: (message: String, remedy: String?) {
        let bytes = Array(sentence.utf8)
        guard let cut = bytes.firstRange(of: Array("; ".utf8)) else { return (sentence, nil) }
        let remedy = String(decoding: bytes[cut.upperBound...], as: UTF8.self)
        return (String(decoding: bytes[..<cut.lowerBound], as: UTF8.self), remedy)
    }
}

extension CommandFailure {
    /// The session is locked, so no window or page is opened.
    package static let sessionLocked = CommandFailure(
        "the session is locked, so no window is opened; unlock the screen and try again",
        code: "session-locked",
        status: .temporary
    )
}
