// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridCBOR
internal import HybridCTAP

/// Members of a passkey's record that are not used here but are kept for export.
extension PasskeyBody {
    /// Member with the second secret of `hmac-secret`, for users who were not verified.
    ///
    /// It is not used here and exported as it was imported.
    static let otherSecret: CBORValue = "prf0"
    /// Member with the extensions from `fido2Extensions` that are not used here.
    static let foreignExtensions: CBORValue = "cxf"

    /// Derives a secret for users who were not verified from the passkey's own secret.
    ///
    /// The format requires both secrets. The derived one is always the same, so exports agree. A client cannot obtain
    /// it through `prf`: those outputs are HMACs under the secret, and this is an HMAC of the secret.
    static func otherSecret(of secret: [UInt8], credential: CredentialID) -> [UInt8] {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret),
            salt: credential.bytes,
            info: Array("credWithoutUV".utf8),
            outputByteCount: 32
        )
        .withUnsafeBytes { Array($0) }
    }

    /// Returns the members that the exported item has no place for.
    ///
    /// - Parameter foreign: The extensions that have a place.
    func rest(besides foreign: ForeignExtensions?) -> CBORMap {
        var rest = members
        for name in ["id", "rp", "alg", "key", "be", "order", Self.imported] as [CBORValue] { rest[name] = nil }
        if rest["rk"]?.boolean != nil { rest["rk"] = nil }
        if case .unsigned? = rest["created"] { rest["created"] = nil }
        if passkey?.prfSecret != nil { rest["prf"] = nil }
        if passkey?.prfSecret != nil, rest[Self.otherSecret]?.bytes?.count == 32 { rest[Self.otherSecret] = nil }
        if foreign != nil { rest[Self.foreignExtensions] = nil }
        if var user = rest["user"]?.map {
            for name in ["id", "name", "displayName"] as [CBORValue] { user[name] = nil }
            rest["user"] = user.isEmpty ? nil : .map(user)
        }
        return rest
    }
}

/// Extensions of an imported passkey that are not used here and are kept for export.
struct ForeignExtensions: Equatable {
    /// `credBlob`.
    var blob: [UInt8]?
    /// `largeBlob`: its uncompressed length and its content.
    var largeBlob: LargeBlob?
    /// `payments`.
    var payments: Bool?

    struct LargeBlob: Equatable {
        let size: UInt64
        let data: [UInt8]
    }

    /// Creates an empty value.
    init() {}

    /// True if there are no extensions.
    var isEmpty: Bool { self == ForeignExtensions() }

    /// Reads a record's member; `nil` unless it is exactly as written here.
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

    /// The record's member; `nil` if there are no extensions.
    var member: CBORValue? {
        var map = CBORMap()
        if let blob { map["blob"] = .bytes(blob) }
        if let payments { map["payments"] = .boolean(payments) }
        if let largeBlob { map["large"] = ["size": .unsigned(largeBlob.size), "data": .bytes(largeBlob.data)] }
        return map.isEmpty ? nil : .map(map)
    }
}
