// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import HybridQRCode

/// What a ceremony is for; shown as the page's heading.
public struct PageSubject: Equatable, Sendable {
    /// What the website asks for.
    public enum Operation: String, Sendable {
        /// A new passkey.
        case create
        /// A sign-in.
        case signIn
    }

    let site: String
    let operation: Operation

    /// A subject.
    ///
    /// - Parameter site: the website's domain; shown as text, whatever is in it.
    public init(site: String, operation: Operation) {
        self.site = site
        self.operation = operation
    }
}

/// How far the ceremony is.
public enum PageStage: Equatable, Sendable {
    /// There is no code yet.
    case preparing
    /// The code can be scanned.
    case scan(QRMatrix)
    /// The phone is near.
    case found
    /// The tunnel at this relay is being joined.
    case connecting(host: String)
    /// The phone asks its user.
    case confirm
    /// The answer is there.
    case done
    /// It failed or was cancelled.
    case failed(cause: String, remedy: String)

    var name: String {
        switch self {
        case .preparing: "preparing"
        case .scan: "scan"
        case .found: "found"
        case .connecting: "connecting"
        case .confirm: "confirm"
        case .done: "done"
        case .failed: "failed"
        }
    }

    var isLast: Bool {
        switch self {
        case .done, .failed: true
        default: false
        }
    }
}

/// All that the page shows, and since when.
///
/// Every event carries the whole of it, so that a page that was reloaded, or has missed something, needs one.
struct PageProgress {
    private let subject: PageSubject
    private let began: ContinuousClock.Instant
    private var stageBegan: ContinuousClock.Instant
    private var warning: String?
    private(set) var stage = PageStage.preparing

    init(_ subject: PageSubject, at now: ContinuousClock.Instant) {
        self.subject = subject
        began = now
        stageBegan = now
    }

    /// Goes to a stage; `false` if the last one is reached already.
    mutating func show(_ stage: PageStage, at now: ContinuousClock.Instant) -> Bool {
        guard !self.stage.isLast else { return false }
        self.stage = stage
        stageBegan = now
        return true
    }

    /// Adds a warning; `false` if it is there already.
    mutating func warn(_ text: String) -> Bool {
        guard warning != text else { return false }
        warning = text
        return true
    }

    /// One event of an event stream, in UTF-8.
    func message(at now: ContinuousClock.Instant) -> [UInt8] {
        var content = Content(
            site: subject.site,
            operation: subject.operation.rawValue,
            warning: warning,
            stage: stage.name,
            elapsed: Self.milliseconds(now - began),
            stageElapsed: Self.milliseconds(now - stageBegan)
        )
        switch stage {
        case .scan(let code): content.code = Content.Code(side: code.svgSide, path: code.svgPath())
        case .connecting(let host): content.host = host
        case .failed(let cause, let remedy): (content.cause, content.remedy) = (cause, remedy)
        case .preparing, .found, .confirm, .done: break
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and numbers can always be encoded, and the encoder leaves no newline in them.
        let json = (try? encoder.encode(content)) ?? Data("{}".utf8)
        return Array("data: ".utf8) + json + Array("\n\n".utf8)
    }

    private static func milliseconds(_ duration: Duration) -> Int64 { Int64(duration / .milliseconds(1)) }

    private struct Content: Encodable {
        struct Code: Encodable {
            let side: Int
            let path: String
        }

        let site: String
        let operation: String
        let warning: String?
        let stage: String
        let elapsed: Int64
        let stageElapsed: Int64
        var code: Code?
        var host: String?
        var cause: String?
        var remedy: String?
    }
}
