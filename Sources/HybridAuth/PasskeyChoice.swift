// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridVault

/// Which passkey a person means: by the beginning of its ID, or by its site if it is the only one there.
enum PasskeyChoice {
    /// Fewer digits than that name nothing.
    static let fewestDigits = 4
    /// As many digits are shown, or more where they would not tell two apart.
    private static let usualDigits = 8

    static let help = ArgumentHelp("The beginning of its ID, or its site.", valueName: "which")
    static let explanation = """
        WHICH is the beginning of an ID as `passkeys list` shows it, \(fewestDigits) digits or more, or the name of a \
        site that has one passkey here.
        """

    /// The one that is meant.
    ///
    /// - Throws: `CommandFailure` if it is none, or more than one.
    static func find(_ which: String, in entries: [VaultEntry]) throws -> VaultEntry {
        let digits = Array(which.lowercased().utf8)
        let found = entries.filter { entry in
            (digits.count >= fewestDigits && entry.record.description.utf8.starts(with: digits))
                || entry.relyingParty?.text.utf8.elementsEqual(which.utf8) == true
        }
        guard let first = found.first else { throw CommandFailure(VaultError.noSuchRecord) }
        guard found.count == 1 else {
            let length = digitsNeeded(entries)
            let names = found.prefix(10).map { String($0.record.description.prefix(length)) }
            let more = found.count > names.count ? " and \(found.count - names.count) more" : ""
            throw CommandFailure(
                "\(found.count) passkeys are meant by that: \(names.joined(separator: ", "))\(more); name one by the "
                    + "beginning of its ID",
                status: .usage
            )
        }
        return first
    }

    /// How many digits of an ID tell all passkeys apart.
    static func digitsNeeded(_ entries: [VaultEntry]) -> Int {
        let names = entries.map(\.record.description)
        return (usualDigits..<32).first { length in Set(names.map { $0.prefix(length) }).count == names.count } ?? 32
    }
}
