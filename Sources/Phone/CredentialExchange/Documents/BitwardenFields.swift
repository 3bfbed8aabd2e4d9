// SPDX-License-Identifier: Apache-2.0

private import FoundationEssentials
internal import HybridCTAP
internal import HybridPrimitives

/// The relevant members of Bitwarden's unencrypted JSON export, which Vaultwarden and other programs write, too.
struct BitwardenFields: Decodable {
    let items: [BitwardenItem]

    private enum CodingKeys: String, CodingKey {
        case encrypted
        case items
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard try container.decodeIfPresent(Bool.self, forKey: .encrypted) != true else {
            throw ExchangeFile.ParseError(
                reason: "it is an encrypted export of Bitwarden; export again with the format .json or .zip there, "
                    + "not .json (Encrypted)"
            )
        }
        items = try container.decode([BitwardenItem].self, forKey: .items)
    }
}

/// An item of the export, such as a login with its passkeys or a note.
struct BitwardenItem: Decodable {
    /// Passkeys, and the names of the other contents.
    let credentials: [CredentialFields]

    private enum CodingKeys: String, CodingKey {
        case type
        case login
    }

    private struct Login: Decodable {
        let password: String?
        let totp: String?
        let fido2Credentials: [BitwardenCredential]?
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let type = try? container.decode(Int.self, forKey: .type)
        let names = [2: "note", 3: "card", 4: "identity", 5: "ssh-key"]
        guard let login = try container.decodeIfPresent(Login.self, forKey: .login) else {
            credentials = [.other(type.map { names[$0] ?? "login" } ?? "")]
            return
        }
        let others = [("password", login.password), ("totp", login.totp)]
            .compactMap { name, value in value?.isEmpty == false ? CredentialFields.other(name) : nil }
        credentials = others + (login.fido2Credentials ?? []).map(\.fields)
    }
}

/// A member of `fido2Credentials`.
private struct BitwardenCredential: Decodable {
    let fields: CredentialFields

    /// Decodes a passkey and never throws, because a malformed one is no reason to reject the others.
    init(from decoder: any Decoder) throws {
        do throws(SkippedCredential) {
            fields = .passkey(try PasskeyFields(bitwarden: decoder))
        } catch {
            fields = .skipped(error, PasskeyLabel(decoder))
        }
    }
}

extension PasskeyFields {
    private enum BitwardenKeys: String, CodingKey {
        case credentialId
        case keyType
        case keyAlgorithm
        case keyCurve
        case keyValue
        case rpId
        case userHandle
        case userName
        case userDisplayName
        case counter
        case discoverable
        case creationDate
    }

    fileprivate init(bitwarden decoder: any Decoder) throws(SkippedCredential) {
        guard let container = try? decoder.container(keyedBy: BitwardenKeys.self) else {
            throw .malformed(member: "content")
        }
        func text(_ name: BitwardenKeys) -> String? { try? container.decode(String.self, forKey: name) }
        func valid<Value>(_ value: Value?, _ name: BitwardenKeys) throws(SkippedCredential) -> Value {
            guard let value else { throw .malformed(member: name.rawValue) }
            return value
        }
        // Names may be null, but not of another type.
        func name(_ name: BitwardenKeys) throws(SkippedCredential) -> String {
            let isAbsent = !container.contains(name) || (try? container.decodeNil(forKey: name)) == true
            return EntityName.shortened(isAbsent ? "" : try valid(text(name), name))
        }
        for (name, only) in [(.keyType, "public-key"), (.keyAlgorithm, "ECDSA"), (.keyCurve, "P-256")]
            as [(BitwardenKeys, String)]
        {
            guard text(name).map({ $0.utf8.elementsEqual(only.utf8) }) ?? true else { throw .otherAlgorithm }
        }
        let handle = text(.userHandle).flatMap { Base64URL.decodePadded($0, maximumLength: 64) }
        self.init(
            id: try valid(text(.credentialId).flatMap(Self.bitwardenID), .credentialId),
            relyingParty: try valid(text(.rpId).flatMap { RelyingPartyID($0) }, .rpId),
            user: UserEntity(
                id: try valid(handle.flatMap { UserHandle(bytes: $0) }, .userHandle),
                name: try name(.userName),
                displayName: try name(.userDisplayName)
            ),
            key: try Self.key(text(.keyValue), member: BitwardenKeys.keyValue.rawValue)
        )
        isDiscoverable = try valid(Self.truth(container, .discoverable), .discoverable)
        created = text(.creationDate).flatMap(Self.seconds)
        // Sites with a counter above 0 expect a higher one, but passkeys here always have 0.
        let counter = text(.counter) ?? (try? container.decode(UInt64.self, forKey: .counter)).map { "\($0)" }
        let isAbsent = !container.contains(.counter) || (try? container.decodeNil(forKey: .counter)) == true
        if !isAbsent, counter.flatMap({ UInt64($0) }) != 0 { lost.append("counter") }
    }

    /// Returns the value of `true`, `"true"`, `false` or `"false"`; true if the member is missing.
    private static func truth(
        _ container: KeyedDecodingContainer<BitwardenKeys>,
        _ name: BitwardenKeys
    ) -> Bool? {
        guard container.contains(name), (try? container.decodeNil(forKey: name)) != true else { return true }
        if let truth = try? container.decode(Bool.self, forKey: name) { return truth }
        return (try? container.decode(String.self, forKey: name)).flatMap { Bool($0) }
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
