// SPDX-License-Identifier: Apache-2.0

import HybridBLEAdvert
import HybridCaBLE
import HybridSystemBus
import HybridVirtualBlueZ
import Testing

@Suite("What is sent is heard, and nothing else", .timeLimit(.minutes(10)))
struct HearingTests {
    @Test("A scanner that was there first hears the advert byte for byte")
    func scannerFirst() async throws {
        let bytes = (0..<20).map { UInt8($0 * 7 + 1) }
        let sent = try #require(Advert(bytes: bytes))
        try await Bench.run { bench in
            try await bench.radio(.scanner, "hci1") { scanner in
                try await scanner.withScan { adverts in
                    try await bench.radio(.advertiser, "hci0") { phone in
                        try await phone.withAdvert(sent) { _ in
                            let heard = try await adverts.heard(until: sent)
                            #expect(heard.count == 1)
                            #expect(heard[0].advert.bytes == bytes)
                            #expect(heard[0].suffix.isEmpty)
                            #expect(heard[0].serviceUUID == .fido)
                            #expect(try #require(heard[0].rssi) < 0)
                        }
                    }
                }
            }
        }
    }

    @Test("An advert that was there first is heard by a later scanner")
    func advertFirst() async throws {
        let sent = try advert(1)
        try await Bench.run { bench in
            try await bench.radio(.advertiser, "hci0") { phone in
                try await phone.withAdvert(sent) { _ in
                    try await bench.untilActive([sent])
                    try await bench.radio(.scanner, "hci1") { scanner in
                        _ = try await scanner.withScan { try await $0.heard(until: sent) }
                    }
                }
            }
        }
    }

    @Test("A scan that was begun and never answered, as by bluetoothd 5.66, hears all the same")
    func unanswered() async throws {
        let sent = try advert(1)
        try await Bench.run { bench in
            try await bench.control.swallowNext("StartDiscovery")
            try await bench.radio(.advertiser, "hci0") { phone in
                try await phone.withAdvert(sent) { _ in
                    try await bench.radio(.scanner, "hci1") { scanner in
                        _ = try await scanner.withScan { try await $0.heard(until: sent) }
                    }
                }
            }
        }
    }

    @Test("A device that bluetoothd knew before the scan is looked at")
    func knownBefore() async throws {
        // Never refreshed: the second scanner can only have it from GetManagedObjects.
        let settings = AirSettings(firstSeen: .milliseconds(10), refresh: .seconds(3600))
        try await Bench.run(settings) { bench in
            _ = try await bench.control.inject([UInt8](repeating: 2, count: 20))
            try await bench.radio(.scanner) { first in
                try await first.withScan { adverts in
                    _ = try await adverts.heard(until: try advert(2))
                    try await bench.radio(.scanner) { second in
                        _ = try await second.withScan { try await $0.heard(until: try advert(2)) }
                    }
                }
            }
        }
    }

    @Test("Two scans after each other on one radio both hear")
    func scanTwice() async throws {
        try await Bench.run { bench in
            _ = try await bench.control.inject([UInt8](repeating: 3, count: 20))
            try await bench.radio(.scanner) { scanner in
                for _ in 0..<2 {
                    _ = try await scanner.withScan { try await $0.heard(until: try advert(3)) }
                }
            }
        }
    }

    @Test("Bytes after the twentieth come out as the suffix")
    func suffix() async throws {
        try await Bench.run { bench in
            _ = try await bench.control.inject([UInt8](repeating: 4, count: 20) + [0xA1, 0x01, 0x18, 0x82])
            try await bench.radio(.scanner) { scanner in
                let heard = try await scanner.withScan { try await $0.heard(until: try advert(4)) }
                #expect(heard.map(\.suffix) == [[0xA1, 0x01, 0x18, 0x82]])
            }
        }
    }

    @Test("Google's older UUID is heard as such")
    func googleUUID() async throws {
        try await Bench.run { bench in
            _ = try await bench.control.inject([UInt8](repeating: 5, count: 20), uuid: "fde2")
            try await bench.radio(.scanner) { scanner in
                let heard = try await scanner.withScan { try await $0.heard(until: try advert(5)) }
                #expect(heard.map(\.serviceUUID) == [.google])
            }
        }
    }

    @Test("Strangers' data and odd shapes are passed over")
    func junk() async throws {
        let good = BusEntry(.string(AdvertServiceUUID.fido.fullText), .variant(.bytes([1, 2, 3])))
        let shapes: [[String: BusValue]] = [
            [:],
            ["ServiceData": .string("text")],
            ["ServiceData": .bytes([1, 2, 3])],
            ["ServiceData": .dictionary("s", "v", [])],
            ["ServiceData": .dictionary("s", "v", [good])],
            ["ServiceData": .dictionary("q", "v", [BusEntry(.uint16(0xFFF9), .variant(.bytes(.init(0..<20))))])],
            [
                "ServiceData": .dictionary(
                    "s",
                    "v",
                    [BusEntry(.string(AdvertServiceUUID.fido.fullText), .variant(.string("not bytes")))]
                )
            ],
            ["RSSI": .string("loud"), "UUIDs": .int32(7)],
        ]
        try await Bench.run { bench in
            for shape in shapes {
                _ = try await bench.control.inject(properties: shape)
            }
            for length in [0, 1, 19, 255] {
                _ = try await bench.control.inject([UInt8](repeating: 9, count: length))
            }
            _ = try await bench.control.inject([UInt8](repeating: 9, count: 20), uuid: "fcf1")
            _ = try await bench.control.inject(
                [UInt8](repeating: 9, count: 20),
                uuid: "0000fff9-1111-2222-3333-444455556666"
            )
            try await bench.radio(.scanner) { scanner in
                try await scanner.withScan { adverts in
                    // By then all of the above have been told: they were on the air before.
                    _ = try await bench.control.inject([UInt8](repeating: 6, count: 20))
                    let heard = try await adverts.heard(until: try advert(6))
                    #expect(heard.count == 1)
                }
            }
        }
    }

