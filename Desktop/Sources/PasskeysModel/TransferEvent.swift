// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
package import HybridQRCode

/// An event of a transfer of passkeys, besides those that a sign-in has, too.
package enum TransferEvent: Equatable, Sendable {
    /// The code that the other device scans.
    case code(QRMatrix)
    /// The other device is nearby.
    case deviceFound
    /// The digits that both screens must show, in two groups, and the name of the other device in quotation marks.
    case digits(String, peer: String)
    /// Some of the passkeys that are about to be transferred, and the number of all.
    case passkeys([String], of: Int)
    /// The other user is asked.
    case offered
    /// So many of all passkeys are stored.
    case stored(Int, of: Int)

    /// The states of the helper that are such events.
    static let states: Set<String> = ["giver-found", "digits", "offered", "stored"]

    /// Creates an event from one with a code; `nil` if it has none that can be drawn.
    init?(code event: JSONText) {
        guard let text = event.shortText("text", atMost: 4096), text.hasPrefix("HYBRID:/"),
            let code = try? QRMatrix(text: text)
        else { return nil }
        self = .code(code)
    }

    /// Creates an event from one with a list of passkeys; `nil` if a member is not in its expected form.
    init?(passkeys event: JSONText) {
        guard let list = event.member("passkeys")?.elements, let total = event.count("of") else { return nil }
        let lines = list.map { passkey in
            let names = [passkey.shortText("rpId"), passkey.shortText("userName")]
            return names.compactMap { $0?.shownAlone }.joined(separator: ", ")
        }
        self = .passkeys(lines, of: total)
    }

    /// Creates an event from one with a state; `nil` if a member is not in its expected form.
    init?(state event: JSONText) {
        switch event.member("state")?.text {
        case "giver-found": self = .deviceFound
        case "offered": self = .offered
        case "digits":
            guard let digits = event.shortText("digits", atMost: 6), let peer = event.shortText("peer"),
                digits.utf8.count == 6, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) })
            else { return nil }
            self = .digits("\(digits.prefix(3)) \(digits.suffix(3))", peer: peer.quoted)
        case "stored":
            guard let count = event.count("count"), let total = event.count("of"), count <= total else { return nil }
            self = .stored(count, of: total)
        default: return nil
        }
    }
}
