// SPDX-License-Identifier: Apache-2.0

package import HybridCTAP
internal import HybridPrimitives
package import HybridSSHAgent

/// An SSH key whose private half is a passkey on a phone.
///
/// Nothing in it is secret: the credential ID only tells the phone which passkey to use.
package struct StoredKey: Hashable, Sendable {
    /// The public key.
    package let publicKey: SSHPublicKey
    /// The relying party ID of the passkey, which is the application of the key.
    package let relyingPartyID: RelyingPartyID
    /// The ID of the passkey.
    package let credentialID: CredentialID
    /// The name of the key.
    package let comment: KeyComment
    /// True if messages may be signed through a forwarded agent.
    package let allowsForwardedMessages: Bool

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - publicKey: The public key.
    ///   - credentialID: The ID of the passkey.
    ///   - comment: The name of the key.
    ///   - allowsForwardedMessages: True if messages may be signed through a forwarded agent.
    /// - Returns: `nil` if the application of the key is not a domain, which phones require.
    package init?(
        _ publicKey: SSHPublicKey,
        credentialID: CredentialID,
        comment: KeyComment,
        allowsForwardedMessages: Bool = false
    ) {
        guard let relyingPartyID = RelyingPartyID(publicKey.application.description) else { return nil }
        self.publicKey = publicKey
        self.relyingPartyID = relyingPartyID
        self.credentialID = credentialID
        self.comment = comment
        self.allowsForwardedMessages = allowsForwardedMessages
    }

    /// Creates a key from its line in a key list; `nil` for any other text.
    ///
    /// The line consists of public key and credential ID in base64url, options, and the name, separated by spaces. The
    /// options are `-` or `forwarded-messages`.
    init?(line: Substring) {
        let fields = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 4, let blob = Base64URL.decode(fields[0], maximumLength: Self.maximumBlob),
            let publicKey = try? SSHPublicKey(parsing: blob),
            let credentialID = Base64URL.decode(fields[1], maximumLength: CredentialID.maximumLength)
                .flatMap({ CredentialID(bytes: $0) }),
            fields[2] == Self.noOptions || fields[2] == Self.forwardedMessages, let comment = KeyComment(fields[3])
        else { return nil }
        let isAllowed = fields[2] == Self.forwardedMessages
        self.init(publicKey, credentialID: credentialID, comment: comment, allowsForwardedMessages: isAllowed)
    }

    /// The line in a key list, without a line end.
    var line: String {
        let options = allowsForwardedMessages ? Self.forwardedMessages : Self.noOptions
        let key = Base64URL.encode(publicKey.encoded)
        return "\(key) \(Base64URL.encode(credentialID.bytes)) \(options) \(comment)"
    }

    /// The key as the agent offers it.
    package var agentKey: AgentKey {
        AgentKey(publicKey, comment: comment, allowsForwardedMessages: allowsForwardedMessages)
    }

    private static let maximumBlob = 1024
    private static let noOptions = "-"
    private static let forwardedMessages = "forwarded-messages"
}

/// A list of keys as text: the file of the key store, and the form for another computer.
package enum KeyList {
    /// Maximum number of keys, which is that of the agent.
    package static let maximumCount = 64
    /// Maximum length of the text in bytes.
    package static let maximumSize = 256 * 1024
    private static let heading = "# hybrid-key ssh keys 1"

    /// Returns the text of a list.
    package static func text(_ keys: [StoredKey]) -> String {
        ([heading] + keys.map(\.line)).joined(separator: "\n") + "\n"
    }

    /// Returns the keys of a text.
    ///
    /// - Parameter bytes: The text, at most ``maximumSize`` bytes.
    /// - Throws: ``KeyListError`` for the first line that is not a key.
    package static func keys(in bytes: [UInt8]) throws(KeyListError) -> [StoredKey] {
        guard bytes.count <= maximumSize, let text = String(validating: bytes, as: UTF8.self) else {
            throw KeyListError(line: 1)
        }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.first.map(String.init) == heading else { throw KeyListError(line: 1) }
        var keys: [StoredKey] = []
        for (index, line) in lines.enumerated().dropFirst() where !line.isEmpty {
            guard keys.count < maximumCount, let key = StoredKey(line: line),
                !keys.contains(where: { $0.publicKey == key.publicKey })
            else { throw KeyListError(line: index + 1) }
            keys.append(key)
        }
        return keys
    }
}

/// The number of the line at which a text is not a key list.
package struct KeyListError: Error, Hashable, Sendable {
    /// The number of the line, from 1.
    package let line: Int
}
