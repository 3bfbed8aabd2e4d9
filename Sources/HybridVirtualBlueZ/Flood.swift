// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

/// Strangers' phones by the thousand, all heard by one adapter: each advert comes from an address of its own.
///
/// Where each is one more device, as it would be to bluetoothd. They go after `linger`, and the oldest go before
/// that where more than `mostKnown` would be known: bluetoothd has no such bound, but a test's machine has.
struct Flood: Sendable {
    /// Most adverts a second.
    static let fastest = 4_000
    /// Longest flood, in seconds.
    static let longest = 3_600
    /// Most adverts sent in one beat, so that calls are answered also where a machine cannot keep up.
    static let mostAtOnce = 100
    /// Most devices of one flood that are known at one time.
    static let mostKnown = 512

    private let rate: Int
    private let total: Int
    private let begun: ContinuousClock.Instant
    /// How many adverts have been on the air.
    private(set) var sent = 0
    /// How many of them came to an adapter that scanned.
    private(set) var heard = 0
    /// Paths of the devices known and when they go, oldest first; those before `firstKnown` are gone.
    private var known: [(device: String, until: ContinuousClock.Instant)] = []
    private var firstKnown = 0

    /// Starts one of `rate` adverts a second for so many seconds; `nil` if that is out of bounds.
    init?(rate: Int, seconds: Int, now: ContinuousClock.Instant) {
        guard (0...Self.fastest).contains(rate), (0...Self.longest).contains(seconds) else { return nil }
        self.rate = rate
        total = rate * seconds
        begun = now
    }

    /// Paths of the devices that are known.
    var devices: [String] { known[firstKnown...].map(\.device) }

    /// Forgets the devices, which somebody else removes.
    mutating func forgetDevices() {
        known = []
        firstKnown = 0
    }

    /// Lets time pass: what is due by now is sent, also what an earlier beat was too late for, up to a bound.
    mutating func advance(
        to now: ContinuousClock.Instant,
        on adapter: String,
        isScanning: Bool,
        linger: Duration,
        _ tree: inout ObjectTree
    ) {
        let elapsed = (now - begun) / .milliseconds(1)
        let due = elapsed >= Double(Self.longest) * 1_000 ? total : min(total, Int(elapsed * Double(rate) / 1_000))
        let until = min(due, sent + Self.mostAtOnce)
        while sent < until {
            sent += 1
            if isScanning { hear(on: adapter, until: now + linger, &tree) }
        }
        while firstKnown < known.count {
            guard known[firstKnown].until <= now || known.count - firstKnown > Self.mostKnown else { break }
            tree.remove(known[firstKnown].device)
            firstKnown += 1
        }
        if firstKnown > Self.mostKnown {
            known.removeFirst(firstKnown)
            firstKnown = 0
        }
    }

    private mutating func hear(on adapter: String, until: ContinuousClock.Instant, _ tree: inout ObjectTree) {
        heard += 1
        let (uuid, data) = Self.stranger()
        let properties: ObjectTree.Properties = [
            "UUIDs": .strings([uuid]), "RSSI": .int16(.random(in: -100 ... -40)),
            "ServiceData": AdvertContent.serviceDataProperty([(uuid, data)]),
        ]
        let address = DeviceAddress.random()
        let device = address.path(on: adapter)
        tree.add(device, address.device(on: adapter, properties))
        known.append((device, until))
    }

    /// What one of the strangers says: mostly 20 bytes under FIDO's UUID, some under Google's, some with a suffix.
    private static func stranger() -> (uuid: String, data: [UInt8]) {
        var random = SystemRandomNumberGenerator()
        var words: (UInt64, UInt64, UInt32) = (random.next(), random.next(), random.next())
        let kind = UInt8.random(in: 0..<10)
        let data = withUnsafeBytes(of: &words) { Array($0.prefix(20)) }
        return switch kind {
        case 0..<3: (AdvertContent.fullUUID("fde2"), data)
        // A CBOR map that names a channel's number, as CTAP 2.3 has it.
        case 3: (AdvertContent.fullUUID("fff9"), data + [0xA1, 0x01, 0x18, 0x80 | data[0]])
        default: (AdvertContent.fullUUID("fff9"), data)
        }
    }
}
