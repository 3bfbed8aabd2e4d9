// SPDX-License-Identifier: Apache-2.0

/// What a check found; the texts say what came.
public enum CheckOutcome: Hashable, Sendable {
    /// As expected.
    case ok(String)
    /// Otherwise than expected.
    case differs(String)
    /// Not looked at because nobody asked for it, or because it can't be told here.
    case skipped(String)
    /// Not looked at because something else stood in the way.
    case prevented(String)

    /// What came, or why nothing was looked at.
    public var found: String {
        switch self {
        case .ok(let text), .differs(let text), .skipped(let text), .prevented(let text): text
        }
    }

    /// One word or two for a person and for a script.
    public var label: String {
        switch self {
        case .ok: "ok"
        case .differs: "differs"
        case .skipped, .prevented: "not tested"
        }
    }
}

/// One check and what it found.
public struct CheckResult: Hashable, Sendable {
    /// Which check.
    public let id: CheckID
    /// What it found.
    public let outcome: CheckOutcome
}

/// All checks of one run.
public struct CheckReport: Sendable {
    /// The relay as it was named.
    public let relay: String
    /// The address all connections but the first name look-up went to.
    public let address: String
    /// In the order of ``CheckID/allCases``.
    public let results: [CheckResult]
    /// How many connections were made.
    public let connections: Int
    /// Whether the relay wanted a token, or another one.
    public let wantsToken: Bool

    /// What to make of the run.
    public enum Verdict: String, Sendable {
        /// All required checks that apply are as expected.
        case conforms
        /// A required check differs.
        case differs
        /// No required check differs, but some could not be made.
        case incomplete
    }

    /// What to make of the run.
    public var verdict: Verdict {
        let required = results.filter { $0.id.level == .required }.map(\.outcome)
        if required.contains(where: { if case .differs = $0 { true } else { false } }) { return .differs }
        if required.contains(where: { if case .prevented = $0 { true } else { false } }) { return .incomplete }
        return .conforms
    }

    /// The checks that differ.
    public var differing: [CheckID] {
        results.filter { if case .differs = $0.outcome { true } else { false } }.map(\.id)
    }
}
