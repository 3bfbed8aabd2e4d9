// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// ID of a credential, chosen by the authenticator: 1 to 1,023 bytes (WebAuthn Level 3 §4).
public struct CredentialID: Hashable, Sendable {
    /// Maximum length in bytes.
    public static let maximumLength = 1023

    /// The bytes.
    public let bytes: [UInt8]

    /// Creates an ID from 1 to 1,023 bytes; `nil` for another length.
    public init?(bytes: some Collection<UInt8>) {
        guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
        self.bytes = Array(bytes)
    }
}

/// Handle of an account, chosen by the relying party: 1 to 64 opaque bytes (WebAuthn Level 3 §5.4.3).
public struct UserHandle: Hashable, Sendable {
    /// Maximum length in bytes.
    public static let maximumLength = 64

    /// The bytes.
    public let bytes: [UInt8]

    /// Creates a handle from 1 to 64 bytes; `nil` for another length.
    public init?(bytes: some Collection<UInt8>) {
        guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
        self.bytes = Array(bytes)
    }
}

/// SHA-256 of the client data, 32 bytes.
///
/// Authenticators sign the hash that they receive.
public struct ClientDataHash: FixedLengthBytes, Hashable, Sendable {
    /// Length in bytes.
    public static let length = 32

    /// The 32 bytes.
    public let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }
}

/// Model of an authenticator, 16 bytes.
public struct AAGUID: FixedLengthBytes, Hashable, Sendable {
    /// Length in bytes.
    public static let length = 16

    /// Sixteen zero bytes, which mean that the model is not stated.
    public static let zero = AAGUID(checked: repeatElement(0, count: length))

    /// The 16 bytes.
    public let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }
}
