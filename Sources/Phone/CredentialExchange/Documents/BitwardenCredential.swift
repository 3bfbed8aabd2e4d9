// SPDX-License-Identifier: Apache-2.0

private import FoundationEssentials
internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridPrimitives

/// An item of Bitwarden's unencrypted JSON export, which Vaultwarden and other programs write, too.
struct BitwardenItem {
    /// Passkeys, and the names of the other contents.
    let credentials: [ImportedCredential]

    /// Returns the items of an export.
    static func items(_ export: JSONCursor) throws -> [BitwardenItem] {
        guard try export.memberIfPresent("encrypted")?.boolean != true else {
            throw ExchangeFile.ParseError(
                reason: "it is an encrypted export of Bitwarden; export again with the format .json or .zip there, "
                    + "not .json (Encrypted)"
            )
        }
        return try export.member("items").elements.map(BitwardenItem.init)
    }

    private init(_ json: JSONCursor) throws(JSONMemberError) {
        guard let login = try json.memberIfPresent("login") else {
            let names = [2: "note", 3: "card", 4: "identity", 5: "ssh-key"]
            let type = json.value.member("type")?.integer(Int.self)
            credentials = [.other(type.map { names[$0] ?? "login" } ?? "")]
            return
        }
        var credentials: [ImportedCredential] = []
        for name in ["password", "totp"] where login.value.member(name)?.text?.isEmpty == false {
            credentials.append(.other(name))
        }
        for passkey in try login.memberIfPresent("fido2Credentials")?.elements ?? [] {
            credentials.append(
                ImportedCredential(passkey.value) { json, lost throws(SkippedCredential) in
                    try ExchangedPasskey(bitwarden: json, &lost)
                }
            )
        }
        self.credentials = credentials
    }
}

extension ExchangedPasskey {
    /// Reads a member of `fido2Credentials`.
    fileprivate init(bitwarden json: JSONText, _ lost: inout [String]) throws(SkippedCredential) {
        guard json.isObject else { throw .malformed(member: "content") }
        for (name, only) in [("keyType", "public-key"), ("keyAlgorithm", "ECDSA"), ("keyCurve", "P-256")] {
            guard json.member(name)?.text?.utf8.elementsEqual(only.utf8) ?? true else { throw .otherAlgorithm }
        }
        let discoverable = json.optional("discoverable").map { $0.boolean ?? $0.text.flatMap { Bool($0) } } ?? true
        if discoverable == nil { lost.append("discoverable") }
        let passkey = Passkey(
            id: try json.valid("credentialId") { $0.text.flatMap(Self.bitwardenID) },
            relyingParty: try json.valid("rpId") { $0.text.flatMap { RelyingPartyID($0) } },
            user: UserEntity(
                id: try json.valid("userHandle") { $0.userHandle },
                name: json.entityName("userName", lost: &lost),
                displayName: json.entityName("userDisplayName", lost: &lost)
            ),
            privateKey: try json.valid("keyValue") { json throws(SkippedCredential) in try json.privateKey },
            // A passkey from another program may already exist in two places, as this flag indicates.
            isBackupEligible: true,
            isDiscoverable: discoverable ?? true
        )
        // Sites with a counter above 0 expect a higher one, but passkeys here always have 0.
        if let counter = json.optional("counter") {
            let value = counter.text.flatMap { UInt64($0) } ?? counter.integer(UInt64.self)
            if value != 0 { lost.append("counter") }
        }
        let created = json.member("creationDate")?.text.flatMap(Self.seconds)
        self.init(passkey: passkey, created: created, otherSecret: nil, foreign: ForeignExtensions(), rest: nil)
    }

    /// Returns a credential ID from a GUID, whose 16 bytes are in the order of its digits, or from `b64.` and base64url.
    private static func bitwardenID(_ text: String) -> CredentialID? {
        let base64 = "b64."
        if text.utf8.starts(with: base64.utf8) {
            let digits = String(text.dropFirst(base64.count))
            return Base64URL.decodePadded(digits, maximumLength: CredentialID.maximumLength)
                .flatMap { CredentialID(bytes: $0) }
        }
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12] else { return nil }
        return Hex.decode(Array(groups.joined().utf8), length: 16).flatMap { CredentialID(bytes: $0) }
    }

    /// Returns a time as JavaScript writes it (`2024-05-26T12:34:56.789Z`) in seconds since 1970.
    private static func seconds(_ text: String) -> UInt64? {
        guard text.utf8.count <= 40 else { return nil }
        let styles = [Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle()]
        let date = styles.lazy.compactMap { try? $0.parse(text) }.first
        return date.flatMap { UInt64(exactly: $0.timeIntervalSince1970.rounded(.down)) }
    }
}
