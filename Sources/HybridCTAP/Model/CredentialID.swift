// SPDX-License-Identifier: Apache-2.0

/// Name of a credential, chosen by the authenticator: 1 to 1,023 bytes (WebAuthn Level 3 §4).
public struct CredentialID: Hashable, Sendable {
    /// The longest that WebAuthn allows, in bytes.
    public static let maximumLength = 1023

    /// The bytes.
    public let bytes: [UInt8]

    /// Takes 1 to 1,023 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
        self.bytes = Array(bytes)
    }
}

/// An account's handle, chosen by the relying party: 1 to 64 bytes, opaque (WebAuthn Level 3 §5.4.3).
public struct UserHandle: Hashable, Sendable {
    /// The bytes.
    public let bytes: [UInt8]

    /// Takes 1 to 64 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard (1...64).contains(bytes.count) else { return nil }
        self.bytes = Array(bytes)
    }
}

/// SHA-256 of the client data, 32 bytes; what is signed is always the hash that was received.
public struct ClientDataHash: Hashable, Sendable {
    /// The 32 bytes.
    public let bytes: [UInt8]

    /// Takes exactly 32 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.bytes = Array(bytes)
    }
}

/// Model of an authenticator, 16 bytes.
public struct AAGUID: Hashable, Sendable {
    /// The 16 bytes.
    public let bytes: [UInt8]

    /// Takes exactly 16 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        self.bytes = Array(bytes)
    }
}
