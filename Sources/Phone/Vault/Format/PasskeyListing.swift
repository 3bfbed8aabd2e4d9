// SPDX-License-Identifier: Apache-2.0

internal import Crypto
private import FoundationEssentials
internal import HybridAuthenticator
internal import HybridCBOR
internal import HybridCTAP
internal import HybridPrimitives

/// A record without its secrets: what is kept of every record while a vault is open.
struct RecordListing {
    /// Kind of the record.
    let kind: UInt8
    /// Members of a passkey; `nil` for other kinds.
    let passkey: PasskeyListing?

    /// True if the record is a tombstone.
    var isDeleted: Bool { kind == RecordBody.tombstone }

    /// Reads a padded plaintext; `nil` unless length and padding are exact.
    init?(padded: UnsafeRawBufferPointer) {
        guard let (kind, content) = RecordBody.split(padded) else { return nil }
        self.kind = kind
        passkey = kind == RecordBody.passkey ? PasskeyListing.read(content) { listing, _ in listing } : nil
    }
}

/// A passkey's members without its private key and its other secrets.
struct PasskeyListing {
    /// Names of the members with secrets.
    private static let secrets: Set<String> = ["key", "prf", "prf0"]

    /// The members; their secrets are zeros, so the body must not be written.
    private let body: PasskeyBody
    /// True if this version can sign with the passkey.
    let isUsable: Bool

    /// Position in the order of creation in this vault; 0 if unknown.
    var order: UInt64 { body.order }
    /// Time of creation in seconds since 1970, by the clock of the creating device; for display only.
    var created: UInt64 { body.created }
    /// True if the passkey was imported.
    var isImported: Bool { body.isImported }
    /// The relying party.
    var relyingParty: RelyingPartyID? { body.relyingParty }
    /// Credential ID.
    var id: CredentialID? { body.id }
    /// The account.
    var user: UserEntity? { body.user }
    /// True if the passkey may exist on several devices; false if its creation bound it to one, or this is unknown.
    var isBackupEligible: Bool { body.members["be"]?.boolean == true }
    /// True if the passkey is offered to clients that do not name it.
    var isDiscoverable: Bool { isUsable && body.isDiscoverable }
    /// True if the site has signaled that it no longer accepts the passkey.
    var isHidden: Bool { body.isHidden }
    /// The only kind of data that the passkey signs; `nil` if it signs any data.
    var signedDataKind: SignedDataKind? { body.signedDataKind }
    /// True if the passkey supports the `prf` extension.
    var hasPRFSecret: Bool { isUsable && body.members["prf"]?.bytes?.count == PRFSecret.length }

    private init(_ body: PasskeyBody, scalar: UnsafeRawBufferPointer?) {
        self.body = body
        let members = body.members
        isUsable =
            members["alg"]?.integer == PasskeyBody.es256 && body.id != nil && body.relyingParty != nil
            && body.user != nil && members["be"]?.boolean != nil && body.hasKnownDataKind
            && scalar.map(Self.isPrivateKey) == true
    }

    /// Passes the members of a passkey to `body`, and its secrets as they are in memory that is wiped afterwards.
    ///
    /// - Returns: `nil` if the content is not a map in canonical CBOR.
    fileprivate static func read<Value>(
        _ content: UnsafeRawBufferPointer,
        _ body: (PasskeyListing, _ secret: (String) -> UnsafeRawBufferPointer?) -> Value?
    ) -> Value? {
        var cbor = Array(content)
        defer { SecretBytes.wipe(&cbor) }
        guard let (value, places) = try? CBORDecoder.decode(cbor, withholding: secrets, mode: .strict),
            let members = value.map
        else { return nil }
        func secret(_ name: String) -> UnsafeRawBufferPointer? {
            places[name].map { UnsafeRawBufferPointer(rebasing: content[$0]) }
        }
        return body(PasskeyListing(PasskeyBody(members: members), scalar: secret("key")), secret)
    }

    /// Returns true if 32 bytes are a private key of P-256: from 1 to the order of the group without 1.
    private static func isPrivateKey(_ scalar: UnsafeRawBufferPointer) -> Bool {
        scalar.count == order.count && scalar.contains { $0 != 0 } && scalar.lexicographicallyPrecedes(order)
    }

    private static let order: [UInt8] =
        [0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00] + [UInt8](repeating: 0xFF, count: 8) + [
            0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
        ]

    /// Reads a passkey with its private key from a padded plaintext, without other copies of its secrets.
    ///
    /// Returns `nil` if the plaintext is not that of a passkey that this version can use.
    static func passkey(padded: UnsafeRawBufferPointer) -> Passkey? {
        guard let (kind, content) = RecordBody.split(padded), kind == RecordBody.passkey else { return nil }
        return read(content) { listing, secret in
            guard listing.isUsable, let id = listing.id, let relyingParty = listing.relyingParty,
                let user = listing.user, let isBackupEligible = listing.body.members["be"]?.boolean,
                let key = secret("key").flatMap({ try? P256.Signing.PrivateKey(rawRepresentation: $0) })
            else { return nil }
            return Passkey(
                id: id,
                relyingParty: relyingParty,
                user: user,
                privateKey: key,
                isBackupEligible: isBackupEligible,
                isDiscoverable: listing.isDiscoverable,
                isHidden: listing.isHidden,
                signedDataKind: listing.signedDataKind,
                // A secret of another length or type comes from a later version; the key signs without it.
                prfSecret: secret("prf").flatMap { PRFSecret(bytes: $0) }
            )
        }
    }
}
