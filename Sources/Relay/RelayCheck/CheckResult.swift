// SPDX-License-Identifier: Apache-2.0

internal import HybridNetwork

/// The outcome of a check, with the observed behavior.
package enum CheckOutcome: Hashable, Sendable {
    /// The behavior is as expected.
    case ok(String)
    /// The behavior differs from the expectation.
    case differs(String)
    /// The check was not requested, or cannot be made here.
    case skipped(String)
    /// Something else prevented the check.
    case prevented(String)

    /// The observed behavior, or the reason why nothing was checked.
    package var found: String {
        switch self {
        case .ok(let text), .differs(let text), .skipped(let text), .prevented(let text): text
        }
    }

    /// One or two words for users and for scripts.
    package var label: String {
        switch self {
        case .ok: "ok"
        case .differs: "differs"
        case .skipped, .prevented: "not tested"
        }
    }
}

extension CheckOutcome {
    /// Returns the outcome with the token replaced, because the relay may have echoed it.
    func hiding(_ token: BearerToken?) -> CheckOutcome {
        guard let token else { return self }
        func hidden(_ text: String) -> String {
            let bytes = token.withUnsafeBytes { Array(text.utf8).replacing($0, with: "(token)".utf8) }
            return String(decoding: bytes, as: UTF8.self)
        }
        return switch self {
        case .ok(let text): .ok(hidden(text))
        case .differs(let text): .differs(hidden(text))
        case .skipped(let text): .skipped(hidden(text))
        case .prevented(let text): .prevented(hidden(text))
        }
    }
}

/// A check and its outcome.
package struct CheckResult: Hashable, Sendable {
    /// The check.
    package let id: CheckID
    /// The outcome.
    package let outcome: CheckOutcome
}

/// The results of all checks of one run.
package struct CheckReport: Sendable {
    /// The relay as the user named it.
    package let relay: String
    /// The address that all connections use, as determined by the first.
    package let address: String
    /// The results in the order of `CheckID.allCases`.
    package let results: [CheckResult]
    /// Number of connections made.
    package let connections: Int
    /// True if the relay requires a token, or another one.
    package let requiresToken: Bool

    /// The overall result of a run.
    package enum Verdict: String, Sendable {
        /// All required checks that apply have the expected outcome.
        case conforms
        /// A required check differs.
        case differs
        /// No required check differs, but some could not be made.
        case incomplete
    }

    /// The overall result of the run.
    package var verdict: Verdict {
        let required = results.filter { $0.id.level == .required }.map(\.outcome)
        if required.contains(where: { if case .differs = $0 { true } else { false } }) { return .differs }
        if required.contains(where: { if case .prevented = $0 { true } else { false } }) { return .incomplete }
        return .conforms
    }

    /// The checks that differ.
    package var differing: [CheckID] {
        results.filter { if case .differs = $0.outcome { true } else { false } }.map(\.id)
    }
}
