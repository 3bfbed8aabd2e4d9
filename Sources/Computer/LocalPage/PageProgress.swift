// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
package import HybridQRCode

/// The purpose of a ceremony, which the heading of the page shows.
package struct PageSubject: Equatable, Sendable {
    /// The operation that the website requests.
    package enum Operation: String, Sendable {
        /// Creating a passkey.
        case create
        /// Signing in.
        case signIn
        /// Receiving passkeys from a device nearby.
        case receive
        /// Joining the vault of a device nearby.
        case join
    }

    let site: String
    let operation: Operation

    /// Creates a subject.
    ///
    /// - Parameters:
    ///   - site: The website's domain, which the page never interprets as markup; empty for a transfer.
    ///   - operation: The requested operation.
    package init(site: String, operation: Operation) {
        self.site = site
        self.operation = operation
    }
}

/// A stage of the ceremony.
package enum PageStage: Equatable, Sendable {
    /// There is no code yet.
    case preparing
    /// The code can be scanned.
    case scan(QRMatrix)
    /// The phone was found.
    case found
    /// The tunnel at this relay is being joined.
    case connecting(host: String)
    /// The phone is asking its user.
    case confirm
    /// The response was received.
    case done
    /// The ceremony failed or was canceled.
    case failed(cause: String, remedy: String)

    /// The name of the stage, and the members that only events of this stage have.
    var event: (name: String, members: [(String, JSONText)]) {
        switch self {
        case .preparing: ("preparing", [])
        case .scan(let code):
            ("scan", [("code", .object([("side", .number(code.svgSide)), ("path", .string(code.svgPath()))]))])
        case .found: ("found", [])
        case .connecting(let host): ("connecting", [("host", .string(host))])
        case .confirm: ("confirm", [])
        case .done: ("done", [])
        case .failed(let cause, let remedy): ("failed", [("cause", .string(cause)), ("remedy", .string(remedy))])
        }
    }

    var isLast: Bool { if case .failed = self { true } else { self == .done } }
}

/// The content of the page.
///
/// Each event contains the complete content, so a page that was reloaded or missed an event needs only the next event.
struct PageProgress {
    private let subject: PageSubject
    private let began: ContinuousClock.Instant
    private var stageBegan: ContinuousClock.Instant
    private var warnings: [String] = []
    private(set) var stage = PageStage.preparing

    init(_ subject: PageSubject, at now: ContinuousClock.Instant) {
        self.subject = subject
        began = now
        stageBegan = now
    }

    /// Changes the stage; returns `false` without a change if the last stage has been reached.
    mutating func show(_ stage: PageStage, at now: ContinuousClock.Instant) -> Bool {
        guard !self.stage.isLast else { return false }
        self.stage = stage
        stageBegan = now
        return true
    }

    /// Adds a warning, which stays beside the others; returns `false` if it is shown already.
    mutating func warn(_ text: String) -> Bool {
        guard !warnings.contains(text) else { return false }
        warnings.append(text)
        return true
    }

    /// Returns the content as a message of an event stream, in UTF-8.
    func message(at now: ContinuousClock.Instant) -> [UInt8] {
        let (name, stageMembers) = stage.event
        var members: [(String, JSONText)] = [
            ("site", .string(subject.site)), ("operation", .string(subject.operation.rawValue)),
            ("stage", .string(name)), ("elapsed", .number(Self.milliseconds(now - began))),
            ("stageElapsed", .number(Self.milliseconds(now - stageBegan))),
        ]
        if !warnings.isEmpty { members.append(("warning", .string(warnings.joined(separator: "\n")))) }
        return Array("data: \(JSONText.object(members + stageMembers))\n\n".utf8)
    }

    private static func milliseconds(_ duration: Duration) -> Int { Int(duration / .milliseconds(1)) }
}