    @Test("An odd signal strength does not cost the advert")
    func oddStrength() async throws {
        let data = BusEntry(
            .string("0000FFF9-0000-1000-8000-00805F9B34FB"),
            .variant(.bytes(.init(repeating: 7, count: 20)))
        )
        let service = BusValue.dictionary("s", "v", [data])
        for strength in [BusValue.string("loud"), .int16(127)] {
            try await Bench.run { bench in
                _ = try await bench.control.inject(properties: ["ServiceData": service, "RSSI": strength])
                try await bench.radio(.scanner) { scanner in
                    let heard = try await scanner.withScan { try await $0.heard(until: try advert(7)) }
                    #expect(heard.map(\.rssi) == [nil])
                }
            }
        }
    }

    @Test("The same bytes of the same device come at most once a second")
    func repetition() async throws {
        try await Bench.run { bench in
            _ = try await bench.control.inject([UInt8](repeating: 8, count: 20))
            try await bench.radio(.scanner) { scanner in
                // Before the first comes, so that a busy machine can't make the time look shorter than it was.
                let start = ContinuousClock.now
                try await scanner.withScan { adverts in
                    for _ in 0..<4 {
                        let heard = try await adverts.heard(until: try advert(8))
                        #expect(heard.count == 1)
                    }
                }
                #expect(ContinuousClock.now - start > .milliseconds(2800))
            }
        }
    }

    @Test("The one that is wanted is not pushed out by strangers that nobody takes in meanwhile")
    func pushedOut() async throws {
        let right = try advert(9)
        try await Bench.run { bench in
            try await bench.radio(.scanner, "hci0") { scanner in
                try await scanner.withScan(for: { $0.advert == right }) { adverts in
                    let handle = try await bench.control.inject(right.bytes)
                    // Told once: then it is taken off, and forgotten before the flood is over.
                    try await eventually { try await !bench.devices(of: "hci0").isEmpty }
                    try await bench.control.remove(handle)
                    try await bench.control.flood("hci0", rate: 2_000, seconds: 1)
                    try await eventually { try await bench.control.floodCount("hci0").heard > 1_000 }
                    #expect(try await adverts.heard(until: right).map(\.advert) == [right])
                }
            }
        }
    }

    @Test("An adapter without loopback does not hear itself")
    func noLoopback() async throws {
        var settings = Bench.quick
        settings.loopback = false
        try await Bench.run(settings) { bench in
            try await bench.radio(.advertiser, "hci0") { phone in
                try await phone.withAdvert(try advert(1)) { _ in
                    try await bench.radio(.scanner, "hci0") { scanner in
                        try await scanner.withScan { adverts in
                            _ = try await bench.control.inject([UInt8](repeating: 2, count: 20))
                            #expect(try await adverts.heard(until: try advert(2)).count == 1)
                        }
                    }
                }
            }
        }
    }

    @Test("A signal that is not bluetoothd's is not believed")
    func impostor() async throws {
        try await Bench.run { bench in
            try await bench.radio(.scanner, "hci0") { scanner in
                try await scanner.withScan { adverts in
                    let data = BusEntry(
                        .string(AdvertServiceUUID.fido.fullText),
                        .variant(.bytes(.init(repeating: 1, count: 20)))
                    )
                    let device = BusValue.properties(["ServiceData": .dictionary("s", "v", [data])])
                    let interfaces = BusValue.dictionary(
                        "s",
                        "a{sv}",
                        [BusEntry(.string("org.bluez.Device1"), device)]
                    )
                    let path = BusValue.objectPath("/org/bluez/hci0/dev_C0_00_00_00_00_01")
                    bench.connection.emit("/", BusNames.objectManager, "InterfacesAdded", [path, interfaces])
                    // Adapter off, says somebody.
                    bench.connection.emit(
                        "/org/bluez/hci0",
                        BusNames.properties,
                        "PropertiesChanged",
                        [.string("org.bluez.Adapter1"), .properties(["Powered": .bool(false)]), .strings([])]
                    )
                    _ = try await bench.control.inject([UInt8](repeating: 2, count: 20))
                    #expect(try await adverts.heard(until: try advert(2)).count == 1)
                }
            }
        }
    }

    @Test("Cancelling ends a scan that hears nothing, and discovery with it")
    func cancelScan() async throws {
        try await Bench.run { bench in
            try await bench.radio(.scanner, "hci0") { scanner in
                await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await scanner.withScan { adverts in
                            for try await _ in adverts {}
                        }
                    }
                    try? await eventually { try await bench.isDiscovering("hci0") }
                    group.cancelAll()
                    try? await group.waitForAll()
                }
                let isDiscovering = try await bench.isDiscovering("hci0")
                #expect(!isDiscovering)
            }
        }
    }
}

extension Bench {
    /// Paths of the devices that an adapter knows.
    func devices(of adapter: String) async throws -> [String] {
        let objects = try await connection.call("org.bluez", "/", BusNames.objectManager, "GetManagedObjects")
        return (objects.first?.fields ?? [:]).keys.filter { $0.hasPrefix("/org/bluez/\(adapter)/") }
    }

    func isDiscovering(_ adapter: String) async throws -> Bool {
        let arguments: [BusValue] = [.string("org.bluez.Adapter1"), .string("Discovering")]
        let answer = try await connection.call(
            "org.bluez",
            "/org/bluez/" + adapter,
            BusNames.properties,
            "Get",
            arguments
        )
        return answer.first?.flag == true
    }
}
