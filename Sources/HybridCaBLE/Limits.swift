// SPDX-License-Identifier: Apache-2.0

/// Bounds of messages and texts from a peer.
public enum Limits {
    /// Maximum size of a message in bytes (1 MiB), as in Chrome.
    public static let messageBytes = 1 << 20
    /// Maximum length of a QR text in characters; real ones have up to about 180 digits.
    public static let qrTextCharacters = 1024
    /// Highest frame counter; Chrome closes the channel after it.
    public static let frameCounter: UInt32 = (1 << 24) - 1
    /// Maximum length of service data in bytes (extended advertising carries up to 254).
    public static let serviceDataBytes = 254
}
