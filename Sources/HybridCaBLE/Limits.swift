// SPDX-License-Identifier: Apache-2.0

/// Bounds on what the other side may send, in one place.
public enum Limits {
    /// Largest WebSocket message, in bytes; Chrome accepts no more (1 MiB).
    public static let messageBytes = 1 << 20
    /// Longest QR text, in characters; the largest real ones have about 180 digits.
    public static let qrTextCharacters = 1024
    /// Highest frame counter; Chrome closes the channel at the next one.
    public static let frameCounter: UInt32 = (1 << 24) - 1
    /// Longest service data that is looked at, in bytes (extended advertising carries up to 254).
    public static let serviceDataBytes = 254
}
