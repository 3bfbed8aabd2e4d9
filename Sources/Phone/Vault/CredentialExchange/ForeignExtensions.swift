// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridCBOR
internal import HybridCTAP

/// Members of a passkey's record that are not used here but are kept for export.
extension PasskeyBody {
    /// Member with the second secret of `hmac-secret`, for users who were not verified.
    ///
    /// It is not used here, and is exported as it was imported.
    static let otherSecret: CBORValue = "prf0"
    /// Member with the extensions from `fido2Extensions` that are not used here.
    static let foreignExtensions: CBORValue = "cxf"

    /// Derives the secret for users who were not verified from the passkey's own secret.
    ///
    /// The format requires both secrets. The derived secret is always the same, so repeated exports agree. A client
    /// cannot obtain it through `prf`: those outputs are HMACs with the secret as key, and this is an HMAC of the
    /// secret.
    static func otherSecret(of secret: [UInt8], credential: CredentialID) -> [UInt8] {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret),
            salt: credential.bytes,
            info: Array("credWithoutUV".utf8),
            outputByteCount: 32
        )
        .withUnsafeBytes { Array($0) }
    }

    /// Returns the members for which the exported item has no place.
    ///
    /// - Parameter foreign: The extensions for which it has a place; `nil` if there are none.
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
    /// The value of `credBlob`.
    var blob: [UInt8]?
    /// The value of `largeBlob`: its uncompressed length in bytes and its compressed content.
    var largeBlob: LargeBlob?
    /// The value of `payments`.
    var payments: Bool?

    struct LargeBlob: Equatable {
        let size: UInt64
        let data: [UInt8]
    }

    /// Creates an empty value.
    init() {}

    /// True if there are no extensions.
    var isEmpty: Bool { self == ForeignExtensions() }

    /// Parses a record's member; `nil` unless it has exactly the form of ``member``.
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
