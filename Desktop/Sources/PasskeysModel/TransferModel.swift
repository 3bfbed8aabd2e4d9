// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
package import HybridQRCode
internal import HybridTranslation

/// A stage of a transfer of passkeys as the user sees it.
package enum TransferStage: Equatable, Sendable {
    /// There is no transfer.
    case idle
    /// The helper prepares the code, or looks for the device that shows one.
    case connecting
    /// The code waits for the device that gives.
    case code(QRMatrix)
    /// The users compare the digits; the name of the other device is in quotation marks.
    case comparing(String, peer: String)
    /// The other user is asked.
    case waiting
    /// So many of all passkeys are stored.
    case stored(Int, of: Int)
    /// The transfer has ended well.
    case done(TransferResult)
    /// The transfer failed.
    case failed(AuthFailure)

    /// True while the helper runs.
    package var isRunning: Bool {
        switch self {
        case .idle, .done, .failed: false
        default: true
        }
    }
}

/// The outcome of a transfer.
package struct TransferResult: Equatable, Sendable {
    /// True on the device that gave.
    let isGiver: Bool
    /// Number of passkeys that the receiver stored.
    let count: Int
    /// Number of passkeys that the receiver had before.
    let present: Int
    /// Number of passkeys that were left out, or kept as they were.
    let leftOut: Int

    /// Creates a result from the last line of the helper; unknown numbers are 0.
    init(_ line: [UInt8], isGiver: Bool) {
        let result = JSONText(helperLine: line)
        func number(_ list: String) -> Int { result?.member(list)?.elements?.count ?? 0 }
        self.isGiver = isGiver
        count = result?.count(isGiver ? "given" : "added") ?? 0
        present = number("present")
        leftOut = number("leftOut") + number("different") + number("notStored")
    }
}

/// The state machine of the page for transfers.
package struct TransferModel: Sendable {
    /// The stage.
    package private(set) var stage = TransferStage.idle
    /// True if this device gives.
    package private(set) var isGiver = false
    /// The first passkeys that are about to be transferred, until they are stored, and the number of all.
    private var passkeys: (lines: [String], count: Int) = ([], 0)
    /// True once the devices have met, after which no other may scan.
    private var hasMet = false

    /// Creates an idle model.
    package init() {}

    /// The helper is started.
    package mutating func begin(isGiver: Bool) {
        (stage, self.isGiver, hasMet) = (.connecting, isGiver, false)
        passkeys = ([], 0)
    }

    /// Applies an event of the helper.
    package mutating func receive(_ event: AuthEvent) {
        guard stage.isRunning, case .transfer(let event) = event else { return }
        if case .code(let code) = event {
            if !hasMet { stage = .code(code) }
            return
        }
        hasMet = true
        switch event {
        case .code: break
        case .deviceFound: stage = .connecting
        case .digits(let digits, let peer): stage = .comparing(digits, peer: peer)
        case .passkeys(let lines, let count):
            passkeys = (passkeys.lines + lines.prefix(Self.maximumLines - passkeys.lines.count), count)
        case .offered: stage = .waiting
        case .stored(let count, let total):
            stage = .stored(count, of: total)
            passkeys = ([], 0)
        }
    }

    /// Maximum number of listed passkeys.
    private static let maximumLines = 20

    /// The passkeys that are about to be transferred, one on each line, and the number of the others; `nil` if there are none.
    package var list: String? {
        guard !passkeys.lines.isEmpty, stage.isRunning else { return nil }
        let rest = passkeys.count - passkeys.lines.count
        let more = rest > 0 ? [tr("and {count} more", ["count": "\(rest)"])] : []
        return (passkeys.lines + more).joined(separator: "\n")
    }

    /// The helper has ended with a result, or with a failure.
    package mutating func end(_ result: Result<[UInt8], AuthFailure>) {
        guard stage.isRunning else { return }
        switch result {
        case .success(let line): stage = .done(TransferResult(line, isGiver: isGiver))
        case .failure(let failure) where failure.isCancellation: stage = .idle
        case .failure(let failure): stage = .failed(failure)
        }
    }
}

extension TransferStage {
    /// The state as a heading.
    package var title: String {
        switch self {
        case .idle: ""
        case .connecting: tr("Connecting to the other device")
        case .code: tr("Let the other device scan this code")
        case .comparing: tr("Compare the digits")
        case .waiting: tr("Waiting for the other device")
        case .stored(let count, let total):
            tr("{count} of {total} stored", ["count": "\(count)", "total": "\(total)"])
        case .done(let result): result.title
        case .failed(let failure): failure.words.title
        }
    }

    /// The advice below the heading; empty if there is none.
    package var advice: String {
        switch self {
        case .connecting: tr("Stay close to the other device.")
        case .code: tr("There, open a passkey and choose Give, or run hybrid-auth give.")
        case .comparing(_, let peer):
            tr("The screen of {device} must show the same. If not, cancel.", ["device": peer])
        case .waiting: tr("Its user agrees and opens the vault there.")
        case .done(let result): result.advice
        case .failed(let failure): failure.words.advice
        case .idle, .stored: ""
        }
    }

    /// The digits that are compared now; `nil` if there are none.
    package var digits: String? {
        if case .comparing(let digits, _) = self { return digits }
        return nil
    }
}

extension TransferResult {
    fileprivate var title: String {
        isGiver
            ? tr("{count} passkey given", plural: "{count} passkeys given", count: count)
            : tr("{count} passkey received", plural: "{count} passkeys received", count: count)
    }

    fileprivate var advice: String {
        var sentences: [String] = []
        if present > 0 {
            sentences.append(tr("{count} was here already.", plural: "{count} were here already.", count: present))
        }
        if leftOut > 0 {
            sentences.append(tr("{count} was left out.", plural: "{count} were left out.", count: leftOut))
        }
        if count > 0, !isGiver { sentences.append(tr("No backup has them yet.")) }
        return sentences.joined(separator: " ")
    }
}
