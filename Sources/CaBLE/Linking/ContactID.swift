// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// ID of 1 to 1,024 bytes that a relay uses to wake a phone.
///
/// The phone's vendor chooses it. A phone of this project derives it from a ``ContactKey``, so that the relay needs no
/// accounts to decide which phone an ID belongs to. The ID identifies the user's phone, so it is never logged.
public struct ContactID: Hashable, Sendable, SecretMaterial {
    /// Maximum length in bytes.
    public static let maximumLength = 1024
    /// Maximum length of a contact ID for a push subscription in bytes; a longer one leaves no room for the phone's name.
    public static let maximumPushLength = 300

    /// The bytes.
    public let bytes: [UInt8]

    /// Creates an ID from 1 to 1,024 bytes; `nil` for another length.
    public init?(bytes: some Collection<UInt8>) {
        guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
        self.bytes = Array(bytes)
    }

    /// Creates an ID from base64url without padding; `nil` for other text, nonzero unused bits or another length.
    public init?(base64URL text: some StringProtocol) {
        guard let bytes = Base64URL.decode(text, maximumLength: Self.maximumLength) else { return nil }
        self.init(bytes: bytes)
    }

    /// The ID in base64url without padding, as in the path of a request.
    public var base64URL: String { Base64URL.encode(bytes) }
}

extension ContactID {
    /// The kind of a contact ID, from which the relay learns how to reach the phone.
    public enum Kind: Hashable, Sendable {
        /// The phone keeps a connection to the relay: `01` and 24 bytes of a hash.
        case listener
        /// A push service wakes the phone: `02` and an encrypted address.
        case push
        /// Another vendor's relay issued the ID.
        case foreign
    }

    /// The kind; meaningful only for IDs of this project's phones.
    public var kind: Kind {
        switch bytes[0] {
        case 1 where bytes.count == 25: .listener
        case 2: .push
        default: .foreign
        }
    }

    /// Creates the ID that belongs to a contact key: `01` and the first 24 bytes of SHA-256 over a prefix and the key.
    init(of key: ContactPublicKey) {
        bytes = [1] + SHA256.hash(data: Array("hybrid-relay contact v1".utf8) + key.bytes).prefix(24)
    }
}
