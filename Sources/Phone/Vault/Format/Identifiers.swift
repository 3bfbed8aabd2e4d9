// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// ID of a record: 16 random bytes, written as 32 lower-case hexadecimal digits.
package struct RecordID: RandomlyChosenBytes, Hashable, Sendable, CustomStringConvertible {
    /// Length in bytes.
    static let length = 16

    let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    /// Creates an ID from exactly 32 lower-case hexadecimal digits; returns `nil` otherwise.
    package init?(_ text: some StringProtocol) {
        guard let bytes = Hex.decode(text, length: Self.length, lowercaseOnly: true) else { return nil }
        self.bytes = bytes
    }

    /// The 32 digits.
    package var description: String { Hex.encode(bytes) }
}

/// ID of a device that writes to a vault: 8 random bytes from its local state.
struct DeviceID: RandomlyChosenBytes, Hashable, Sendable {
    /// Length in bytes.
    static let length = 8

    let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }
}

/// One revision of a record: its number and the device that wrote it.
///
/// The order is total, so all devices with the same files agree on the newest revision without a clock.
struct Revision: Hashable, Sendable, Comparable {
    /// 1 for the first revision; afterwards one more than the highest that the writer had seen.
    let counter: UInt64
    /// The device that wrote it.
    let device: DeviceID

    /// Compares counters, then devices.
    static func < (left: Revision, right: Revision) -> Bool {
        if left.counter != right.counter { return left.counter < right.counter }
        return left.device.bytes.lexicographicallyPrecedes(right.device.bytes)
    }

    /// File name: the counter in decimal, a hyphen, and the device in 16 hexadecimal digits.
    var fileName: String { "\(counter)-\(Hex.encode(device.bytes))" }

    /// Kinds of file names.
    enum NameKind: Equatable {
        /// Exactly the name of a revision.
        case proper
        /// The name of a revision with a suffix, as file sync tools name conflict copies.
        case copy
    }

    /// Returns the kind of a file name; `nil` if it does not begin with the name of a revision.
    ///
    /// The actual revision is determined by the header inside the file.
    static func nameKind(_ name: String) -> NameKind? {
        let characters = Array(name.utf8)
        let digits = characters.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let device = characters.dropFirst(digits.count + 1).prefix(16)
        guard (1...20).contains(digits.count), digits.first != UInt8(ascii: "0"),
            characters.dropFirst(digits.count).first == UInt8(ascii: "-"),
            Hex.decode(String(decoding: device, as: UTF8.self), length: 8, lowercaseOnly: true) != nil
        else { return nil }
        return characters.count == digits.count + 17 ? .proper : .copy
    }
}
