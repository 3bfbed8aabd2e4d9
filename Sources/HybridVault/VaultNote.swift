// SPDX-License-Identifier: Apache-2.0

/// Something in a vault's directory that was left alone, and why.
public struct VaultNote: Hashable, Sendable {
    /// Where it is, inside the vault; characters that a terminal could obey are replaced.
    public let path: String
    /// Why it was not used.
    public let reason: String

    /// A note; the path may come from a hostile sync server.
    init(path: String, reason: String) {
        let safe = path.unicodeScalars.map { scalar in
            (0x20...0x7E).contains(scalar.value) ? Character(scalar) : "?"
        }
        self.path = String(safe.prefix(200))
        self.reason = reason
    }
}
