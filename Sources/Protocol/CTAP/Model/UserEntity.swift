// SPDX-License-Identifier: Apache-2.0

package import HybridCBOR

/// The account of a credential, as named by the relying party.
public struct UserEntity: Hashable, Sendable {
    /// Handle of the account.
    public var id: UserHandle
    /// Name of the account, such as an e-mail address; empty if unknown.
    public var name: String
    /// Name of the user; empty if unknown.
    public var displayName: String

    /// Creates an account from its handle and names.
    public init(id: UserHandle, name: String, displayName: String) {
        self.id = id
        self.name = name
        self.displayName = displayName
    }
}

/// The relying party of a creation request.
public struct RelyingPartyEntity: Hashable, Sendable {
    /// ID of the relying party.
    public var id: RelyingPartyID
    /// Name of the relying party.
    ///
    /// It is never displayed, because it is not verified.
    public var name: String

    /// Creates a relying party from its ID and name.
    public init(id: RelyingPartyID, name: String) {
        self.id = id
        self.name = name
    }
}

extension RelyingPartyEntity {
    init<Failure>(
        _ fields: FieldReader<Failure>,
        accepting kinds: Set<RelyingPartyID.Kind>
    ) throws(Failure) {
        guard let id = RelyingPartyID(try fields.required("id", "id", as: \.text), accepting: kinds) else {
            throw .invalid(fields.name("id"))
        }
        self.init(id: id, name: EntityName.shortened(try fields.optional("name", "name", as: \.text) ?? ""))
    }

    /// The map for a creation request; phones require `name`.
    var cbor: CBORValue { ["id": .text(id.text), "name": .text(name)] }
}

extension UserEntity {
    init<Failure>(_ fields: FieldReader<Failure>) throws(Failure) {
        self.init(
            id: try fields.bytes("id", "id", as: UserHandle.init(bytes:)),
            name: EntityName.shortened(try fields.optional("name", "name", as: \.text) ?? ""),
            displayName: EntityName.shortened(try fields.optional("displayName", "displayName", as: \.text) ?? "")
        )
    }

    /// Creates an account from a response; `nil` without a valid handle.
    ///
    /// A name of the wrong type counts as absent.
    init?(answered map: CBORMap) {
        guard let id = map["id"]?.bytes.flatMap({ UserHandle(bytes: $0) }) else { return nil }
        self.init(
            id: id,
            name: EntityName.shortened(map["name"]?.text ?? ""),
            displayName: EntityName.shortened(map["displayName"]?.text ?? "")
        )
    }

    /// The map for a response: names that are empty are omitted (CTAP 2.2 §6.2.2).
    package var responseCBOR: CBORValue {
        var map: CBORMap = ["id": .bytes(id.bytes)]
        if !name.isEmpty { map["name"] = .text(name) }
        if !displayName.isEmpty { map["displayName"] = .text(displayName) }
        return .map(map)
    }

    /// The map for a request; phones require both names.
    var cbor: CBORValue {
        ["id": .bytes(id.bytes), "name": .text(name), "displayName": .text(displayName)]
    }
}

/// The length limit for names that a peer sends.
public enum EntityName {
    /// Maximum length in bytes.
    ///
    /// WebAuthn Level 3 §6.4.1 allows authenticators to truncate at 64 bytes. This bound is larger, so real names stay
    /// complete.
    public static let maximumBytes = 1 << 16

    /// Returns the name, truncated between Unicode scalars if it is too long.
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
