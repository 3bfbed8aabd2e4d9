// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// One of the two handshake messages: an ephemeral key (65 bytes, uncompressed) and a tag (16 bytes).
public struct HandshakeMessage: FixedLengthBytes, Hashable, Sendable {
    /// Length in bytes.
    public static let length = 81
    static let pointLength = 65

    /// The 81 bytes.
    public let bytes: [UInt8]

    init(point: [UInt8], tag: [UInt8]) { self.bytes = point + tag }

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    var point: [UInt8] { Array(bytes[..<Self.pointLength]) }
    var tag: [UInt8] { Array(bytes[Self.pointLength...]) }
}

/// A reason why a handshake failed.
///
/// In all cases the connection is closed without a response.
public struct HandshakeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The peer's ephemeral key is not a point on the curve.
    public static let invalidPoint = HandshakeError("invalidPoint")
    /// The tag does not verify: the peer has another QR code, another advert or another key.
    public static let notAuthentic = HandshakeError("notAuthentic")
    /// A step was called out of order, which is a programming error.
    public static let outOfOrder = HandshakeError("outOfOrder")

    /// The error's name.
    public let description: String

    private init(_ description: String) { self.description = description }
}

/// The handshake hash, shared by both ends and unique to their session; 32 bytes, not secret.
public struct HandshakeHash: FixedLengthBytes, Hashable, Sendable {
    /// Length in bytes.
    public static let length = 32

    /// The 32 bytes.
    public let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }
}
