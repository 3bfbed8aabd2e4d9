// SPDX-License-Identifier: Apache-2.0

package import HybridCTAP
internal import HybridPrimitives
package import HybridSSHAgent

/// An SSH key whose private half is a passkey on a phone.
///
/// Nothing in it is secret: the credential ID only identifies the passkey to the phone.
package struct StoredSSHKey: Hashable, Sendable {
    /// The public key.
    package let publicKey: SSHPublicKey
    /// The relying party ID of the passkey, which is the application of the key.
    package let relyingPartyID: RelyingPartyID
    /// The ID of the passkey.
    package let credentialID: CredentialID
    /// The name of the key.
    package let comment: SSHKeyComment
    /// True if messages may be signed through a forwarded agent.
    package let allowsForwardedMessages: Bool
    /// The permitted logins; `nil` if all are.
    package let destinations: [PermittedDestination]?

    /// Maximum number of destinations of a key.
    package static let maximumDestinations = 32

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - publicKey: The public key.
    ///   - credentialID: The ID of the passkey.
    ///   - comment: The name of the key.
    ///   - allowsForwardedMessages: True if messages may be signed through a forwarded agent.
    ///   - destinations: The permitted logins, 1 to ``maximumDestinations``; `nil` to permit all.
    /// - Returns: `nil` if the application of the key is not a relying party ID, or the destinations are too many,
    ///   repeated, or have user names that a line can't contain.
    package init?(
        _ publicKey: SSHPublicKey,
        credentialID: CredentialID,
        comment: SSHKeyComment,
        allowsForwardedMessages: Bool = false,
        destinations: [PermittedDestination]? = nil
    ) {
        guard let relyingPartyID = RelyingPartyID(publicKey.application.description, accepting: [.domain, .ssh])
        else { return nil }
        if let destinations {
            guard (1...Self.maximumDestinations).contains(destinations.count),
                Set(destinations).count == destinations.count,
                destinations.allSatisfy({ PermittedDestination($0.description) == $0 })
            else { return nil }
        }
        self.publicKey = publicKey
        self.relyingPartyID = relyingPartyID
        self.credentialID = credentialID
        self.comment = comment
        self.allowsForwardedMessages = allowsForwardedMessages
        self.destinations = destinations
    }

    /// Returns this key with the limits of both keys: with the destinations that both permit, or those of `other` if
    /// there are none.
    func limited(as other: StoredSSHKey) -> StoredSSHKey {
        let common = destinations.map { own in own.filter { other.destinations?.contains($0) ?? true } }
        let limited = StoredSSHKey(
            publicKey,
            credentialID: credentialID,
            comment: comment,
            allowsForwardedMessages: allowsForwardedMessages && other.allowsForwardedMessages,
            destinations: common.flatMap { $0.isEmpty ? nil : $0 } ?? other.destinations
        )
        return limited ?? other
    }

    /// Creates a key from its line in a key list; `nil` for any other text.
    ///
    /// The line consists of public key and credential ID in base64url, options, and the name, separated by spaces. The
    /// options are `-`, or `forwarded-messages` and `destination=DESTINATION`, separated by commas.
    init?(line: Substring) {
        let fields = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 4, let blob = Base64URL.decode(fields[0], maximumLength: Self.maximumBlob),
            let publicKey = try? SSHPublicKey(parsing: blob),
            let credentialID = Base64URL.decode(fields[1], maximumLength: CredentialID.maximumLength)
                .flatMap({ CredentialID(bytes: $0) }),
            let comment = SSHKeyComment(fields[3])
        else { return nil }
        var isAllowed = false
        var destinations: [PermittedDestination]?
        let options = fields[2].split(separator: ",", omittingEmptySubsequences: false)
        for option in options where fields[2] != Self.noOptions {
            if option == Self.forwardedMessages, !isAllowed {
                isAllowed = true
            } else if option.hasPrefix(Self.destination),
                let destination = PermittedDestination(String(option.dropFirst(Self.destination.count)))
            {
                destinations = (destinations ?? []) + [destination]
            } else {
                return nil
            }
        }
        self.init(
            publicKey,
            credentialID: credentialID,
            comment: comment,
            allowsForwardedMessages: isAllowed,
            destinations: destinations
        )
    }

    /// The line in a key list, without a line end.
    var line: String {
        let key = Base64URL.encode(publicKey.encoded)
        let options = restrictions.isEmpty ? Self.noOptions : restrictions.joined(separator: ",")
        return "\(key) \(Base64URL.encode(credentialID.bytes)) \(options) \(comment)"
    }

    /// The permission for forwarded messages and the destinations, as options of a line.
    package var restrictions: [String] {
        (allowsForwardedMessages ? [Self.forwardedMessages] : [])
            + (destinations ?? []).map { "\(Self.destination)\($0)" }
    }

    /// Returns the same key with other restrictions; `nil` if the destinations are not accepted.
    package func restricted(allowsForwardedMessages: Bool, destinations: [PermittedDestination]?) -> StoredSSHKey? {
        StoredSSHKey(
            publicKey,
            credentialID: credentialID,
            comment: comment,
            allowsForwardedMessages: allowsForwardedMessages,
            destinations: destinations
        )
    }

    /// The key as the agent offers it.
    package var agentKey: AgentKey {
        AgentKey(
            publicKey,
            comment: comment,
            allowsForwardedMessages: allowsForwardedMessages,
            destinations: destinations
        )
    }

    private static let maximumBlob = 1024
    private static let noOptions = "-"
    private static let forwardedMessages = "forwarded-messages"
    private static let destination = "destination="
}

/// A list of keys as text: the file of the key store, and the form for another computer.
package enum SSHKeyList {
    /// Maximum number of keys, which is that of the agent.
    package static let maximumCount = 64
    /// Maximum length of the text in bytes.
    package static let maximumSize = 512 * 1024
    private static let heading = "# hybrid-key ssh keys 1"

    /// Returns the text of a list.
    package static func text(_ keys: [StoredSSHKey]) -> String {
        ([heading] + keys.map(\.line)).joined(separator: "\n") + "\n"
    }

    /// Returns the keys of a text.
    ///
    /// - Parameter bytes: The text, at most ``maximumSize`` bytes.
    /// - Throws: ``KeyListError`` for the first line that is not a key.
    package static func keys(in bytes: [UInt8]) throws(KeyListError) -> [StoredSSHKey] {
        guard bytes.count <= maximumSize, let text = String(validating: bytes, as: UTF8.self) else {
            throw KeyListError(line: 1)
        }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.first.map(String.init) == heading else { throw KeyListError(line: 1) }
        var keys: [StoredSSHKey] = []
        for (index, line) in lines.enumerated().dropFirst() where !line.isEmpty {
            guard keys.count < maximumCount, let key = StoredSSHKey(line: line),
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
