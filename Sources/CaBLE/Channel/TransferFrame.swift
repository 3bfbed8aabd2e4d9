// SPDX-License-Identifier: Apache-2.0

/// A message of a transfer: one JSON object and the spaces that follow it, which JSON allows there.
///
/// It travels as ``ChannelMessage/json(_:)``. The spaces hide the exact length from a relay: with the type byte and the byte
/// of the frame's own padding, the message is a multiple of 512 bytes long.
public struct TransferFrame: Hashable, Sendable {
    /// The length of a padded message in bytes is a multiple of this number.
    public static let granularity = 512

    /// Maximum length of the JSON object in bytes, so that the frame with its tag has at most 1 MiB.
    public static let maximumLength =
        (ChannelMessage.maximumBodyLength + overhead) / granularity * granularity - overhead

    /// The type byte, and the byte of the frame's padding.
    private static let overhead = 2

    /// The JSON object and the spaces.
    public let bytes: [UInt8]

    /// Creates a message from a JSON object in UTF-8, which is not validated.
    ///
    /// - Throws: ``FrameError/tooLong``.
    public init(padding object: [UInt8]) throws(FrameError) {
        guard object.count <= Self.maximumLength else { throw .tooLong }
        let rest = (object.count + Self.overhead) % Self.granularity
        let spaces = rest == 0 ? 0 : Self.granularity - rest
        bytes = object + [UInt8](repeating: UInt8(ascii: " "), count: spaces)
    }

    /// Creates a message from a received body, which is not validated.
    ///
    /// Its length is that of the sender's choice, because only the sender's own data is at stake.
    public init(received body: [UInt8]) { bytes = body }
}
