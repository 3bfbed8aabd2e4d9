// SPDX-License-Identifier: Apache-2.0

package import HybridSSHAgent

/// A host, or a socket of its own, as permissions for websites name it.
package enum RemoteHost: Hashable, Sendable, CustomStringConvertible {
    /// A host by its key.
    case key(SSHFingerprint)
    /// A socket of its own, by the name that the user gave it.
    case socket(String)

    private static let socketPrefix = "socket:"
    /// Maximum length of the name of a socket in bytes.
    package static let maximumName = 64

    /// Creates a host from its text, `SHA256:…` or `socket:NAME`; `nil` for any other text.
    package init?(_ text: String) {
        if text.hasPrefix(Self.socketPrefix) {
            let name = String(text.dropFirst(Self.socketPrefix.count))
            guard Self.isName(name) else { return nil }
            self = .socket(name)
        } else if let fingerprint = SSHFingerprint(text) {
            self = .key(fingerprint)
        } else {
            return nil
        }
    }

    /// The text.
    package var description: String {
        switch self {
        case .key(let fingerprint): fingerprint.description
        case .socket(let name): Self.socketPrefix + name
        }
    }

    /// Returns true for 1 to 64 letters, digits, dots, hyphens and underscores.
    package static func isName(_ text: String) -> Bool {
        (1...maximumName).contains(text.utf8.count) && KnownHosts.isName(text)
            && !text.utf8.contains(where: ":[]%".utf8.contains)
    }
}

extension RemoteOrigin {
    /// The hosts, nearest first; the last one asks.
    var chain: [RemoteHost] {
        switch self {
        case .hosts(let keys): keys.map { .key($0.fingerprint) }
        case .socket(let name): [.socket(name)]
        }
    }
}
