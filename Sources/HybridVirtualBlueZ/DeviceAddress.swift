// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

/// A device's address, and the object that bluetoothd makes for it.
struct DeviceAddress: Hashable, Sendable {
    /// Six bytes in hexadecimal with colons.
    let text: String
    /// Whether it is the controller's own, and no random one.
    var isPublic = false

    /// One that nobody has.
    static func random() -> DeviceAddress {
        // The two top bits mark a static random address. Source: Bluetooth Core 5.4, Vol 6 Part B §1.3.2.1.
        let number = UInt64.random(in: 0..<(1 << 48)) | 0xC0 << 40
        let digits = "0123456789ABCDEF".utf8.map { $0 }
        var text: [UInt8] = []
        for shift in stride(from: 40, through: 0, by: -8) {
            if !text.isEmpty { text.append(UInt8(ascii: ":")) }
            text.append(digits[Int(number >> (shift + 4) & 15)])
            text.append(digits[Int(number >> shift & 15)])
        }
        return DeviceAddress(text: String(decoding: text, as: UTF8.self))
    }

    private func separated(by separator: Character) -> String {
        String(text.map { $0 == ":" ? separator : $0 })
    }

    /// Path of the device's object on `adapter`.
    func path(on adapter: String) -> String {
        adapter + "/dev_" + separated(by: "_")
    }

    /// The object, with what was heard of it.
    func device(on adapter: String, _ heard: ObjectTree.Properties) -> ObjectTree.Interfaces {
        var properties: ObjectTree.Properties = [
            "Address": .string(text), "AddressType": .string(isPublic ? "public" : "random"),
            "Alias": .string(separated(by: "-")),
            "Paired": .bool(false), "Bonded": .bool(false), "Trusted": .bool(false), "Blocked": .bool(false),
            "LegacyPairing": .bool(false), "Connected": .bool(false), "ServicesResolved": .bool(false),
            "AdvertisingFlags": .bytes([0]), "Adapter": .objectPath(adapter),
        ]
        properties.merge(heard) { $1 }
        return [Names.device: properties, BusNames.properties: [:], BusNames.introspectable: [:]]
    }
}
