// SPDX-License-Identifier: Apache-2.0

/// A reason why a file below `/.well-known/` is unusable.
package struct WellKnownFileError: Error, Hashable, Sendable {
    /// A clause for a sentence that names the URL; it contains no part of the response.
    package let reason: String

    init(reason: String) { self.reason = reason }

    /// Creates the reason for an error of the connection; the remedy for other requests does not apply.
    init(_ error: HTTPSError) {
        let sentence = error.sentence
        reason = sentence.utf8.firstRange(of: "; ".utf8).map { String(sentence[..<$0.lowerBound]) } ?? sentence
    }
}
