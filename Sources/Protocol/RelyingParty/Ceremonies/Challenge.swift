// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// A random number that a response must repeat: 32 bytes (WebAuthn Level 3 §13.4.3 requires at least 16).
public struct Challenge: Hashable, Sendable {
    /// Length of random challenges in bytes.
    public static let length = 32

    /// The bytes.
    public let bytes: [UInt8]

    /// Creates a challenge from the system's random source.
    public static func random() -> Challenge { Challenge(bytes: .random(length)) }

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// The bytes in base64url, as in options and client data.
    var text: String { Base64URL.encode(bytes) }
}

/// A ceremony that waits for its response.
public protocol PendingCeremony: Sendable {
    /// Challenge that the response must repeat.
    var challenge: Challenge { get }
    /// Procedure that will verify the response.
    static var procedure: ResponseRejection.Procedure { get }
}
