// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus

/// The content of an advert, read from its org.bluez.LEAdvertisement1 object.
struct AdvertContent: Sendable {
    /// The maximum payload of a legacy advertising PDU, in bytes.
    ///
    /// Source: Bluetooth Core 5.4, Vol 6 Part B §2.3.1.
    static let maximumLength = 31

    /// True if the advert is connectable.
    ///
    /// A connectable advert is sent from the controller's own address.
    let isPeripheral: Bool
    private let serviceUUIDs: [String]
    private let serviceData: [(uuid: String, data: [UInt8])]
    private let manufacturerData: [BusEntry]
    private let localName: String?

    /// Creates the content from the properties of the object; `nil` if bluetoothd cannot parse them.
    ///
    /// No property is required: an object that cannot be read results in an empty advert.
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

    /// Returns the 128-bit forms of a list of UUIDs; empty if `value` is `nil`, and `nil` if it is malformed.
    static func uuids(_ value: BusValue?) -> [String]? {
        guard let value else { return [] }
        guard case .array("s", let elements) = value else { return nil }
        let texts = elements.compactMap(\.text)
        return texts.allSatisfy(isUUID) ? texts.map(fullUUID) : nil
    }

    /// Returns the service data sorted by UUID; `nil` if it is malformed or a single field exceeds ``maximumLength``.
    private static func services(_ value: BusValue?) -> [(uuid: String, data: [UInt8])]? {
        guard let value else { return [] }
        guard let fields = value.fields else { return nil }
        var services: [(String, [UInt8])] = []
        for (uuid, data) in fields.sorted(by: { $0.key < $1.key }) {
            guard isUUID(uuid), let data = data.octets else { return nil }
            let full = fullUUID(uuid)
            guard 2 + length(full) + data.count <= maximumLength else { return nil }
            services.append((full, data))
        }
        return services
    }

    /// Returns true if the property is valid; only peripherals can be discoverable, because a broadcast has no flags.
    private static func mayBeDiscoverable(_ value: BusValue?, _ type: String) -> Bool {
        switch value {
        case nil, .bool(false)?: true
        case .bool(true)?: type == "peripheral"
        default: false
        }
    }

    /// Returns true if the minimum and maximum interval in milliseconds are valid, or if both are absent.
    private static func areIntervals(_ properties: ObjectTree.Properties) -> Bool {
        switch (properties["MinInterval"], properties["MaxInterval"]) {
        case (nil, nil): true
        case (.uint32(let least)?, .uint32(let most)?): least >= 20 && least <= most && most <= 10_485
        default: false
        }
    }

    /// Returns true if `text` is a UUID of 4, 8 or 36 characters.
    private static func isUUID(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        func isHyphenated(_ index: Int) -> Bool { bytes.count == 36 && [8, 13, 18, 23].contains(index) }
        return [4, 8, 36].contains(bytes.count)
            && bytes.enumerated().allSatisfy { index, byte in
                isHyphenated(index) ? byte == UInt8(ascii: "-") : Character(Unicode.Scalar(byte)).isHexDigit
            }
    }

    private static let baseSuffix = "-0000-1000-8000-00805f9b34fb"

    /// Returns the 128-bit form of a UUID of 4, 8 or 36 characters.
    static func fullUUID(_ text: String) -> String {
        let text = text.lowercased()
        return switch text.utf8.count {
        case 4: "0000" + text + baseSuffix
        case 8: text + baseSuffix
        default: text
        }
    }

    /// Returns the number of bytes that a UUID occupies in an advert.
    private static func length(_ uuid: String) -> Int {
        guard uuid.hasSuffix(baseSuffix) else { return 16 }
        return uuid.hasPrefix("0000") ? 2 : 4
    }

    /// The length of the advertising PDU's payload in bytes.
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

    /// The UUIDs in the advert's lists, by which scanners can filter.
    var listed: Set<String> { Set(serviceUUIDs) }

    /// The properties of the Device1 object that represents the sender.
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

    /// Returns the property ServiceData of a Device1 object.
    static func serviceDataProperty(_ services: [(uuid: String, data: [UInt8])]) -> BusValue {
        .dictionary("s", "v", services.map { BusEntry(.string($0.uuid), .variant(.bytes($0.data))) })
    }
}
