// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

extension RelyingPartyID {
    /// True if passkeys of this relying party are encryption keys, which exist for their secret only.
    ///
    /// The ID is `secret-`, 16 of `a–z2–7`, and `.invalid`. No website can have it, and a client must know it to ask.
    public var isEncryptionKey: Bool {
        let characters = text.utf8
        let label = characters.dropFirst("secret-".utf8.count).dropLast(".invalid".utf8.count)
        return text.hasPrefix("secret-") && text.hasSuffix(".invalid") && label.count == 16
            && label.allSatisfy { Array("abcdefghijklmnopqrstuvwxyz234567".utf8).contains($0) }
    }
}
