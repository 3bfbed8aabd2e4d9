// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus

/// A flood of adverts from thousands of unrelated devices, received by one adapter.
///
/// Each advert has its own address, so it creates a new device, as in bluetoothd. A device is removed after `linger`.
/// If there are more than `maximumKnown` devices, the oldest are removed earlier. bluetoothd has no such limit, but the
/// memory for tests is limited.
struct Flood: Sendable {
    /// The maximum number of adverts per second.
    static let maximumRate = 4_000
    /// The maximum duration in seconds.
    static let maximumSeconds = 3_600
    /// The maximum number of adverts per timer tick, so that calls are answered even if the computer is too slow.
    static let maximumPerTick = 100
    /// The maximum number of devices of a flood that exist at the same time.
    static let maximumKnown = 512

    private let rate: Int
    private let total: Int
    private let start: ContinuousClock.Instant
    /// The number of adverts sent so far.
    private(set) var sent = 0
    /// The number of adverts received by a scan.
    private(set) var received = 0
    /// The paths of the known devices and the times at which they are removed, oldest first.
    private var known: [(device: String, until: ContinuousClock.Instant)] = []

    /// Creates a flood of `rate` adverts per second; `nil` if `rate` or `seconds` is out of range.
    init?(rate: Int, seconds: Int, now: ContinuousClock.Instant) {
        guard (0...Self.maximumRate).contains(rate), (0...Self.maximumSeconds).contains(seconds) else { return nil }
        self.rate = rate
        total = rate * seconds
        start = now
    }

    /// The paths of the known devices.
    var devices: [String] { known.map(\.device) }

    /// Forgets the devices, which the caller removes.
    mutating func forgetDevices() { known = [] }

    /// Sends the adverts that are due, including late ones of earlier ticks, up to ``maximumPerTick``.
    mutating func advance(
        to now: ContinuousClock.Instant,
        on adapter: String,
        isScanning: Bool,
        linger: Duration,
        _ tree: inout ObjectTree
    ) {
        let due = Int(min(Double(total), (now - start) / .seconds(1) * Double(rate)))
        let until = min(due, sent + Self.maximumPerTick)
        while sent < until {
            sent += 1
            if isScanning { receive(on: adapter, until: now + linger, &tree) }
        }
        let gone = max(known.prefix { $0.until <= now }.count, known.count - Self.maximumKnown)
        for (device, _) in known.prefix(gone) {
            tree.remove(device)
        }
        known.removeFirst(gone)
    }

    private mutating func receive(on adapter: String, until: ContinuousClock.Instant, _ tree: inout ObjectTree) {
        received += 1
        let (uuid, data) = Self.randomServiceData()
        let properties: ObjectTree.Properties = [
            "UUIDs": .strings([uuid]), "RSSI": .int16(.random(in: -100 ... -40)),
            "ServiceData": AdvertContent.serviceDataProperty([(uuid, data)]),
        ]
        let device = VirtualBluetoothDevice.random()
        tree.add(device.path(on: adapter), device.object(on: adapter, properties))
        known.append((device.path(on: adapter), until))
    }

    /// Returns random service data of a device.
    ///
    /// Most devices send 20 bytes with FIDO's UUID. Some use Google's UUID, and some add a suffix.
    private static func randomServiceData() -> (uuid: String, data: [UInt8]) {
        var random = SystemRandomNumberGenerator()
        var random20: (UInt64, UInt64, UInt32) = (random.next(), random.next(), random.next())
        let kind = UInt8.random(in: 0..<10)
        let data = withUnsafeBytes(of: &random20) { Array($0.prefix(20)) }
        return switch kind {
        case 0..<3: (AdvertContent.fullUUID("fde2"), data)
        // The suffix is a CBOR map with an L2CAP PSM, as in CTAP 2.3.
        case 3: (AdvertContent.fullUUID("fff9"), data + [0xA1, 0x01, 0x18, 0x80 | data[0]])
        default: (AdvertContent.fullUUID("fff9"), data)
        }
    }
}
