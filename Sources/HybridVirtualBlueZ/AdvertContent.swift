// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

/// What an advert says, as its org.bluez.LEAdvertisement1 object gives it.
struct AdvertContent: Sendable {
    /// Longest legacy advertising PDU, in bytes.
    ///
    /// Source: Bluetooth Core 5.4, Vol 6 Part B §2.3.1.
    static let longest = 31

    /// Whether it may be connected to: then it is sent from the controller's own address.
    let isPeripheral: Bool
    private let serviceUUIDs: [String]
    private let serviceData: [(uuid: String, data: [UInt8])]
    private let manufacturerData: [BusEntry]
    private let localName: String?

    /// Reads the object's properties; `nil` if bluetoothd cannot parse them.
    ///
    /// Nothing has to be there: an object that cannot even be read makes an empty advert.
    init?(_ properties: ObjectTree.Properties) {
        let type = properties["Type"] ?? .string("broadcast")
        guard let type = type.text, ["broadcast", "peripheral"].contains(type) else { return nil }
        isPeripheral = type == "peripheral"
        guard let uuids = Self.uuids(properties["ServiceUUIDs"]), let data = Self.services(properties["ServiceData"]),
            Self.mayBeDiscoverable(properties["Discoverable"], type), Self.areIntervals(properties)
        else { return nil }
        serviceUUIDs = uuids
        serviceData = data
        switch properties["ManufacturerData"] {
        case nil: manufacturerData = []
        case .dictionary("q", _, let entries)? where entries.allSatisfy({ $0.value.octets != nil }):
            manufacturerData = entries
        default: return nil
        }
        switch properties["LocalName"] {
        case nil: localName = nil
        case .string(let name)?: localName = name
        default: return nil
        }
    }

    private static func uuids(_ value: BusValue?) -> [String]? {
        switch value {
        case nil: return []
        case .array("s", let elements)?:
            let texts = elements.compactMap(\.text)
            return texts.allSatisfy(isUUID) ? texts.map(fullUUID) : nil
        default: return nil
        }
    }

    /// One field must fit by itself: its length, its type, the UUID and the data.
    private static func services(_ value: BusValue?) -> [(uuid: String, data: [UInt8])]? {
        guard let value else { return [] }
        guard let fields = value.fields else { return nil }
        var services: [(String, [UInt8])] = []
        for (uuid, data) in fields.sorted(by: { $0.key < $1.key }) {
            guard isUUID(uuid), let data = data.octets else { return nil }
            let full = fullUUID(uuid)
            guard 2 + length(full) + data.count <= longest else { return nil }
            services.append((full, data))
        }
        return services
    }

    /// A broadcast has no flags to say so in.
    private static func mayBeDiscoverable(_ value: BusValue?, _ type: String) -> Bool {
        switch value {
        case nil, .bool(false)?: true
        case .bool(true)?: type == "peripheral"
        default: false
        }
    }

    /// Milliseconds between two adverts, least and most: both are named, or neither.
    private static func areIntervals(_ properties: ObjectTree.Properties) -> Bool {
        switch (properties["MinInterval"], properties["MaxInterval"]) {
        case (nil, nil): true
        case (.uint32(let least)?, .uint32(let most)?): least >= 20 && least <= most && most <= 10_485
        default: false
        }
    }

    /// Whether a text is a UUID of 4, 8 or 36 characters.
    static func isUUID(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        func isHyphenated(_ index: Int) -> Bool { bytes.count == 36 && [8, 13, 18, 23].contains(index) }
        return [4, 8, 36].contains(bytes.count)
            && bytes.enumerated().allSatisfy { index, byte in
                isHyphenated(index) ? byte == UInt8(ascii: "-") : Character(Unicode.Scalar(byte)).isHexDigit
            }
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
        var sum = 0
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

    /// The UUIDs in its lists, by which scanners may filter.
    var listed: Set<String> { Set(serviceUUIDs) }

    /// The properties of a Device1 object that has sent this.
    var deviceProperties: ObjectTree.Properties {
        let others = serviceData.map(\.uuid).filter { !serviceUUIDs.contains($0) }
        var properties: ObjectTree.Properties = ["UUIDs": .strings(serviceUUIDs + others)]
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
