// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridCBOR
internal import HybridCTAP
internal import HybridCredentialExchange

/// The members of a passkey's record that files of other programs contain, and those that are kept for them.
extension PasskeyBody {
    /// Member with the second secret of `hmac-secret`, for users who were not verified.
    ///
    /// It is not used here, and is exported as it was imported.
    static let otherSecret: CBORValue = "prf0"
    /// Member with the extensions from `fido2Extensions` that are not used here.
    static let foreignExtensions: CBORValue = "cxf"

    /// Creates the members of an imported passkey.
    ///
    /// - Parameters:
    ///   - imported: The passkey.
    ///   - order: The position of the passkey: one more than the highest in the vault.
    ///   - now: The time of creation if the file states none, in seconds since 1970.
    init(_ imported: ExchangedPasskey, order: UInt64, now: UInt64) {
        let rest = imported.rest.flatMap { try? CBORDecoder.decode($0, mode: .strict) }?.map ?? CBORMap()
        // The format's own members take precedence.
        let own = PasskeyBody(imported.passkey, order: order, created: imported.created ?? now)
        var members = CBORMap(rest.entries + own.members.entries)
        var user = rest["user"]?.map ?? CBORMap()
        for (name, value) in own.members["user"]?.map?.entries ?? [] { user[name] = value }
        members["user"] = .map(user)
        if imported.created == nil, let created = rest["created"] { members["created"] = created }
        members[Self.imported] = true
        if imported.passkey.prfSecret != nil { members[Self.otherSecret] = imported.otherSecret.map { .bytes($0) } }
        if let foreign = imported.foreign.member { members[Self.foreignExtensions] = foreign }
        self.init(members: members)
    }

    /// Checks that a record can hold an imported passkey and that this version can use it from there.
    static func check(_ imported: ExchangedPasskey) throws(SkippedCredential) {
        let members = PasskeyBody(imported, order: .max, now: .max).members
        let padded = RecordBody(kind: RecordBody.passkey, members: members).padded
        guard padded.count <= RecordFile.maximumContent else { throw .tooLarge }
        // With the other members, the record may exceed a limit of the decoder; the passkey would then be unusable.
        let read = padded.withUnsafeBytes { RecordBody(padded: $0) }?.members
        guard read.flatMap({ PasskeyBody(members: $0).passkey }) != nil else {
            throw .malformed(member: "extension \(ExchangeFormat.extensionName)")
        }
    }

    /// The passkey for a file of another program; `nil` if this version cannot use it.
    var exchanged: ExchangedPasskey? {
        guard let passkey else { return nil }
        var created: UInt64?
        if case .unsigned(let time)? = members["created"] { created = time }
        let foreign = ForeignExtensions(members[Self.foreignExtensions])
        let rest = rest(of: passkey, besides: foreign)
        return ExchangedPasskey(
            passkey: passkey,
            created: created,
            otherSecret: members[Self.otherSecret]?.bytes.flatMap { $0.count == PRFSecret.length ? $0 : nil },
            foreign: foreign ?? ForeignExtensions(),
            rest: rest.isEmpty ? nil : CBOREncoder.encode(.map(rest))
        )
    }

    /// True if nothing would be lost if only this passkey remained of both.
    ///
    /// It has the same key and, if the other one has them, the same secrets and extensions. Names and times do not count.
    func includes(_ other: ExchangedPasskey) -> Bool {
        guard let own = exchanged else { return false }
        let (key, otherKey) = (own.passkey.privateKey, other.passkey.privateKey)
        guard key.rawRepresentation == otherKey.rawRepresentation else { return false }
        if let secret = other.passkey.prfSecret {
            guard let ownSecret = own.passkey.prfSecret, Self.symmetricKey(ownSecret) == Self.symmetricKey(secret)
            else { return false }
            if let otherSecret = other.otherSecret, otherSecret != own.otherSecret { return false }
        }
        return other.foreign == ForeignExtensions() || other.foreign == own.foreign
    }

    private static func symmetricKey(_ secret: PRFSecret) -> SymmetricKey {
        secret.withUnsafeBytes { SymmetricKey(data: $0) }
    }

    /// Returns the members for which the exported item has no place.
    ///
    /// - Parameters:
    ///   - passkey: The passkey of these members.
    ///   - foreign: The extensions for which it has a place; `nil` if there are none.
    private func rest(of passkey: Passkey, besides foreign: ForeignExtensions?) -> CBORMap {
        var rest = members
        for name in ["id", "rp", "alg", "key", "be", "order", Self.imported] as [CBORValue] { rest[name] = nil }
        if rest["rk"]?.boolean != nil { rest["rk"] = nil }
        if case .unsigned? = rest["created"] { rest["created"] = nil }
        if passkey.prfSecret != nil { rest["prf"] = nil }
        if passkey.prfSecret != nil, rest[Self.otherSecret]?.bytes?.count == PRFSecret.length {
            rest[Self.otherSecret] = nil
        }
        if foreign != nil { rest[Self.foreignExtensions] = nil }
        if var user = rest["user"]?.map {
            for name in ["id", "name", "displayName"] as [CBORValue] { user[name] = nil }
            rest["user"] = user.isEmpty ? nil : .map(user)
        }
        return rest
    }
}

extension SkippedCredential {
    /// A passkey that does not fit into a record of the vault.
    static let tooLarge = SkippedCredential("longer than a record of the vault")
}

/// The extensions as a member of a record.
extension ForeignExtensions {
    /// Parses a record's member; `nil` unless it has exactly the form of ``member``.
    init?(_ value: CBORValue?) {
        guard let map = value?.map else { return nil }
        self.init()
        for (key, value) in map.entries {
            switch (key.text, value) {
            case ("blob", .bytes(let bytes)): blob = bytes
            case ("payments", .boolean(let truth)): payments = truth
            case ("large", .map(let large)):
                guard case .unsigned(let size)? = large["size"], case .bytes(let data)? = large["data"],
                    large.count == 2
                else { return nil }
                largeBlob = LargeBlob(size: size, data: data)
            default: return nil
            }
        }
    }

    /// The record's member; `nil` if there are no extensions.
    var member: CBORValue? {
        var map = CBORMap()
        if let blob { map["blob"] = .bytes(blob) }
        if let payments { map["payments"] = .boolean(payments) }
        if let largeBlob { map["large"] = ["size": .unsigned(largeBlob.size), "data": .bytes(largeBlob.data)] }
        return map.isEmpty ? nil : .map(map)
    }
}
