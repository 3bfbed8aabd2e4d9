// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridPrimitives
internal import HybridTransfer
internal import HybridVault

/// Texts of transfers: names from the other side are quoted, and lists are short.
enum NearbyText {
    /// Maximum number of lines of a list.
    static let maximumLines = 20
    /// Maximum length of a list in a prompt of pinentry, which with its surroundings fits a line of its protocol.
    private static let maximumBytes = 400
    private static let maximumPromptLines = 8

    /// A passkey in a list.
    struct Item {
        let site: String
        let account: String
        /// The same for programs.
        let json: JSONText
    }

    /// Returns the items of this vault's passkeys.
    static func items(_ passkeys: [PasskeySummary]) -> [Item] {
        passkeys.map { passkey in
            Item(
                site: PasskeyText.site(passkey),
                account: PasskeyText.account(passkey),
                json: json(passkey.relyingParty?.text, passkey.user?.name)
            )
        }
    }

    /// Returns the items of an offer.
    static func items(_ passkeys: [OfferedPasskey]) -> [Item] {
        passkeys.map { passkey in
            Item(
                site: passkey.relyingParty.text,
                account: passkey.user.description,
                json: json(passkey.relyingParty.text, passkey.user.unquoted)
            )
        }
    }

    private static func json(_ site: String?, _ account: String?) -> JSONText {
        .object([("rpId", site.map { .string($0) } ?? .null), ("userName", account.map { .string($0) } ?? .null)])
    }

    /// Returns a list for the screen: at most 20 lines, and the number of the others.
    static func list(_ items: [Item]) -> [String] {
        let lines = items.prefix(maximumLines).map { "\($0.site), account \($0.account)" }
        return items.count > lines.count ? lines + ["and \(items.count - lines.count) more"] : lines
    }

    /// Returns the list in a prompt: as many items as fit, and the number of the others.
    static func promptList(_ items: [Item]) -> String {
        var (lines, bytes) = ([String](), 0)
        for item in items {
            let line = "\(item.site)\n\(item.account)"
            bytes += line.utf8.count + 1
            guard lines.isEmpty || bytes <= maximumBytes, lines.count < maximumPromptLines else { break }
            lines.append(line)
        }
        let rest = items.count - lines.count
        if rest > 0 { lines.append("and \(rest) more, listed where you started this") }
        return lines.joined(separator: "\n")
    }

    /// Returns the question whether both screens show the same digits.
    static func comparison(_ digits: TransferDigits, _ peer: TransferPeer, to action: String) -> String {
        "\(action)\n\(peer.name)\n\nBoth screens must show\n\n\(digits)\n\nIf the other screen shows other digits, or you "
            + "can't see it, cancel."
    }

    /// Returns six groups of five digits, by which two users compare a file that one of them has sent.
    static func groups(of hash: [UInt8]) -> String {
        stride(from: 0, to: 30, by: 5)
            .map { start in
                let number = hash[start..<(start + 5)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 100_000
                let digits = String(number)
                return String(repeating: "0", count: 5 - digits.utf8.count) + digits
            }
            .joined(separator: " ")
    }
}

extension TransferPeer {
    /// The cleaned name without its quotation marks, for the usage history and for programs.
    var plainName: String { name.unquoted }
}
