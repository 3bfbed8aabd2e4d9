// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridTranslation

/// A result of `hybrid-auth doctor`, in the app's own words.
package struct HealthFinding: Hashable, Sendable {
    /// The outcome.
    package enum Outcome: Hashable, Sendable {
        case fine
        /// A problem that prevents no sign-in.
        case warning
        /// A problem that prevents every sign-in.
        case failed
        /// Not checked, because an earlier condition is not met.
        case skipped
    }

    /// A page of the app, or a program, where the user can solve a problem.
    package enum Fix: Hashable, Sendable {
        case bluetoothSettings
        case chooseRelay
        case createVault
        case vaultPage
        case computersPage
        case turnOnReachable
    }

    /// The name of the check, for support.
    package let check: String
    /// The outcome.
    package let outcome: Outcome
    /// The host of a relay; safe to show.
    let subject: String?
    /// The helper's observation and remedy in English, for support.
    package let technical: String

    /// Creates a finding from an event or a member of the report; `nil` if it is not one.
    init?(_ object: JSONText) {
        guard let check = object.shortText("check", atMost: 64), !check.isEmpty else { return nil }
        switch object.member("state")?.text {
        case "ok": outcome = .fine
        case "warning": outcome = .warning
        case "failed": outcome = .failed
        case "skipped": outcome = .skipped
        default: return nil
        }
        self.check = check.shownAlone
        subject = object.shortText("subject", atMost: 256).map(\.shownAlone)
        let parts = [object.shortText("found"), object.shortText("remedy")].compactMap { $0?.asSentence }
        technical = parts.filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// The subject in words.
    package var title: String {
        switch check {
        case "system-bus": tr("System bus")
        case "bluetooth-service": tr("Bluetooth service")
        case "adapter": tr("Bluetooth")
        case "advertising": tr("Being found nearby")
        case "own-advert": tr("Test signal")
        case "proxy": tr("Proxy")
        case "authorities": tr("Certificates")
        case "relay": subject.map { tr("Relay {name}", ["name": $0]) } ?? tr("Relay")
        case "relay-token": tr("Access to the relay")
        case "clock": tr("Clock")
        case "pinentry", "ask-program": tr("Question for the PIN")
        case "camera": tr("Camera")
        case "vault": tr("Vault")
        case "vault-permissions": tr("Vault's permissions")
        case "vault-pin": tr("PIN")
        case "vault-slots": tr("Recovery")
        case "sync-conflicts": tr("Synchronized files")
        case "tpm", "tpm-lockout": tr("TPM")
        case "linked-computers": tr("Linked computers")
        case "link-service": tr("Reachability")
        case "fingerprint": tr("Fingerprint sensor")
        case "fingerprint-service": tr("Fingerprints")
        case "push-service", "push-subscription": tr("Push messages")
        case "notifications": tr("Notifications")
        default: check
        }
    }

    /// The state in words.
    package var sentence: String {
        switch outcome {
        case .fine: tr("Works")
        case .skipped: tr("Not checked")
        case .warning, .failed: problem
        }
    }

    private var problem: String {
        switch check {
        case "system-bus": outcome == .warning ? tr("Not the system's own") : tr("Does not answer")
        case "bluetooth-service": tr("Does not answer; turn Bluetooth off and on")
        case "adapter": tr("Off or missing; turn it on in the settings")
        case "advertising": tr("Other programs use it, or this user is not permitted to")
        case "own-advert": tr("Was not received")
        case "authorities": tr("Some can't be read")
        case "relay":
            outcome == .warning
                ? tr("Does not answer; needed for some computers only") : tr("No answer, or none chosen")
        case "relay-token": tr("The permission is missing")
        case "clock": tr("Differs from the relay's; set it in the settings")
        case "pinentry", "ask-program": tr("The program that asks does not start")
        case "camera": tr("There is none, or a part for it is missing")
        case "vault": tr("Can't be opened")
        case "vault-permissions": tr("Other users could read it, or it can't be changed")
        case "vault-pin": tr("There is none here, or you have to wait")
        case "vault-slots": tr("Without a recovery code the vault is lost with this device")
        case "sync-conflicts": tr("There are copies that contradict each other")
        case "tpm", "tpm-lockout": tr("Can't be used now")
        case "linked-computers": tr("Some can't be read")
        case "link-service": tr("Linked computers can't reach this device")
        case "fingerprint": tr("Can't be used")
        case "fingerprint-service": tr("The PIN is asked for instead")
        case "push-service", "push-subscription": tr("Can't wake this device")
        case "notifications": tr("Requests of computers open a window at once")
        default: outcome == .failed ? tr("Does not work") : tr("Needs attention")
        }
    }

    /// The way to solve the problem; `nil` if the app has none.
    package var fix: Fix? {
        guard outcome == .warning || outcome == .failed else { return nil }
        return switch check {
        case "bluetooth-service", "adapter": .bluetoothSettings
        case "relay" where outcome == .failed: .chooseRelay
        case "relay-token": .chooseRelay
        case "vault-pin", "vault-slots", "tpm", "tpm-lockout", "fingerprint-service": .vaultPage
        case "linked-computers": .computersPage
        case "link-service": .turnOnReachable
        default: nil
        }
    }
}

extension HealthFinding.Fix {
    /// The label of the button.
    package var label: String {
        switch self {
        case .bluetoothSettings: tr("Settings")
        case .chooseRelay: tr("Choose")
        case .createVault: tr("Set Up")
        case .vaultPage, .computersPage: tr("Open")
        case .turnOnReachable: tr("Turn On")
        }
    }
}

/// The progress and the result of the page "Check this phone".
package struct HealthReport: Sendable {
    /// The findings so far.
    package private(set) var findings: [HealthFinding] = []
    /// True while the helper runs.
    package private(set) var isRunning = false
    private var failure: AuthFailure?
    /// True if the helper ended before it had checked everything.
    private var isIncomplete = false

    /// Creates an empty report.
    package init() {}

    /// Maximum number of findings.
    private static let limit = 200

    /// The helper starts.
    package mutating func start() {
        self = HealthReport()
        isRunning = true
    }

    /// Applies an event of the helper; returns true if there is something new to show.
    package mutating func receive(_ event: AuthEvent) -> Bool {
        switch event {
        case .finding(let finding) where isRunning && findings.count < Self.limit:
            findings.append(finding)
            return true
        case .failure(let failure):
            self.failure = failure
            return false
        default: return false
        }
    }

    /// The helper has ended.
    package mutating func end(status: Int32?) {
        isRunning = false
        // A problem is a finding already, and the status that of the first one; but a signal ends the check early.
        isIncomplete = status == nil || status == 130 || status == 70
        if findings.isEmpty, failure == nil, status != 0 { failure = AuthFailure(status: status) }
    }

    /// The failure of the check itself; `nil` if there are findings.
    package var problem: AuthFailure? { findings.isEmpty && !isRunning ? failure ?? .ended : nil }

    /// The result in words.
    package var verdict: String {
        if isRunning { return tr("Checking…") }
        if let problem { return problem.words.title }
        let failed = findings.count { $0.outcome == .failed }
        if failed > 0 {
            return tr(
                "{count} problem prevents signing in",
                plural: "{count} problems prevent signing in",
                count: failed
            )
        }
        if isIncomplete { return tr("The check was interrupted") }
        let warnings = findings.count { $0.outcome == .warning }
        if warnings > 0 {
            return tr(
                "Ready, with {count} thing to look at",
                plural: "Ready, with {count} things to look at",
                count: warnings
            )
        }
        return tr("Ready to sign in")
    }

    /// The report for support, without the names of relays that the user has chosen, of computers and of files.
    package var text: String {
        let relays = findings.compactMap(\.subject).filter { !$0.isEmpty }
        return findings.map { finding in
            var line = "\(finding.outcome) \(finding.check): \(finding.technical)"
            for relay in relays {
                line = line.split(separator: relay, omittingEmptySubsequences: false).joined(separator: "(relay)")
            }
            return Self.anonymous(line)
        }.joined(separator: "\n")
    }

    /// Returns a line without texts in quotation marks, which are names, and without paths.
    private static func anonymous(_ line: String) -> String {
        let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
        let unnamed = parts.indices.map { $0.isMultiple(of: 2) ? String(parts[$0]) : "(name)" }.joined()
        let words = unnamed.split(separator: " ", omittingEmptySubsequences: false)
        return words.map { $0.contains("/") ? "(path)" : String($0) }.joined(separator: " ")
    }
}
