// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridCBOR
internal import HybridCTAP

/// What a passkey's record says beyond what a passkey needs to sign here, kept so that it can be handed on.
extension PasskeyBody {
    /// The member that has the other secret of `hmac-secret`, for users who were not verified.
    ///
    /// Nobody is served by it here; it is handed on as it came.
    static let otherSecret: CBORValue = "prf0"
    /// The member that has what came in `fido2Extensions` and means nothing here.
    static let foreignExtensions: CBORValue = "cxf"

    /// The secret for users who were not verified: the one that came with the passkey, or one made of its own secret.
    ///
    /// The format wants both. The one that is made is always the same, so two exports do not disagree; it can't be
    /// had by asking for `prf` answers, because that is HMAC under the secret, and this is HMAC of it.
    static func otherSecret(of secret: [UInt8], credential: CredentialID) -> [UInt8] {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret),
            salt: credential.bytes,
            info: Array("credWithoutUV".utf8),
            outputByteCount: 32
        )
        .withUnsafeBytes { Array($0) }
    }

    /// Members that an exported item has no place for; what they mean is for later versions to say.
    ///
    /// - Parameter blobs: What of ``foreignExtensions`` has a place.
    func rest(besides blobs: ForeignExtensions?) -> CBORMap {
        var rest = members
        for name in ["id", "rp", "alg", "key", "be", "order"] as [CBORValue] { rest[name] = nil }
        if rest["rk"]?.boolean != nil { rest["rk"] = nil }
        if case .unsigned? = rest["created"] { rest["created"] = nil }
        if passkey?.prfSecret != nil { rest["prf"] = nil }
        if passkey?.prfSecret != nil, rest[Self.otherSecret]?.bytes?.count == 32 { rest[Self.otherSecret] = nil }
        if blobs != nil { rest[Self.foreignExtensions] = nil }
        if var user = rest["user"]?.map {
            for name in ["id", "name", "displayName"] as [CBORValue] { user[name] = nil }
            rest["user"] = user.isEmpty ? nil : .map(user)
        }
        return rest
    }
}

/// What a file says about extensions that a passkey has elsewhere: they mean nothing here, and are handed on.
struct ForeignExtensions: Equatable {
    /// `credBlob`.
    var blob: [UInt8]?
    /// `largeBlob`: how long it is when it is not compressed, and its content.
    var largeBlob: LargeBlob?
    /// `payments`.
    var payments: Bool?

    struct LargeBlob: Equatable {
        let size: UInt64
        let data: [UInt8]
    }

    /// Nothing.
    init() {}

    /// Whether there is nothing.
    var isEmpty: Bool { self == ForeignExtensions() }

    /// Reads a record's member; `nil` unless it is exactly what is written here.
    init?(_ value: CBORValue?) {
        guard let map = value?.map else { return nil }
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

    /// The record's member; `nil` if there is nothing.
    var member: CBORValue? {
        var map = CBORMap()
        if let blob { map["blob"] = .bytes(blob) }
        if let payments { map["payments"] = .boolean(payments) }
        if let largeBlob { map["large"] = ["size": .unsigned(largeBlob.size), "data": .bytes(largeBlob.data)] }
        return map.isEmpty ? nil : .map(map)
    }
}
