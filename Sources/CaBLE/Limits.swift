// SPDX-License-Identifier: Apache-2.0

/// Limits for messages and texts from a peer.
public enum Limits {
    /// Maximum size of a message in bytes (1 MiB), as in Chrome.
    public static let messageBytes = 1 << 20
    /// Maximum length of a QR code's text in characters; real codes have up to about 180 digits.
    public static let qrTextCharacters = 1024
    /// Highest frame counter; Chrome closes the channel when it is exceeded.
    public static let frameCounter: UInt32 = (1 << 24) - 1
    /// Maximum length of service data in bytes, which is the limit of extended advertising.
    public static let serviceDataBytes = 254
}
