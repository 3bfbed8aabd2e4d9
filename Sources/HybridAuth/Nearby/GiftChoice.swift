// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVault

/// The passkeys that the user wants to give, and those of them that are left out.
struct GiftChoice: Sendable {
    /// The passkeys to give, the newest first.
    let given: [PasskeySummary]
    /// Passkeys that are not given, each with the reason.
    let withheld: [(passkey: PasskeySummary, why: WithheldReason)]

    /// Divides passkeys into those that may be given and others.
    ///
    /// - Parameters:
    ///   - wanted: The passkeys that the user wants to give.
    ///   - isComplete: True to give SSH keys and passkeys of one device, too.
    init(_ wanted: [PasskeySummary], givingAll isComplete: Bool) {
        var (given, withheld) = ([PasskeySummary](), [(passkey: PasskeySummary, why: WithheldReason)]())
        for passkey in wanted {
            if let why = WithheldReason(passkey, givingAll: isComplete) {
                withheld.append((passkey, why))
            } else {
                given.append(passkey)
            }
        }
        (self.given, self.withheld) = (given, withheld)
    }

    /// Returns the passkeys that the user has named, by the beginning of an ID or by their site.
    ///
    /// A site stands for all its passkeys that are not hidden, or for the hidden ones if there are no others.
    ///
    /// - Throws: ``CommandFailure`` if a name matches no passkey, or several by the beginning of their IDs.
    static func named(_ names: [String], in passkeys: [PasskeySummary]) throws -> [PasskeySummary] {
        var chosen: Set<RecordID> = []
        for name in names {
            let ofSite = passkeys.filter { $0.relyingParty?.text.utf8.elementsEqual(name.utf8) == true }
            let shown = ofSite.contains { !$0.isHidden } ? ofSite.filter { !$0.isHidden } : ofSite
            if shown.isEmpty {
                do {
                    chosen.insert(try PasskeyChoice.find(name, in: passkeys).record)
                } catch let failure as CommandFailure where failure.code == VaultError.noSuchRecord.code {
                    throw CommandFailure(
                        "no passkey is called \(SafeText(quoting: name)); hybrid-auth passkeys list shows their sites and IDs",
                        code: failure.code,
                        status: failure.status
                    )
                }
            } else {
                chosen.formUnion(shown.map(\.record))
            }
        }
        return passkeys.filter { chosen.contains($0.record) }
    }

    /// Returns the numbers that a line names, such as `1 3-5`; `all` names every number up to `count`.
    ///
    /// - Returns: The numbers in rising order; `nil` if the line names none, or others.
    static func numbers(_ line: String, upTo count: Int) -> [Int]? {
        let words = line.lowercased().split { " \t,".contains($0) }
        guard !words.isEmpty, words.count <= count else { return nil }
        if words == ["all"] { return Array(1...max(1, count)) }
        var numbers: Set<Int> = []
        for word in words {
            let ends = word.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
            guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1], first >= 1,
                first <= last, last <= count
            else { return nil }
            numbers.formUnion(first...last)
        }
        return numbers.sorted()
    }

    /// One line for each passkey that is left out, up to a limit.
    var withheldLines: [String] {
        let lines = withheld.prefix(NearbyText.maximumLines).map { passkey, why in
            "left out: \(PasskeyText.site(passkey)), account \(PasskeyText.account(passkey)): \(why.words)"
        }
        return withheld.count > lines.count ? lines + ["left out: \(withheld.count - lines.count) more"] : lines
    }

    /// The passkeys that are left out, in JSON.
    var withheldJSON: JSONText {
        .array(
            withheld.map { passkey, why in
                .object([
                    ("id", .string(passkey.record.description)),
                    ("rpId", passkey.relyingParty.map { .string($0.text) } ?? .null),
                    ("userName", passkey.user.map { .string($0.name) } ?? .null),
                    ("reason", .string(why.rawValue)),
                ])
            }
        )
    }
}

extension WithheldReason {
    /// The reason as a clause.
    var words: String {
        switch self {
        case .sshKey: "an SSH key; --ssh gives it, too"
        case .oneDevice: "its site was told that it stays on one device; --ssh gives it all the same"
        case .unusable: "this version can't use it; update hybrid-auth"
        }
    }
}
