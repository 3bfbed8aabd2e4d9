// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HybridCeremonySupport
internal import HybridCommandSupport
public import HybridPrimitives
internal import HybridSession

/// What the doctor looks at, in the order of a ceremony.
///
/// The names are a contract with scripts: add, don't change.
enum DoctorCheck: String, Encodable {
    case systemBus = "system-bus"
    case bluetoothService = "bluetooth-service"
    case adapter
    case scanning
    case hearing
    case ownAdvert = "own-advert"
    case proxy
    case relay
    case clock
}

/// What one check found.
struct DoctorFinding {
    enum State: String, Encodable {
        case fine = "ok"
        /// Not as it should be, but a ceremony may work.
        case warning
        /// No ceremony can work.
        case failed
        /// Not looked at, because something before is missing.
        case skipped
    }

    let check: DoctorCheck
    /// Which of several: a relay's host.
    var subject: String?
    var state: State
    /// What was found.
    let found: String
    /// What to do about it.
    var remedy: String?
    /// The exit status if this is what prevents a ceremony.
    var status = ExitStatus.unavailable
    /// Who says to have issued the certificate.
    var issuer: String?
    /// Whether somebody on the way opens TLS, where that is known.
    var isIntercepted: Bool?

    init(_ check: DoctorCheck, _ state: State, _ found: String, remedy: String? = nil) {
        self.check = check
        self.state = state
        self.found = StandardError.oneLine(found)
        self.remedy = remedy.map(StandardError.oneLine)
    }

    /// A failure in the words in which a ceremony would tell it.
    init(_ check: DoctorCheck, _ state: State, _ failure: some ExplainedFailure) {
        // Sentences say the cause, and behind a semicolon the remedy.
        let sentence = failure.sentence
        if let border = sentence.firstRange(of: "; ") {
            self.init(
                check,
                state,
                String(sentence[..<border.lowerBound]),
                remedy: String(sentence[border.upperBound...])
            )
        } else {
            self.init(check, state, sentence)
        }
        status = failure.status
    }

    /// Cause and remedy in one line.
    var sentence: String { remedy.map { "\(found); \($0)" } ?? found }

    /// One or two lines for a person.
    var lines: [String] {
        let name = subject ?? check.rawValue.split(separator: "-").joined(separator: " ")
        let mark = state == .failed ? "FAILED" : state == .skipped ? "-" : state.rawValue
        let first = Self.padded(mark, 9) + Self.padded(name, 24) + found
        return [first] + (remedy.map { [Self.padded("", 33) + "→ " + $0] } ?? [])
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}

/// All findings, and what they come to.
struct DoctorReport {
    let findings: [DoctorFinding]
    let isVirtual: Bool

    /// The first finding that prevents a ceremony.
    var obstacle: DoctorFinding? { findings.first { $0.state == .failed } }

    /// One JSON object on one line.
    func json() throws -> [UInt8] {
        try Self.encoded(
            Document(
                couldWork: obstacle == nil,
                code: obstacle?.status.rawValue ?? 0,
                virtualRadio: isVirtual,
                checks: findings.map(Entry.init)
            )
        )
    }

    /// A finding as a line of NDJSON.
    static func event(_ finding: DoctorFinding) throws -> [UInt8] {
        try encoded(Event(event: "check", entry: Entry(finding)))
    }

    /// The obstacle as the last line of NDJSON.
    static func error(_ finding: DoctorFinding) throws -> [UInt8] {
        try encoded(
            Failure(
                event: "error",
                code: finding.status.rawValue,
                message: finding.found,
                remedy: finding.remedy
            )
        )
    }

    /// Somebody broke off; the last line of NDJSON.
    static func interruption() throws -> [UInt8] { try error(ExitStatus.interrupted.name, .interrupted) }

    /// What prevents the report and not a ceremony; the last line of NDJSON.
    static func error(_ message: String, _ status: ExitStatus) throws -> [UInt8] {
        try encoded(Failure(event: "error", code: status.rawValue, message: message, remedy: nil))
    }

    private static func encoded(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    private struct Document: Encodable {
        let couldWork: Bool
        let code: Int32
        let virtualRadio: Bool
        let checks: [Entry]
    }

    private struct Entry: Encodable {
        let check: DoctorCheck
        let subject: String?
        let state: DoctorFinding.State
        let found: String
        let remedy: String?
        let issuer: String?
        let intercepted: Bool?

        init(_ finding: DoctorFinding) {
            check = finding.check
            subject = finding.subject
            state = finding.state
            found = finding.found
            remedy = finding.remedy
            issuer = finding.issuer
            intercepted = finding.isIntercepted
        }
    }

    private struct Event: Encodable {
        enum Key: String, CodingKey { case event }

        let event: String
        let entry: Entry

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(event, forKey: .event)
            try entry.encode(to: encoder)
        }
    }

    private struct Failure: Encodable {
        let event: String
        let code: Int32
        let message: String
        let remedy: String?
    }
}
