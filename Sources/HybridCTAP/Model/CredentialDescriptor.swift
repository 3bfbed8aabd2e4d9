// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// Points at one credential, in allow and exclude lists and in assertions (WebAuthn Level 3 §5.8.3).
public struct CredentialDescriptor: Hashable, Sendable {
    /// The only type there is so far.
    public static let publicKeyType = "public-key"

    /// Name of the credential.
    public var id: CredentialID
    /// Its type.
    ///
    /// Entries of an unknown type match nothing, but a list of them is not an empty list.
    public var type: String
    /// How the relying party believes it can be reached; hints, in no order that matters.
    public var transports: [String]

    /// A descriptor from its parts.
    public init(id: CredentialID, type: String = Self.publicKeyType, transports: [String] = []) {
        self.id = id
        self.type = type
        self.transports = transports
    }

    /// Whether the type is ``publicKeyType``.
    public var isPublicKey: Bool { type == Self.publicKeyType }

    init(_ fields: FieldReader) throws(FieldError) {
        self.init(
            id: try fields.bytes("id", "id", as: CredentialID.init(bytes:)),
            type: try fields.required("type", "type", as: \.text),
            transports: try fields.texts("transports", "transports")
        )
    }

    var cbor: CBORValue {
        var map: CBORMap = ["id": .bytes(id.bytes), "type": .text(type)]
        if !transports.isEmpty { map["transports"] = .array(transports.map { .text($0) }) }
        return .map(map)
    }
}

extension [CredentialDescriptor] {
    init(_ readers: [FieldReader]) throws(FieldError) {
        self = []
        for reader in readers { append(try CredentialDescriptor(reader)) }
    }

    var cbor: CBORValue { .array(map(\.cbor)) }
}
