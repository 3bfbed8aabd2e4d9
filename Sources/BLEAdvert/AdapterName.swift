// SPDX-License-Identifier: Apache-2.0

/// The name of a Bluetooth adapter, such as `hci0`.
public struct AdapterName: Hashable, Sendable {
    /// The adapter's number.
    let number: UInt16

    /// Creates a name from `hci` and one to five digits without a leading zero.
    ///
    /// - Returns: `nil` for any other text.
    public init?(_ text: String) {
        guard text.hasPrefix("hci") else { return nil }
        let digits = text.dropFirst(3)
        guard let number = UInt16(digits), String(number) == digits else { return nil }
        self.number = number
    }

    /// The name as the kernel and BlueZ write it.
    public var text: String {
        "hci\(number)"
    }

    /// The D-Bus path of BlueZ's object for the adapter.
    var path: String {
        "/org/bluez/" + text
    }

    /// Creates a name from the D-Bus path of BlueZ's object; `nil` for any other path.
    init?(path: String) {
        let prefix = "/org/bluez/"
        guard path.hasPrefix(prefix) else { return nil }
        self.init(String(path.dropFirst(prefix.count)))
    }
}

extension AdapterName: LosslessStringConvertible {
    /// The name as the kernel and BlueZ write it.
    public var description: String { text }
}
