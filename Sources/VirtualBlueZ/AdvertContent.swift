// SPDX-License-Identifier: Apache-2.0

internal import SystemBus

/// What an advert says, as its org.bluez.LEAdvertisement1 object gives it.
struct AdvertContent: Sendable {
    /// Longest legacy advertising PDU, in bytes.
    ///
    /// Source: Bluetooth Core 5.4, Vol 6 Part B §2.3.1.
    static let longest = 31

    private let isPeripheral: Bool
    private let serviceUUIDs: [String]
    private let serviceData: [(uuid: String, data: [UInt8])]
    private let manufacturerData: [BusEntry]
    private let localName: String?

    /// Reads the object's properties; `nil` if they are not what the interface allows.
    init?(_ properties: ObjectTree.Properties) {
        guard let type = properties["Type"]?.text, ["broadcast", "peripheral"].contains(type) else { return nil }
        isPeripheral = type == "peripheral"
        guard let uuids = Self.uuids(properties["ServiceUUIDs"]), let data = Self.services(properties["ServiceData"])
        else { return nil }
        serviceUUIDs = uuids
        serviceData = data
        switch properties["ManufacturerData"] {
        case nil: manufacturerData = []
        case .dictionary("q", _, let entries)? where entries.allSatisfy({ $0.value.octets != nil }):
            manufacturerData = entries
        default: return nil
        }
        localName = properties["LocalName"]?.text
    }

    private static func uuids(_ value: BusValue?) -> [String]? {
        switch value {
        case nil: []
        case .array("s", let elements)?: elements.compactMap { $0.text.map(fullUUID) }
        default: nil
        }
    }

    private static func services(_ value: BusValue?) -> [(uuid: String, data: [UInt8])]? {
        guard let value else { return [] }
        guard let fields = value.fields else { return nil }
        var services: [(String, [UInt8])] = []
        for (uuid, data) in fields.sorted(by: { $0.key < $1.key }) {
            guard let data = data.octets else { return nil }
            services.append((fullUUID(uuid), data))
        }
        return services
    }

    private static let baseSuffix = "-0000-1000-8000-00805f9b34fb"

    /// The 128-bit form of a UUID given in 4, 8 or 36 characters.
    static func fullUUID(_ text: String) -> String {
        let text = text.lowercased()
        return switch text.utf8.count {
        case 4: "0000" + text + baseSuffix
        case 8: text + baseSuffix
        default: text
        }
    }

    /// Bytes a UUID takes on the air.
    private static func length(_ uuid: String) -> Int {
        guard uuid.hasSuffix(baseSuffix) else { return 16 }
        return uuid.hasPrefix("0000") ? 2 : 4
    }

    /// Bytes of the whole PDU's payload.
    var length: Int {
        // Flags, which BlueZ adds for what can be connected to.
        var sum = isPeripheral ? 3 : 0
        for size in [2, 4, 16] {
            let count = serviceUUIDs.count { Self.length($0) == size }
            if count > 0 { sum += 2 + size * count }
        }
        for (uuid, data) in serviceData {
            sum += 2 + Self.length(uuid) + data.count
        }
        for entry in manufacturerData {
            sum += 2 + 2 + (entry.value.octets?.count ?? 0)
        }
        if let localName { sum += 2 + localName.utf8.count }
        return sum
    }

    /// The properties of a Device1 object that has sent this.
    var deviceProperties: ObjectTree.Properties {
        var properties: ObjectTree.Properties = ["UUIDs": .strings(serviceUUIDs)]
        if !serviceData.isEmpty { properties["ServiceData"] = Self.serviceDataProperty(serviceData) }
        if !manufacturerData.isEmpty {
            let entries = manufacturerData.map { BusEntry($0.key, .variant($0.value.unwrapped)) }
            properties["ManufacturerData"] = .dictionary("q", "v", entries)
        }
        if let localName { properties["Name"] = .string(localName) }
        return properties
    }

    /// The property ServiceData of a Device1 object.
    static func serviceDataProperty(_ services: [(uuid: String, data: [UInt8])]) -> BusValue {
        .dictionary("s", "v", services.map { BusEntry(.string($0.uuid), .variant(.bytes($0.data))) })
    }
}
