// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// A failure of a helper, in the app's own words.
package struct AuthFailure: Error, Hashable, Sendable {
    /// The identifier of the cause, which never changes.
    package let code: String
    /// The helper's own sentences in English, for support; may be empty.
    package let technical: String
    /// Seconds until the next attempt; `nil` if there is no wait.
    package let waitSeconds: Int?

    /// Creates a failure.
    package init(code: String, technical: String = "", waitSeconds: Int? = nil) {
        (self.code, self.technical, self.waitSeconds) = (code, technical, waitSeconds)
    }

    /// Creates the failure of an object with `code`, `message` and `remedy`.
    init(_ object: JSONText) {
        let code = object.shortText("code", atMost: 64) ?? object.count("code").flatMap(Self.name(ofStatus:))
        self.code = code.flatMap { Self.isCode($0) ? $0 : nil } ?? "unknown"
        let parts = [object.shortText("message"), object.shortText("remedy")].compactMap { $0?.asSentence }
        technical = parts.filter { !$0.isEmpty }.joined(separator: " ")
        waitSeconds = object.count("waitSeconds")
    }

    /// Creates the failure of a helper that ended without saying why.
    ///
    /// - Parameters:
    ///   - status: The exit status; `nil` after a signal.
    ///   - lastLine: The last line on its standard error.
    package init(status: Int32?, lastLine: String = "") {
        let code = status.flatMap { Self.name(ofStatus: Int($0)) }
        self.init(code: code ?? "ended", technical: lastLine.asSentence)
    }

    /// The helper can't be started.
    package static let notInstalled = AuthFailure(code: "not-installed")
    /// The helper ended before it had answered.
    package static let ended = AuthFailure(code: "ended")

    /// True if the user ended the request, so that nothing has to be explained.
    package var isCancellation: Bool { code == "interrupted" || code == "cancelled" }

    /// True if there is no vault yet.
    package var isMissingVault: Bool { code == "no-vault" }

    private static func name(ofStatus status: Int) -> String? {
        switch status {
        case 64: "usage"
        case 65: "bad-data"
        case 66: "no-input"
        case 69: "unavailable"
        case 70: "internal-fault"
        case 74: "not-written"
        case 75: "temporary"
        case 77: "not-permitted"
        case 78: "configuration"
        case 130: "interrupted"
        default: nil
        }
    }

    private static func isCode(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
    }
}
