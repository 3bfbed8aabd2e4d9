// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// Name of a record: 16 random bytes; in file names 32 lower-case hexadecimal digits.
public struct RecordID: Hashable, Sendable, CustomStringConvertible {
    let bytes: [UInt8]

    /// A fresh one.
    static func random() -> RecordID { RecordID(uncheckedBytes: RandomBytes.make(16)) }

    /// Takes exactly 16 bytes; anything else is `nil`.
    init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Takes exactly 32 lower-case hexadecimal digits; anything else is `nil`.
    public init?(_ text: some StringProtocol) {
        guard let bytes = Hex.decode(text, length: 16, lowercaseOnly: true) else { return nil }
        self.bytes = bytes
    }

    private init(uncheckedBytes: [UInt8]) { self.bytes = uncheckedBytes }

    /// The 32 digits.
    public var description: String { Hex.encode(bytes) }
}

/// Name of a device that writes to a vault: 8 random bytes from its local state.
struct DeviceID: Hashable, Sendable {
    let bytes: [UInt8]

    /// Takes exactly 8 bytes; anything else is `nil`.
    init?(bytes: [UInt8]) {
        guard bytes.count == 8 else { return nil }
        self.bytes = bytes
    }
}

/// One state of one record: who wrote it and the how manieth it is.
///
/// The order is total, so that all devices with the same files agree on the newest without asking a clock.
struct Revision: Hashable, Sendable, Comparable {
    /// 1 for the first; afterwards 1 + the highest the writer had seen.
    let counter: UInt64
    /// Who wrote it.
    let device: DeviceID

    /// By counter, then by device.
    static func < (left: Revision, right: Revision) -> Bool {
        if left.counter != right.counter { return left.counter < right.counter }
        return left.device.bytes.lexicographicallyPrecedes(right.device.bytes)
    }

    /// The name of its file: counter in decimal, a hyphen, device in 16 hexadecimal digits.
    var fileName: String { "\(counter)-\(Hex.encode(device.bytes))" }

    /// What a file's name says of its content.
    enum NameKind: Equatable {
        /// The name of a revision and nothing else.
        case proper
        /// The name of a revision with something behind it, as file sync tools name conflict copies.
        case copy
    }

    /// Judges a file name; `nil` if it is neither.
    ///
    /// The header inside tells which revision it really is.
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
