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
            // Hints, which have no effect here.
            transports: fields.ignorableTexts("transports")
        )
    }

    var cbor: CBORValue {
        var map: CBORMap = ["id": .bytes(id.bytes), "type": .text(type)]
        if !transports.isEmpty { map["transports"] = .array(transports.map { .text($0) }) }
        return .map(map)
    }
}

extension CredentialDescriptor {
    /// Stands for an entry whose ID no credential has, and matches none, because its type is unknown.
    fileprivate static var matchingNothing: CredentialDescriptor? {
        CredentialID(bytes: [0]).map { CredentialDescriptor(id: $0, type: "") }
    }
}

extension [CredentialDescriptor] {
    /// Creates the list of a request.
    ///
    /// An ID of 0 or more than 1,023 bytes matches no credential, and does not cost the other entries. Its entry stays
    /// as one of an unknown type: an allow list that became empty would permit every credential.
    init(requested readers: [FieldReader<CTAPRequestError>]) throws(CTAPRequestError) {
        self = []
        for reader in readers {
            let id = try reader.required("id", "id", as: \.bytes)
            if CredentialID(bytes: id) == nil {
                if let entry = CredentialDescriptor.matchingNothing { append(entry) }
            } else {
                append(try CredentialDescriptor(reader))
            }
        }
    }

    var cbor: CBORValue { .array(map(\.cbor)) }
}
