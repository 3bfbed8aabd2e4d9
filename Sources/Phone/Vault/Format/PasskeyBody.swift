// SPDX-License-Identifier: Apache-2.0

internal import Crypto
private import FoundationEssentials
internal import HybridAuthenticator
internal import HybridCBOR
internal import HybridCTAP
internal import HybridPrimitives

/// The members of a passkey's record.
///
/// Members that this version does not know stay in the map and are written back with it.
struct PasskeyBody {
    /// The COSE identifier of ES256 (RFC 9053 §2.1).
    static let es256 = -7

    /// Member that marks an imported passkey.
    static let imported: CBORValue = "imported"

    /// Member that marks a passkey that its site no longer accepts.
    static let hidden: CBORValue = "hidden"

    /// All members, known or not.
    private(set) var members: CBORMap

    /// Creates the members of a new passkey.
    ///
    /// - Parameters:
    ///   - passkey: The passkey.
    ///   - order: The position of the passkey: one more than the highest in the vault.
    ///   - created: The time of creation in seconds since 1970.
    init(_ passkey: Passkey, order: UInt64, created: UInt64) {
        members = [
            "id": .bytes(passkey.id.bytes),
            "rp": .text(passkey.relyingParty.text),
            "user": [
                "id": .bytes(passkey.user.id.bytes),
                "name": .text(passkey.user.name),
                "displayName": .text(passkey.user.displayName),
            ],
            "alg": .integer(Self.es256),
            "key": .bytes(Array(passkey.privateKey.rawRepresentation)),
            "be": .boolean(passkey.isBackupEligible),
            "order": .unsigned(order),
            "created": .unsigned(created),
        ]
        // Earlier versions wrote none of these: without `rk` a passkey is discoverable, without `prf` it has no secret,
        // and without `signs` it signs any data.
        if let kind = passkey.signedDataKind { members["signs"] = .text(kind.rawValue) }
        if !passkey.isDiscoverable { members["rk"] = false }
        if let secret = passkey.prfSecret { members["prf"] = .bytes(secret.withUnsafeBytes { Array($0) }) }
    }

    /// Wraps the members of a record that was read.
    init(members: CBORMap) { self.members = members }

    /// Position in the order of creation in this vault; 0 if unknown.
    var order: UInt64 { if case .unsigned(let value)? = members["order"] { value } else { 0 } }
    /// Time of creation in seconds since 1970, by the clock of the creating device; for display only.
    var created: UInt64 { if case .unsigned(let value)? = members["created"] { value } else { 0 } }
    /// True if the passkey was imported; it is then offered after those that were created here.
    var isImported: Bool { members[Self.imported] == .boolean(true) }
    /// True if the passkey is offered to clients that do not name it.
    var isDiscoverable: Bool { members["rk"] != .boolean(false) }
    /// True if the site has signaled that it no longer accepts the passkey.
    var isHidden: Bool { members[Self.hidden] == .boolean(true) }
    /// The only kind of data that the passkey signs; `nil` if it signs any data, or if this version cannot use it.
    var signedDataKind: SignedDataKind? { members["signs"]?.text.flatMap(SignedDataKind.init) }
    /// False if a later version restricts the passkey to a kind of data that this version does not know.
    var hasKnownDataKind: Bool { members["signs"] == nil || signedDataKind != nil }
    /// The relying party.
    var relyingParty: RelyingPartyID? { members["rp"]?.text.flatMap { RelyingPartyID(stored: $0) } }
    /// Credential ID.
    var id: CredentialID? { members["id"]?.bytes.flatMap { CredentialID(bytes: $0) } }

    /// The account.
    var user: UserEntity? {
        guard let user = members["user"]?.map, let id = user["id"]?.bytes.flatMap({ UserHandle(bytes: $0) }) else {
            return nil
        }
        return UserEntity(id: id, name: user["name"]?.text ?? "", displayName: user["displayName"]?.text ?? "")
    }

    /// The passkey with its private key; `nil` if this version cannot use it.
    ///
    /// It then has another algorithm, signs an unknown kind of data, or a member is missing or has another type.
    var passkey: Passkey? {
        guard members["alg"]?.integer == Self.es256, let id, let relyingParty, let user,
            let key = members["key"]?.bytes, let isBackupEligible = members["be"]?.boolean, hasKnownDataKind,
            let privateKey = try? P256.Signing.PrivateKey(rawRepresentation: key)
        else { return nil }
        // A secret of another type comes from a later version; the key signs without it.
        let secret = members["prf"]?.bytes.flatMap { PRFSecret(bytes: $0) }
        return Passkey(
            id: id,
            relyingParty: relyingParty,
            user: user,
            privateKey: privateKey,
            isBackupEligible: isBackupEligible,
            isDiscoverable: isDiscoverable,
            isHidden: isHidden,
            signedDataKind: signedDataKind,
            prfSecret: secret
        )
    }

    /// Changes the account's names and nothing else.
    mutating func rename(name: String, displayName: String) {
        var user = members["user"]?.map ?? CBORMap()
        user["name"] = .text(name)
        user["displayName"] = .text(displayName)
        members["user"] = .map(user)
    }

    /// Hides the passkey from clients that do not name it, or shows it again.
    mutating func hide(_ isHidden: Bool) { members[Self.hidden] = isHidden ? true : nil }
}

extension RelyingPartyID {
    /// Creates an ID from a vault, which has passkeys for websites and local services.
    init?(stored text: String) { self.init(text, accepting: Set(Kind.allCases)) }
}
