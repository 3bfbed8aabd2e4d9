// SPDX-License-Identifier: Apache-2.0

/// The Python interpreter with fido2 and webauthn.
///
/// `scripts/test` creates its environment and sets the variable.
package enum Python {
    /// An environment that `scripts/test` did not prepare.
    package struct Missing: Error, CustomStringConvertible {
        /// The name of the variable that is not set.
        package let description = "HYBRID_TEST_PYTHON is not set"
    }

    /// The interpreter's path; `nil` if the variable is not set.
    package static let interpreter = SpawnedProcess.environment["HYBRID_TEST_PYTHON"]

    /// Returns the interpreter's path.
    package static func path() throws -> String {
        guard let interpreter else { throw Missing() }
        return interpreter
    }
}
