// SPDX-License-Identifier: Apache-2.0

internal import CBOR

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
enum EntityName {
    /// The longest that is kept, in bytes; WebAuthn Level 3 §6.4.1 lets authenticators cut at 64 or more.
    static let maximumBytes = 1024

    /// The name, cut between characters if it is too long.
    static func shortened(_ name: String) -> String {
        guard name.utf8.count > maximumBytes else { return name }
        var kept = ""
        for character in name {
            guard kept.utf8.count + character.utf8.count <= maximumBytes else { break }
            kept.append(character)
        }
        return kept
    }
}
