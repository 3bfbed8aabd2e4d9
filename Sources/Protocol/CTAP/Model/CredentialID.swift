// SPDX-License-Identifier: Apache-2.0

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
public struct ClientDataHash: Hashable, Sendable {
    /// The 32 bytes.
    public let bytes: [UInt8]

    /// Creates a hash from 32 bytes; `nil` for another length.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.bytes = Array(bytes)
    }
}

/// Model of an authenticator, 16 bytes.
public struct AAGUID: Hashable, Sendable {
    /// Sixteen zero bytes, which mean that the model is not stated.
    public static let zero = AAGUID()

    /// The 16 bytes.
    public let bytes: [UInt8]

    private init() { bytes = [UInt8](repeating: 0, count: 16) }

    /// Creates an AAGUID from 16 bytes; `nil` for another length.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        self.bytes = Array(bytes)
    }
}
