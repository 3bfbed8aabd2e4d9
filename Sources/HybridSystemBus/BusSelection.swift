// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Which entries of dictionaries are read from a message; the others are passed over, and weigh nothing.
///
/// bluetoothd tells some fifteen properties of every device, and there may be thousands: whoever needs two of them
/// should neither wait for the rest nor let it reach a bound of `BusLimits`. Only keys that are strings are looked
/// at: the paths and numbers of other dictionaries are data.
public struct BusSelection: Sendable {
    /// All entries.
    public static let everything = BusSelection(keys: nil)

    /// Each with its NUL at the end; `nil` for all there are.
    private let keys: [[CChar]]?

    private init(keys: [[CChar]]?) {
        self.keys = keys
    }

    /// The entries with these keys, upper and lower case alike, of whatever dictionary.
    public init(_ keys: [String]) {
        self.init(keys: keys.map { Array($0.utf8CString) })
    }

    var isEverything: Bool { keys == nil }

    /// Whether an entry with this key is read.
    func contains(_ key: UnsafePointer<CChar>) -> Bool {
        guard let keys else { return true }
        return keys.contains { strcasecmp($0, key) == 0 }
    }
}
