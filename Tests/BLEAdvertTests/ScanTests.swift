// SPDX-License-Identifier: Apache-2.0

import HybridBLEAdvert
import HybridCaBLE
import HybridDBus
import HybridPrimitives
import HybridVirtualBlueZ
import IntegrationTestSupport
import Testing

@Suite("Scanning", .timeLimit(.minutes(10)))
struct ScanTests {
    @Test("receives an advert that starts later byte for byte")
    func scannerFirst() async throws {
        let bytes = (0..<20).map { UInt8($0 * 7 + 1) }
        let sent = try #require(Advert(bytes: bytes))
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.scanner, "hci1") { scanner in
                try await scanner.withScan { adverts in
                    try await testRadio.radio(.advertiser, "hci0") { phone in
                        try await phone.withAdvert(sent) { _ in
                            let received = try await adverts.received(until: sent)
                            #expect(received.count == 1)
                            #expect(received[0].advert.bytes == bytes)
                            #expect(received[0].suffix.isEmpty)
                            #expect(received[0].serviceUUID == .fido)
                            #expect(try #require(received[0].rssi) < 0)
                        }
                    }
                }
            }
        }
    }

    @Test("receives an advert that started earlier")
    func advertFirst() async throws {
        let sent = try advert(1)
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser, "hci0") { phone in
                try await phone.withAdvert(sent) { _ in
                    try await testRadio.untilActive([sent])
                    try await testRadio.radio(.scanner, "hci1") { scanner in
                        _ = try await scanner.withScan { try await $0.received(until: sent) }
                    }
                }
            }
        }
    }

    @Test("works if StartDiscovery gets no reply, as with bluetoothd 5.66")
    func unanswered() async throws {
        let sent = try advert(1)
        try await TestRadio.run { testRadio in
            try await testRadio.control.swallowNext("StartDiscovery")
            try await testRadio.radio(.advertiser, "hci0") { phone in
                try await phone.withAdvert(sent) { _ in
                    try await testRadio.radio(.scanner, "hci1") { scanner in
                        _ = try await scanner.withScan { try await $0.received(until: sent) }
                    }
                }
            }
        }
    }

    @Test("starts although bluetoothd refuses at first", arguments: ["InProgress", "NotReady", "Failed"])
    func busy(name: String) async throws {
        let sent = try advert(1)
        try await TestRadio.run { testRadio in
            for method in ["SetDiscoveryFilter", "StartDiscovery", "StartDiscovery"] {
                try await testRadio.control.failNext(method, name: "org.bluez.Error.\(name)", message: "later")
            }
            _ = try await testRadio.control.inject(sent.bytes)
            try await testRadio.radio(.scanner) { scanner in
                let refusals = Refusals()
                let received = try await scanner.withScan(retrying: refusals.add) { adverts in
                    try await adverts.received(until: sent)
                }
                #expect(received.count == 1)
                let isBusy = name != "Failed"
                #expect(refusals.all.map(\.code) == [isBusy ? "bluetooth-busy" : "bluetooth-failed"])
            }
        }
    }

    @Test("starts although bluetoothd keeps an earlier discovery of this client that has failed")
    func keptDiscovery() async throws {
        let sent = try advert(1)
        try await TestRadio.run { testRadio in
            _ = try await testRadio.control.inject(sent.bytes)
            try await testRadio.radio(.scanner, "hci0") { scanner in
                try await scanner.withScan { _ in
                    _ = try await scanner.withScan { try await $0.received(until: sent) }
                }
            }
        }
    }

    @Test("continues after discovery has stopped underneath it")
    func stopped() async throws {
        let sent = try advert(1)
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.scanner, "hci0") { scanner in
                try await scanner.withScan { adverts in
                    let halt = ContinuousClock.now
                    try await testRadio.control.haltDiscovery("hci0")
                    _ = try await testRadio.control.inject(sent.bytes)
                    _ = try await adverts.received(until: sent)
                    #expect(ContinuousClock.now - halt > .seconds(5), "bluetoothd itself pauses for 5 s")
                }
            }
        }
    }

    @Test("tries again soon if bluetoothd refuses to start stopped discovery again")
    func stoppedAndBusy() async throws {
        let sent = try advert(1)
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.scanner, "hci0") { scanner in
                try await scanner.withScan { adverts in
                    let halt = ContinuousClock.now
                    for _ in 0..<3 {
                        let name = "org.bluez.Error.InProgress"
                        try await testRadio.control.failNext("StartDiscovery", name: name, message: "later")
                    }
                    try await testRadio.control.haltDiscovery("hci0")
                    _ = try await testRadio.control.inject(sent.bytes)
                    _ = try await adverts.received(until: sent)
                    // One pause of 8 s, not four. All else can take long on a busy machine.
                    #expect(ContinuousClock.now - halt < .seconds(32))
                }
            }
        }
    }

    @Test("includes devices that bluetoothd knew before")
    func knownBefore() async throws {
        // Never refreshed, so the second scanner can find it only through GetManagedObjects.
        let settings = AirSettings(firstSeen: .milliseconds(10), refresh: .seconds(3600))
        try await TestRadio.run(settings) { testRadio in
            _ = try await testRadio.control.inject([UInt8](repeating: 2, count: 20))
            try await testRadio.radio(.scanner) { first in
                try await first.withScan { adverts in
                    _ = try await adverts.received(until: try advert(2))
                    try await testRadio.radio(.scanner) { second in
                        _ = try await second.withScan { try await $0.received(until: try advert(2)) }
                    }
                }
            }
        }
    }

    @Test("can be repeated on the same radio")
    func scanTwice() async throws {
        try await TestRadio.run { testRadio in
            _ = try await testRadio.control.inject([UInt8](repeating: 3, count: 20))
            try await testRadio.radio(.scanner) { scanner in
                for _ in 0..<2 {
                    _ = try await scanner.withScan { try await $0.received(until: try advert(3)) }
                }
            }
        }
    }

    @Test("reports the bytes after the twentieth as the suffix")
    func suffix() async throws {
        try await TestRadio.run { testRadio in
            _ = try await testRadio.control.inject([UInt8](repeating: 4, count: 20) + [0xA1, 0x01, 0x18, 0x82])
            try await testRadio.radio(.scanner) { scanner in
                let received = try await scanner.withScan { try await $0.received(until: try advert(4)) }
                #expect(received.map(\.suffix) == [[0xA1, 0x01, 0x18, 0x82]])
            }
        }
    }

    @Test("reports Google's older UUID")
    func googleUUID() async throws {
        try await TestRadio.run { testRadio in
            _ = try await testRadio.control.inject([UInt8](repeating: 5, count: 20), uuid: "fde2")
            try await testRadio.radio(.scanner) { scanner in
                let received = try await scanner.withScan { try await $0.received(until: try advert(5)) }
                #expect(received.map(\.serviceUUID) == [.google])
            }
        }
    }

    @Test("skips unrelated and malformed data")
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
        try await TestRadio.run { testRadio in
            for shape in shapes {
                _ = try await testRadio.control.inject(properties: shape)
            }
            for length in [0, 1, 19, 255] {
                _ = try await testRadio.control.inject([UInt8](repeating: 9, count: length))
            }
            _ = try await testRadio.control.inject([UInt8](repeating: 9, count: 20), uuid: "fcf1")
            _ = try await testRadio.control.inject(
                [UInt8](repeating: 9, count: 20),
                uuid: "0000fff9-1111-2222-3333-444455556666"
            )
            try await testRadio.radio(.scanner) { scanner in
                try await scanner.withScan { adverts in
                    // All of the above have been reported by then, because they were sent before.
                    _ = try await testRadio.control.inject([UInt8](repeating: 6, count: 20))
                    let received = try await adverts.received(until: try advert(6))
                    #expect(received.count == 1)
                }
            }
        }
    }

    @Test("ignores an invalid signal strength")
    func oddStrength() async throws {
        let data = BusEntry(
            .string("0000FFF9-0000-1000-8000-00805F9B34FB"),
            .variant(.bytes(.init(repeating: 7, count: 20)))
        )
        let service = BusValue.dictionary("s", "v", [data])
        for strength in [BusValue.string("loud"), .int16(127)] {
            try await TestRadio.run { testRadio in
                _ = try await testRadio.control.inject(properties: ["ServiceData": service, "RSSI": strength])
                try await testRadio.radio(.scanner) { scanner in
                    let received = try await scanner.withScan { try await $0.received(until: try advert(7)) }
                    #expect(received.map(\.rssi) == [nil])
                }
            }
        }
    }

    @Test("reports the same bytes of the same device at most once a second")
    func repetition() async throws {
        try await TestRadio.run { testRadio in
            _ = try await testRadio.control.inject([UInt8](repeating: 8, count: 20))
            try await testRadio.radio(.scanner) { scanner in
                // Measured before the first, so that a busy computer cannot make the time appear shorter.
                let start = ContinuousClock.now
                try await scanner.withScan { adverts in
                    for _ in 0..<4 {
                        let received = try await adverts.received(until: try advert(8))
                        #expect(received.count == 1)
                    }
                }
                #expect(ContinuousClock.now - start > .milliseconds(2800))
            }
        }
    }

    @Test("keeps the wanted advert while unrelated ones arrive and no task reads")
    func pushedOut() async throws {
        let right = try advert(9)
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.scanner, "hci0") { scanner in
                try await scanner.withScan(for: { $0.advert == right }) { adverts in
                    let handle = try await testRadio.control.inject(right.bytes)
                    // Reported once, then removed and forgotten before the end of the flood.
                    try await eventually { try await !testRadio.devices(of: "hci0").isEmpty }
                    try await testRadio.control.remove(handle)
                    try await testRadio.control.flood("hci0", rate: 2_000, seconds: 1)
                    try await eventually { try await testRadio.control.floodCount("hci0").received > 1_000 }
                    #expect(try await adverts.received(until: right).map(\.advert) == [right])
                }
            }
        }
    }

    @Test("does not receive the adapter's own adverts without loopback")
    func noLoopback() async throws {
        var settings = TestRadio.fast
        settings.loopback = false
        try await TestRadio.run(settings) { testRadio in
            try await testRadio.radio(.advertiser, "hci0") { phone in
                try await phone.withAdvert(try advert(1)) { _ in
                    try await testRadio.radio(.scanner, "hci0") { scanner in
                        try await scanner.withScan { adverts in
                            _ = try await testRadio.control.inject([UInt8](repeating: 2, count: 20))
                            #expect(try await adverts.received(until: try advert(2)).count == 1)
                        }
                    }
                }
            }
        }
    }

    @Test("ignores signals of other programs than bluetoothd")
    func impostor() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.scanner, "hci0") { scanner in
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
                    testRadio.connection.emit("/", BusNames.objectManager, "InterfacesAdded", [path, interfaces])
                    // A forged report that the adapter is off.
                    testRadio.connection.emit(
                        "/org/bluez/hci0",
                        BusNames.properties,
                        "PropertiesChanged",
                        [.string("org.bluez.Adapter1"), .properties(["Powered": .bool(false)]), .strings([])]
                    )
                    _ = try await testRadio.control.inject([UInt8](repeating: 2, count: 20))
                    #expect(try await adverts.received(until: try advert(2)).count == 1)
                }
            }
        }
    }

    @Test("and discovery end when the task is cancelled")
    func cancelScan() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.scanner, "hci0") { scanner in
                await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await scanner.withScan { adverts in
                            for try await _ in adverts {}
                        }
                    }
                    try? await eventually { try await testRadio.isDiscovering("hci0") }
                    group.cancelAll()
                    try? await group.waitForAll()
                }
                let isDiscovering = try await testRadio.isDiscovering("hci0")
                #expect(!isDiscovering)
            }
        }
    }
}

extension TestRadio {
    /// Returns the paths of the devices that an adapter knows.
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
