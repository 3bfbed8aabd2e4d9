// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// A reference to a credential in allow and exclude lists and in assertions (WebAuthn Level 3 §5.8.3).
public struct CredentialDescriptor: Hashable, Sendable {
    /// The only type that WebAuthn defines.
    public static let publicKeyType = "public-key"

    /// ID of the credential.
    public var id: CredentialID
    /// Type of the credential.
    ///
    /// An entry of an unknown type matches no credential, but a list that contains only such entries is not empty.
    public var type: String
    /// Transport hints of the relying party; their order has no meaning.
    public var transports: [String]

    /// Creates a descriptor from its parts.
    public init(id: CredentialID, type: String = Self.publicKeyType, transports: [String] = []) {
        self.id = id
        self.type = type
        self.transports = transports
    }

    /// True if the type is ``publicKeyType``.
    public var isPublicKey: Bool { type == Self.publicKeyType }

    init<Failure>(_ fields: FieldReader<Failure>) throws(Failure) {
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
    init<Failure>(_ readers: [FieldReader<Failure>]) throws(Failure) {
        self = []
        for reader in readers { append(try CredentialDescriptor(reader)) }
    }

    var cbor: CBORValue { .array(map(\.cbor)) }
}
