// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus
internal import HybridPrimitives

/// A device that sends adverts, with its address and the object that bluetoothd creates for it.
struct VirtualBluetoothDevice: Hashable, Sendable {
    /// The address: six hexadecimal bytes, separated by colons.
    let address: String
    /// True if the address is the controller's public address; false if it is a random address.
    var isPublic = false

    /// Returns a device with a new random address.
    static func random() -> VirtualBluetoothDevice {
        var bytes = (0..<6).map { _ in UInt8.random(in: 0...255) }
        // The two most significant bits mark a static random address (Bluetooth Core 5.4, Vol 6 Part B §1.3.2.1).
        bytes[0] |= 0xC0
        return VirtualBluetoothDevice(address: bytes.map { Hex.encode([$0]).uppercased() }.joined(separator: ":"))
    }

    private func separated(by separator: Character) -> String {
        String(address.map { $0 == ":" ? separator : $0 })
    }

    /// Returns the path of the device's object on `adapter`.
    func path(on adapter: String) -> String {
        adapter + "/dev_" + separated(by: "_")
    }

    /// Returns the interfaces of the device's object with the received properties.
    func object(on adapter: String, _ received: ObjectTree.Properties) -> ObjectTree.Interfaces {
        var properties: ObjectTree.Properties = [
            "Address": .string(address), "AddressType": .string(isPublic ? "public" : "random"),
            "Alias": .string(separated(by: "-")),
            "Paired": .bool(false), "Bonded": .bool(false), "Trusted": .bool(false), "Blocked": .bool(false),
            "LegacyPairing": .bool(false), "Connected": .bool(false), "ServicesResolved": .bool(false),
            "AdvertisingFlags": .bytes([0]), "Adapter": .objectPath(adapter),
        ]
        properties.merge(received) { $1 }
        return [BlueZNames.device: properties, BusNames.properties: [:], BusNames.introspectable: [:]]
    }
}
