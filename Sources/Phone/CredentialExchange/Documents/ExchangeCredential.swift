// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridPrimitives

/// An item of the Credential Exchange Format, which may have several credentials.
struct ExchangeItem {
    let credentials: [ImportedCredential]

    /// Reads an item.
    ///
    /// An item of another structure is an error of the document; a credential of another structure is skipped.
    init(_ json: JSONCursor) throws(JSONMemberError) {
        let item = json.value
        let elements = try json.member("credentials").elements.map(\.value)
        let types = elements.map { $0.member("type")?.text }
        let extensions = item.member("extensions")?.elements ?? []
        let name = ExchangeFormat.extensionName
        // This program's extension applies only if the item has exactly one passkey.
        let isOnly = types.count { $0.map(ExchangeFormat.isPasskeyType) == true } == 1
        let own = isOnly ? extensions.first { $0.member("name")?.text?.utf8.elementsEqual(name.utf8) == true } : nil
        credentials = zip(elements, types).map { credential, type in
            guard let type, ExchangeFormat.isPasskeyType(type) else {
                return .other(String((type ?? "").unicodeScalars.prefix(64)))
            }
            return ImportedCredential(credential) { json, lost throws(SkippedCredential) in
                try ExchangedPasskey(exchange: json, in: item, own: own, &lost)
            }
        }
    }
}

extension ExchangedPasskey {
    /// Reads a credential of type `passkey`.
    ///
    /// - Parameters:
    ///   - json: The credential.
    ///   - item: The item with the credential.
    ///   - own: This program's extension, for members that the format lacks.
    ///   - lost: Names of members that cannot be kept.
    fileprivate init(
        exchange json: JSONText,
        in item: JSONText,
        own: JSONText?,
        _ lost: inout [String]
    ) throws(SkippedCredential) {
        let id = try json.valid("credentialId") { json in
            json.bytes(atMost: CredentialID.maximumLength).flatMap { CredentialID(bytes: $0) }
        }
        let relyingParty = try json.valid("rpId") { json in
            json.text.flatMap { RelyingPartyID($0, accepting: Set(RelyingPartyID.Kind.allCases)) }
        }
        let handle = try json.valid("userHandle") { $0.userHandle }
        // The working drafts of 2024 call it userName.
        let name = json.entityName("username", "userName", lost: &lost)
        let displayName = json.entityName("userDisplayName", lost: &lost)
        let key = try json.valid("key") { json throws(SkippedCredential) in try json.privateKey }
        let extensions = FIDO2Extensions(json.optional("fido2Extensions"), &lost)
        self.init(
            passkey: Passkey(
                id: id,
                relyingParty: relyingParty,
                user: UserEntity(id: handle, name: name, displayName: displayName),
                privateKey: key,
                // A passkey from another program may already exist in two places, as this flag indicates.
                isBackupEligible: own?.member("backupEligible")?.boolean ?? true,
                isDiscoverable: own?.member("discoverable")?.boolean ?? true,
                prfSecret: extensions.secret.flatMap { PRFSecret(bytes: $0) }
            ),
            created: item.member("creationAt")?.integer(UInt64.self),
            otherSecret: extensions.secret.flatMap { secret in
                let derived = Self.otherSecret(of: secret, credential: id)
                return extensions.otherSecret == derived ? nil : extensions.otherSecret
            },
            foreign: extensions.foreign,
            rest: own?.member("rest")?.bytes(atMost: ExchangeFormat.maximumRest)
        )
    }
}

/// The members of `fido2Extensions`: each one is kept, or its name is added to those that are lost.
private struct FIDO2Extensions {
    /// Secrets of `hmac-secret` with and without user verification, 32 bytes each.
    private(set) var secret: [UInt8]?
    private(set) var otherSecret: [UInt8]?
    private(set) var foreign = ForeignExtensions()

    init(_ json: JSONText?, _ lost: inout [String]) {
        guard let json else { return }
        guard case .object(let members) = json else {
            lost.append("fido2Extensions")
            return
        }
        for name in Self.names {
            if let value = json.member(name), !keep(name, value, &lost) { lost.append(name) }
        }
        // They share one name in messages, because their own names are untrusted.
        if !members.allSatisfy({ name, _ in Self.names.contains { $0.utf8.elementsEqual(name.utf8) } }) {
            lost.append("extensions of other names")
        }
    }

    /// `hmacSecret` is in an example of the standard, which does not define it.
    private static let names = ["hmacCredentials", "hmacSecret", "credBlob", "largeBlob", "payments"]

    private mutating func keep(_ name: String, _ value: JSONText, _ lost: inout [String]) -> Bool {
        switch name {
        case "hmacCredentials":
            guard value.member("algorithm")?.text?.utf8.elementsEqual(ExchangeFormat.hmacAlgorithm.utf8) == true,
                let secret = Self.secret(value.member("credWithUV"))
            else { return false }
            let other = value.optional("credWithoutUV")
            (self.secret, otherSecret) = (secret, Self.secret(other))
            if other != nil, otherSecret == nil { lost.append("credWithoutUV") }
        case "credBlob":
            foreign.blob = value.bytes(atMost: ExchangeFormat.maximumBlob)
            return foreign.blob != nil
        case "largeBlob":
            // In the working drafts, the size is called size, and alg is always deflate.
            let size = value.optional("uncompressedSize") ?? value.optional("size")
            let algorithm = value.optional("alg")
            guard let size = size?.integer(UInt64.self), algorithm == nil || algorithm?.text == "deflate",
                let data = value.member("data")?.bytes(atMost: ExchangeFormat.maximumLargeBlob)
            else { return false }
            foreign.largeBlob = ForeignExtensions.LargeBlob(size: size, data: data)
        case "payments":
            foreign.payments = value.boolean
            return foreign.payments != nil
        default: return false
        }
        return true
    }

    private static func secret(_ json: JSONText?) -> [UInt8]? {
        json?.bytes(atMost: PRFSecret.length).flatMap { $0.count == PRFSecret.length ? $0 : nil }
    }
}
