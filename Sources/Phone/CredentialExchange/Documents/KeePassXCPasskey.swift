// SPDX-License-Identifier: Apache-2.0

private import FoundationEssentials
internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridPrimitives

/// A `.passkey` file of KeePassXC, which contains one passkey.
enum KeePassXCPasskey {
    /// Returns true if the document has the members that only these files have.
    static func describes(_ document: JSONText) -> Bool {
        ["relyingParty", "privateKey"].allSatisfy { document.member($0) != nil }
    }

    /// Returns the passkey of a file.
    static func credential(_ document: JSONText) -> ImportedCredential {
        ImportedCredential(document) { json, lost throws(SkippedCredential) in
            try ExchangedPasskey(keePassXC: json, &lost)
        }
    }
}

extension ExchangedPasskey {
    fileprivate init(keePassXC json: JSONText, _ lost: inout [String]) throws(SkippedCredential) {
        let passkey = Passkey(
            id: try json.valid("credentialId") { json in
                json.bytes(atMost: CredentialID.maximumLength).flatMap { CredentialID(bytes: $0) }
            },
            relyingParty: try json.valid("relyingParty") { $0.text.flatMap { RelyingPartyID($0) } },
            user: UserEntity(
                id: try json.valid("userHandle") { $0.userHandle },
                name: json.entityName("username", lost: &lost),
                displayName: ""
            ),
            privateKey: try json.valid("privateKey") { json throws(SkippedCredential) in
                try json.text.flatMap(Self.keyInfo)?.privateKey
            },
            // A passkey from another program may already exist in two places, as this flag indicates.
            isBackupEligible: true,
            isDiscoverable: true
        )
        self.init(passkey: passkey, created: nil, otherSecret: nil, foreign: ForeignExtensions(), rest: nil)
    }

    /// Returns the PKCS#8 of a PEM text in base64url; `nil` if the text has another structure.
    private static func keyInfo(_ pem: String) -> JSONText? {
        guard pem.utf8.count <= 2 * PrivateKeyInfo.maximumLength else { return nil }
        // KeePassXC itself ignores spaces at the end of a line.
        var lines = pem.split(whereSeparator: \.isNewline).map { line in
            line.reversed().drop(while: \.isWhitespace).reversed()
        }.filter { !$0.isEmpty }.map { String($0) }
        guard lines.count >= 3, lines.removeFirst() == "-----BEGIN PRIVATE KEY-----",
            lines.removeLast() == "-----END PRIVATE KEY-----"
        else { return nil }
        return Data(base64Encoded: lines.joined()).map { .bytes(Array($0)) }
    }
}
