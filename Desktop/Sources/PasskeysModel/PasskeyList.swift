// SPDX-License-Identifier: Apache-2.0

/// The passkeys of one site.
package struct SiteGroup: Equatable, Sendable {
    /// The site, safe to show.
    package let title: String
    /// Its passkeys, by account.
    package let passkeys: [ListedPasskey]
}

extension [ListedPasskey] {
    /// Returns the passkeys that match a search, grouped by site, both in alphabetical order; hidden ones come last.
    ///
    /// - Parameter search: Words that a passkey must all have in its site, its names or its kind.
    package func grouped(search: String = "") -> [SiteGroup] {
        let words = search.lowercased().split(whereSeparator: \.isWhitespace)
        let found = filter { passkey in
            let text = passkey.searchText
            return words.allSatisfy { text.contains($0) }
        }
        return Dictionary(grouping: found, by: \.siteText)
            .map { title, passkeys in
                SiteGroup(title: title, passkeys: passkeys.sorted { $0.listOrder < $1.listOrder })
            }
            .sorted { ($0.title.lowercased(), $0.title) < ($1.title.lowercased(), $1.title) }
    }
}

extension ListedPasskey {
    /// The place in its group.
    fileprivate var listOrder: (Int, String, String) { (isHidden ? 1 : 0, accountText.lowercased(), id) }
}
