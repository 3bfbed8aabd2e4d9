// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridTranslation

/// A relay that is set already, from `check-config --json`.
package struct RelaySetting: Equatable, Sendable {
    /// The name or number.
    package let name: String
    /// True if the distribution or the administrator has set it.
    package let isOfDistribution: Bool

    /// Creates the setting from the output of the helper; `nil` if no relay is set.
    package init?(settingsOutput line: [UInt8]) {
        guard let settings = try? JSONText(parsing: line, maximumValues: 4096).elements,
            let setting = settings.first(where: { $0.member("name")?.text == "tunnel-domain" }),
            let name = setting.shortText("value", atMost: 256), !name.shownAlone.isEmpty
        else { return nil }
        self.name = name.shownAlone
        isOfDistribution = setting.member("file")?.text?.hasPrefix("/etc/") == true
    }
}

/// A step of the first start.
package enum WelcomeStep: Int, CaseIterable, Sendable {
    case introduction = 1
    case relay
    case pin
    case recovery
}

/// The state machine of the first start.
package struct WelcomeModel: Sendable {
    /// The state of the chosen relay.
    package enum RelayState: Equatable, Sendable {
        case notChosen
        /// Set before, and not checked here.
        case preset
        case checking
        case works
        case saved
        case failed(AuthFailure)
    }

    /// A way to choose a relay.
    package enum RelayChoice: Equatable, Sendable {
        case distribution
        case code
        case name
    }

    /// The step; `nil` when all are done.
    package private(set) var step: WelcomeStep? = .introduction
    /// The relay that was set before.
    package let existing: RelaySetting?
    /// The way that is selected.
    package private(set) var choice: RelayChoice
    /// The state of the relay.
    package private(set) var relay: RelayState
    /// True while a helper runs.
    package private(set) var isBusy = false
    /// The failure of the current step.
    package private(set) var failure: AuthFailure?

    /// Creates the first step.
    ///
    /// - Parameter existing: The relay that is set already, if there is one.
    package init(existing: RelaySetting?) {
        self.existing = existing
        choice = existing == nil ? .code : .distribution
        relay = existing == nil ? .notChosen : .preset
    }

    /// The user selects a way; the relay that was set before needs no further check.
    package mutating func choose(_ choice: RelayChoice) {
        guard !isBusy, choice != self.choice else { return }
        self.choice = choice
        relay = choice == .distribution && existing != nil ? .preset : .notChosen
    }

    /// True if the next step can begin.
    package var canContinue: Bool {
        guard !isBusy else { return false }
        return step != .relay || relay == .saved || relay == .preset
    }

    /// Begins the next step.
    package mutating func next() {
        guard canContinue, let step else { return }
        failure = nil
        self.step = WelcomeStep(rawValue: step.rawValue + 1)
    }

    /// A helper starts for the current step.
    package mutating func begin() {
        (isBusy, failure) = (true, nil)
        if step == .relay { relay = .checking }
    }

    /// Applies an event of the helper.
    package mutating func receive(_ event: AuthEvent) {
        guard isBusy else { return }
        switch event {
        case .state("checking", _) where step == .relay: relay = .checking
        case .state("works", _) where step == .relay: relay = .works
        case .failure(let failure): self.failure = failure
        default: break
        }
    }

    /// A backup has been restored, with a PIN for this device; what opens the vault elsewhere exists already.
    package mutating func endRestore() { (isBusy, failure, step) = (false, nil, nil) }

    /// The helper of the current step has ended; after success of the PIN or the recovery code, the next step begins.
    package mutating func end(status: Int32?, lastLine: String = "") {
        guard isBusy else { return }
        isBusy = false
        guard status == 0 else {
            let failure = failure ?? AuthFailure(status: status, lastLine: lastLine)
            self.failure = failure.isCancellation || failure.code == "declined" ? nil : failure
            if step == .relay { relay = failure.isCancellation ? .notChosen : .failed(failure) }
            return
        }
        failure = nil
        if step == .relay { relay = .saved } else { next() }
    }

    /// Returns true for a name of a relay that the helper may accept: a number or a host name.
    package static func isRelayName(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x2E || byte == 0x2D
            }
    }
}

extension WelcomeModel.RelayState {
    /// The state in words; empty if there is nothing to say.
    package var text: String {
        switch self {
        case .notChosen, .preset: ""
        case .checking: tr("Checking the relay…")
        case .works: tr("The relay works")
        case .saved: tr("The relay works and is saved")
        case .failed(let failure): failure.sentence
        }
    }
}
