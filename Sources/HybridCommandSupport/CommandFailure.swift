// SPDX-License-Identifier: Apache-2.0

private import Glibc
public import HybridPrimitives

/// Why a command ends without having done its work: one sentence for a person, one status for a script.
public struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// Cause and remedy; becomes one line on standard error.
    public let sentence: String
    /// The cause for programs: lower-case words with hyphens between them, never another.
    public let code: String
    /// The exit code.
    public let status: ExitStatus
    /// What else a program may want to know, by name.
    public let details: [String: String]

    /// Puts a failure together; the sentence needs no program name and no newline.
    ///
    /// - Parameters:
    ///   - sentence: the cause, and behind the first semicolon the remedy.
    ///   - code: the cause's name; the status's where it has none of its own.
    ///   - status: the exit code.
    ///   - details: what else a program may want to know, by name.
    public init(_ sentence: String, code: String? = nil, status: ExitStatus, details: [String: String] = [:]) {
        self.sentence = sentence
        self.code = code ?? status.name
        self.status = status
        self.details = details
    }

    /// Creates the failure of a command from a library's failure: the same sentence, code and status.
    public init(_ failure: some ExplainedFailure) {
        self.init(failure.sentence, code: failure.code, status: failure.status)
    }

    /// The sentence's first part: the cause.
    public var message: String { parts.message }
    /// What to do, where there is something to do.
    public var remedy: String? { parts.remedy }

    private var parts: (message: String, remedy: String?) {
        let bytes = Array(sentence.utf8)
        guard
            let cut = bytes.indices.dropLast().first(where: { bytes[$0] == UInt8(ascii: ";") && bytes[$0 + 1] == 0x20 })
        else { return (sentence, nil) }
        return (
            String(decoding: bytes[..<cut], as: UTF8.self), String(decoding: bytes[(cut + 2)...], as: UTF8.self)
        )
    }

    /// The sentence.
    public var description: String { sentence }

    /// Prints `program: sentence` as one line on standard error and exits with the status.
    public func exit(program: String) -> Never {
        StandardError.writeLine("\(program): \(sentence)")
        Glibc.exit(status.rawValue)
    }
}
