// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
package import HybridProgram

extension CommandFailure {
    /// The session is locked, so no window or page is opened.
    package static let sessionLocked = CommandFailure(
        "the session is locked, so no window is opened; unlock the screen and try again",
        code: "session-locked",
        status: .temporary
    )
}
