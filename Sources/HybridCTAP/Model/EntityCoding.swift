// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

extension RelyingPartyEntity {
    init(_ fields: FieldReader) throws(FieldError) {
        guard let id = RelyingPartyID(try fields.required("id", "id", as: \.text)) else {
            throw .invalid(fields.name("id"))
        }
        self.init(id: id, name: EntityName.shortened(try fields.optional("name", "name", as: \.text) ?? ""))
    }

    /// The map of a creation request; `name` is always there, as phones demand.
    var cbor: CBORValue { ["id": .text(id.text), "name": .text(name)] }
}

extension UserEntity {
    init(_ fields: FieldReader) throws(FieldError) {
        self.init(
            id: try fields.bytes("id", "id", as: UserHandle.init(bytes:)),
            name: EntityName.shortened(try fields.optional("name", "name", as: \.text) ?? ""),
            displayName: EntityName.shortened(try fields.optional("displayName", "displayName", as: \.text) ?? "")
        )
    }

    /// The map of a request or response; both names are always there, as phones demand.
    var cbor: CBORValue {
        ["id": .bytes(id.bytes), "name": .text(name), "displayName": .text(displayName)]
    }
}

/// Names that a stranger chose.
public enum EntityName {
    /// The longest that is kept, in bytes.
    ///
    /// WebAuthn Level 3 §6.4.1 lets authenticators cut at 64; a name is kept whole here, and the bound is there for
    /// those that are none.
    public static let maximumBytes = 1 << 16

    /// The name, cut between Unicode scalars if it is too long.
    public static func shortened(_ name: String) -> String {
        guard name.utf8.count > maximumBytes else { return name }
        var kept = String.UnicodeScalarView()
        var length = 0
        for scalar in name.unicodeScalars {
            length += UTF8.width(scalar)
            guard length <= maximumBytes else { break }
            kept.append(scalar)
        }
        return String(kept)
    }
}
