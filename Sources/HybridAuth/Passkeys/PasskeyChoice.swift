// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVault

/// Selection of a passkey by the beginning of its ID, or by its site if there is only one for that site.
enum PasskeyChoice {
    /// Minimum number of ID digits that select a passkey.
    static let minimumDigits = 4
    /// Number of digits that are shown, unless more are needed to distinguish the passkeys.
    private static let shownDigits = 8

    static let help = ArgumentHelp("The beginning of its ID, or its site.", valueName: "which")
    static let explanation = """
        WHICH is the beginning of an ID as `passkeys list` shows it, \(minimumDigits) digits or more, or the name of a \
        site that has one passkey here.
        """

    /// Returns the selected passkey.
    ///
    /// - Throws: `CommandFailure` if there is none, or more than one.
    static func find(_ which: String, in passkeys: [PasskeySummary]) throws -> PasskeySummary {
        let digits = Array(which.lowercased().utf8)
        let named = passkeys.filter { $0.relyingParty?.text.utf8.elementsEqual(which.utf8) == true }
        // The name of a site means a passkey that `list` shows, if there is one.
        let shown = named.contains { !$0.isHidden } ? named.filter { !$0.isHidden } : named
        let found = passkeys.filter { passkey in
            (digits.count >= minimumDigits && passkey.record.description.utf8.starts(with: digits))
                || shown.contains { $0.record == passkey.record }
        }
        guard let first = found.first else { throw CommandFailure(VaultError.noSuchRecord) }
        guard found.count == 1 else {
            let length = digitsNeeded(passkeys)
            let names = found.prefix(10).map { String($0.record.description.prefix(length)) }
            let more = found.count > names.count ? " and \(found.count - names.count) more" : ""
            throw CommandFailure(
                "\(found.count) passkeys match: \(names.joined(separator: ", "))\(more); name one by the "
                    + "beginning of its ID",
                code: "ambiguous",
                status: .usage
            )
        }
        return first
    }

    /// Returns the number of ID digits, at least eight, that distinguishes all passkeys.
    static func digitsNeeded(_ passkeys: [PasskeySummary]) -> Int {
        let names = passkeys.map(\.record.description)
        return (shownDigits..<32).first { length in Set(names.map { $0.prefix(length) }).count == names.count } ?? 32
    }
}
