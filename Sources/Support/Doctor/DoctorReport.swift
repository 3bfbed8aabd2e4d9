// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
package import HybridPrimitives
internal import HybridProgram
internal import HybridSession

/// A check of `doctor`; the cases are in the order of a ceremony.
///
/// Scripts rely on the raw values, so they must not change.
package enum DoctorCheck: String, Sendable {
    // Both programs.
    case systemBus = "system-bus"
    case bluetoothService = "bluetooth-service"
    case adapter
    // hybrid-client
    case scanning
    case hearing
    // hybrid-auth
    case advertising
    // Both.
    case ownAdvert = "own-advert"
    case proxy
    case authorities
    case relay
    case clock
    // hybrid-client
    case uhidModule = "uhid-module"
    case securityKeyHelper = "security-key-helper"
    case securityKey = "security-key"
    case snap
    case flatpak
    case linkedPhones = "linked-phones"
    // hybrid-auth
    case relayToken = "relay-token"
    case camera
    case askProgram = "ask-program"
    case pinentry
    case vault
    case vaultPIN = "vault-pin"
    case vaultSlots = "vault-slots"
    case tpm
    case tpmLockout = "tpm-lockout"
    case vaultPermissions = "vault-permissions"
    case syncConflicts = "sync-conflicts"
    case fingerprint
    case fingerprintService = "fingerprint-service"
    case linkedComputers = "linked-computers"
    case linkService = "link-service"
    case pushService = "push-service"
    case pushSubscription = "push-subscription"
    case notifications
}

/// The result of one check.
package struct DoctorFinding: Sendable {
    /// The outcome of a check.
    package enum State: String, Sendable {
        case fine = "ok"
        /// A problem that does not prevent a ceremony.
        case warning
        /// A problem that prevents every ceremony.
        case failed
        /// Not checked, because an earlier condition is not met.
        case skipped
    }

    package let check: DoctorCheck
    /// The host of the relay, for a check that is repeated for each relay.
    package var subject: String?
    package var state: State
    /// The observation, as part of a sentence.
    package let found: String
    package var remedy: String?
    /// The exit status if this finding prevents a ceremony.
    package var status = ExitStatus.unavailable
    /// The certificate's issuer, as stated in the certificate.
    package var issuer: String?
    /// True if TLS is intercepted; `nil` if unknown.
    package var isIntercepted: Bool?

    /// Creates a finding; the texts are made safe for a terminal.
    package init(_ check: DoctorCheck, _ state: State, _ found: String, remedy: String? = nil) {
        self.check = check
        self.state = state
        self.found = StandardError.oneLine(found)
        self.remedy = remedy.map(StandardError.oneLine)
    }

    /// Creates a finding from a failure that a ceremony would report.
    package init(_ check: DoctorCheck, _ state: State, _ failure: some ExplainedFailure) {
        self.init(check, state, failure.message, remedy: failure.remedy)
        status = failure.status
    }

    /// Returns the finding about a check that was not completed in time.
    static func unfinished(
        _ check: DoctorCheck,
        _ state: State,
        _ budget: TimeBudget,
        remedy: String = "allow more time with --timeout"
    ) -> DoctorFinding {
        var finding = DoctorFinding(check, state, "did not finish within \(budget.seconds) s", remedy: remedy)
        finding.status = .temporary
        return finding
    }

    /// Performs a check within a time limit.
    ///
    /// - Parameters:
    ///   - budget: The time limit.
    ///   - check: The check.
    ///   - state: The state if the check is not completed in time.
    ///   - body: Performs the check.
    /// - Throws: The error that `body` throws.
    package static func within(
        _ budget: TimeBudget,
        _ check: DoctorCheck,
        orElse state: State,
        _ body: @escaping @Sendable () async throws -> DoctorFinding
    ) async throws -> DoctorFinding {
        do {
            return try await withDeadline(budget.left, orThrow: TimeBudget.Exceeded(), body)
        } catch is TimeBudget.Exceeded {
            return unfinished(check, state, budget)
        }
    }

    /// Cause and remedy in one line.
    var sentence: String { remedy.map { "\(found); \($0)" } ?? found }

    /// One line for users, and a second one if there is a remedy.
    var lines: [String] {
        let name = subject.map(StandardError.oneLine) ?? check.rawValue.split(separator: "-").joined(separator: " ")
        let mark = state == .failed ? "FAILED" : state == .skipped ? "-" : state.rawValue
        let first = Self.padded(mark, 9) + Self.padded(name, 24) + found
        return [first] + (remedy.map { [Self.padded("", 33) + "→ " + $0] } ?? [])
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    /// The members of the JSON object; `nil` values are omitted.
    fileprivate var members: [(String, JSONText?)] {
        [
            ("check", .string(check.rawValue)), ("subject", subject.map(JSONText.string)),
            ("state", .string(state.rawValue)), ("found", .string(found)), ("remedy", remedy.map(JSONText.string)),
            ("issuer", issuer.map(JSONText.string)), ("intercepted", isIntercepted.map(JSONText.boolean)),
        ]
    }
}

/// All findings and their conclusion.
package struct DoctorReport {
    let findings: [DoctorFinding]
    let isVirtual: Bool

    /// The first finding that prevents a ceremony.
    var obstacle: DoctorFinding? { findings.first { $0.state == .failed } }

    /// The conclusion for users.
    var verdict: String { obstacle.map { "a sign-in can't work here: \($0.found)" } ?? "a sign-in could work" }

    /// The report as a JSON object.
    var json: String {
        Self.object([
            ("couldWork", .boolean(obstacle == nil)), ("code", .number(Int(obstacle?.status.rawValue ?? 0))),
            ("virtualRadio", .boolean(isVirtual)), ("checks", .array(findings.map { Self.object($0.members) })),
        ]).description
    }

    /// Returns the event for a finding as JSON.
    static func event(_ finding: DoctorFinding) -> String {
        object([("event", .string("check"))] + finding.members).description
    }

    /// Returns the event for the failure of the command as JSON.
    static func event(_ failure: CommandFailure) -> String {
        object([
            ("event", .string("error")), ("code", .number(Int(failure.status.rawValue))),
            ("message", .string(failure.message)), ("remedy", failure.remedy.map(JSONText.string)),
        ]).description
    }

    private static func object(_ members: [(String, JSONText?)]) -> JSONText {
        .object(members.compactMap { name, value in value.map { (name, $0) } }.sorted { $0.0 < $1.0 })
    }
}
