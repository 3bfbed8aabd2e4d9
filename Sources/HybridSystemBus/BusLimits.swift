// SPDX-License-Identifier: Apache-2.0

/// Bounds on what is read from the bus; everybody on a machine may send there.
public enum BusLimits {
    /// Deepest nesting of containers; D-Bus itself allows 64.
    public static let depth = 32
    /// Most values, and bytes of text and byte arrays, in one message.
    ///
    /// A desktop with 500 known Bluetooth devices answers GetManagedObjects with about 400,000.
    public static let weight = 4 << 20
    /// Most method calls of others that wait for our answer at one time.
    public static let deferredReplies = 1024
    /// Most calls of our own that wait for an answer at one time.
    public static let pendingCalls = 4096
}
