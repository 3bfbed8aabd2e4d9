// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridDBus
import HybridVirtualBlueZ
import IntegrationTestSupport
import Testing

@testable import HybridBLEAdvert

@Suite("Each failure of the radio has its own error", .timeLimit(.minutes(10)))
struct RadioErrorTests {
    private let hci0: AdapterName
    private let hci1: AdapterName

    init() throws {
        hci0 = try #require(AdapterName("hci0"))
        hci1 = try #require(AdapterName("hci1"))
    }

    @Test("No bus at the address")
    func noBus() async {
        for address in ["unix:path=/nonexistent/bus", "nonsense", "unix:path=/dev/null"] {
            let error = await radioError {
                _ = try await BluetoothRadio.open(adapter: nil, for: .scanner, on: BusAddress(address))
            }
            #expect(error == .noSystemBus)
        }
    }

    @Test("A bus without bluetoothd")
    func noService() async throws {
        try await PrivateBus.run { bus in
            let error = await radioError {
                _ = try await BluetoothRadio.open(adapter: nil, for: .scanner, on: bus.busAddress)
            }
            #expect(error == .noBluetoothService)
        }
    }

    @Test("A bluetoothd without adapters, or with malformed replies")
    func noAdapter() async throws {
        let answers: [(BusValue, RadioError)] = [
            (.dictionary("o", "a{sa{sv}}", []), .noAdapter),
            (.string("nonsense"), .noAdapter),
        ]
        for (answer, expected) in answers {
            try await PrivateBus.run { bus in
                let service = try await BusConnection.connect(to: bus.busAddress) { _ in .values([answer]) }
                #expect(try await service.requestName("org.bluez"))
                let error = await radioError {
                    _ = try await BluetoothRadio.open(adapter: nil, for: .scanner, on: bus.busAddress)
                }
                #expect(error == expected)
                await service.close()
            }
        }
    }

    @Test("An adapter that does not exist")
    func notFound() async throws {
        let hci7 = try #require(AdapterName("hci7"))
        try await TestRadio.run { testRadio in
            for role in [BluetoothRadio.Role.advertiser, .scanner] {
                #expect(await radioError { _ = try await testRadio.open(role, "hci7") } == .adapterNotFound(hci7))
            }
        }
    }

    @Test("An adapter that is off, named or not, before and after opening")
    func off() async throws {
        try await TestRadio.run { testRadio in
            let radio = try await testRadio.open(.scanner, "hci0")
            try await testRadio.control.setPowered("hci0", false)
            #expect(await radioError { _ = try await testRadio.open(.scanner, "hci0") } == .adapterOff(hci0))
            #expect(try await testRadio.radio(.scanner) { $0.adapter } == hci1)
            #expect(await radioError { try await radio.withScan { _ in } } == .adapterOff(hci0))
            #expect(await radioError { try await radio.withAdvert(try advert(1)) { _ in } } == .adapterOff(hci0))
            try await testRadio.control.setPowered("hci1", false)
            #expect(await radioError { _ = try await testRadio.open(.advertiser) } == .adapterOff(hci0))
            await radio.close()
        }
    }

    @Test("An adapter without Bluetooth Low Energy is skipped, and named if there is no other")
    func noLowEnergy() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.control.setRoles("hci0", [])
            for role in [BluetoothRadio.Role.scanner, .advertiser] {
                #expect(try await testRadio.radio(role) { $0.adapter } == hci1)
                #expect(await radioError { _ = try await testRadio.open(role, "hci0") } == .noLowEnergy(hci0))
            }
            try await testRadio.control.setPowered("hci1", false)
            #expect(await radioError { _ = try await testRadio.open(.scanner) } == .adapterOff(hci1))
            try await testRadio.control.setRoles("hci1", [])
            #expect(await radioError { _ = try await testRadio.open(.scanner) } == .noLowEnergy(hci0))
        }
    }

    @Test("A plain Failed while the adapter is off means that it is off")
    func failedBecauseOff() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.scanner, "hci0") { radio in
                try await testRadio.control.setPowered("hci0", false)
                try await testRadio.control.failNext(
                    "StartDiscovery",
                    name: "org.bluez.Error.Failed",
                    message: "Failed"
                )
                try await testRadio.control.failNext(
                    "SetDiscoveryFilter",
                    name: "org.bluez.Error.Failed",
                    message: "no"
                )
                #expect(await radioError { try await radio.withScan { _ in } } == .adapterOff(hci0))
            }
        }
    }

    @Test("Turning the adapter off ends the sequence of a scan")
    func offWhileScanning() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.scanner, "hci0") { radio in
                let error = await radioError {
                    try await radio.withScan { adverts in
                        try await testRadio.control.setPowered("hci0", false)
                        for try await _ in adverts {}
                    }
                }
                #expect(error == .adapterOff(hci0))
            }
        }
    }

    @Test("Turning the adapter off while advertising is reported")
    func offWhileAdvertising() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser, "hci0") { radio in
                try await radio.withAdvert(try advert(1)) { active in
                    try await testRadio.control.setPowered("hci0", false)
                    #expect(await active.waitUntilGone() == .adapterOff(hci0))
                }
            }
        }
    }

    @Test("An operation that the bus or bluetoothd denies to this user")
    func notPermitted() async throws {
        try await TestRadio.run { testRadio in
            let denied = "org.freedesktop.DBus.Error.AccessDenied"
            try await testRadio.control.failNext("GetManagedObjects", name: denied, message: "Rejected")
            #expect(await radioError { _ = try await testRadio.open(.scanner) } == .notPermitted("Rejected"))
            try await testRadio.radio(.scanner) { radio in
                try await testRadio.control.failNext("RegisterAdvertisement", name: denied, message: "Rejected")
                let advertising = await radioError { try await radio.withAdvert(try advert(1)) { _ in } }
                #expect(advertising == .notPermitted("Rejected"))
                try await testRadio.control.failNext(
                    "StartDiscovery",
                    name: "org.bluez.Error.NotAuthorized",
                    message: "x"
                )
                #expect(await radioError { try await radio.withScan { _ in } } == .notPermitted("x"))
            }
        }
    }

    @Test("No free slot on the named adapter; without a name, one with a free slot is chosen")
    func slots() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.control.setSlots("hci0", 1)
            try await testRadio.radio(.advertiser, "hci0") { first in
                try await first.withAdvert(try advert(1)) { _ in
                    try await testRadio.radio(.advertiser, "hci0") { second in
                        let error = await radioError { try await second.withAdvert(try advert(2)) { _ in } }
                        #expect(error == .noFreeAdvertisingSlot(hci0))
                    }
                    #expect(try await testRadio.radio(.advertiser) { $0.adapter } == hci1)
                }
                #expect(try await testRadio.radio(.advertiser) { $0.adapter } == hci0)
            }
        }
    }

    @Test("bluetoothd disappears during a scan")
    func goneWhileScanning() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.scanner) { radio in
                let error = await radioError {
                    try await radio.withScan { adverts in
                        try await testRadio.control.stopService()
                        for try await _ in adverts {}
                    }
                }
                #expect(error == .bluetoothServiceGone)
                #expect(await radioError { try await radio.withScan { _ in } } == .bluetoothServiceGone)
                #expect(
                    await radioError { try await radio.withAdvert(try advert(1)) { _ in } } == .bluetoothServiceGone
                )
            }
            #expect(await radioError { _ = try await testRadio.open(.scanner) } == .noBluetoothService)
            try await testRadio.control.startService()
            _ = try await testRadio.control.inject([UInt8](repeating: 3, count: 20))
            try await testRadio.radio(.scanner) { radio in
                _ = try await radio.withScan { try await $0.received(until: try advert(3)) }
            }
        }
    }

    @Test("bluetoothd turns its adapters off before it exits, and the exit is reported")
    func endsOrderly() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser, "hci0") { radio in
                try await radio.withAdvert(try advert(1)) { active in
                    try await testRadio.control.setPowered("hci0", false)
                    try await testRadio.control.stopService()
                    #expect(await active.waitUntilGone() == .bluetoothServiceGone)
                }
            }
            try await testRadio.control.startService()
            try await testRadio.control.setPowered("hci0", true)
            try await testRadio.radio(.scanner, "hci0") { radio in
                let error = await radioError {
                    try await radio.withScan { adverts in
                        try await testRadio.control.setPowered("hci0", false)
                        try await testRadio.control.stopService()
                        for try await _ in adverts {}
                    }
                }
                #expect(error == .bluetoothServiceGone)
            }
        }
    }

    @Test("bluetoothd disappears while advertising")
    func goneWhileAdvertising() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser) { radio in
                try await radio.withAdvert(try advert(1)) { active in
                    try await testRadio.control.stopService()
                    #expect(await active.waitUntilGone() == .bluetoothServiceGone)
                }
            }
        }
    }

    @Test("The bus itself ends during a scan")
    func busEnds() async throws {
        let bus = try await PrivateBus.start()
        let error = await radioError {
            try await VirtualBlueZ.serve(on: bus.busAddress, TestRadio.fast) {
                let radio = try await BluetoothRadio.open(adapter: nil, for: .scanner, on: bus.busAddress)
                try await radio.withScan { adverts in
                    await bus.close()
                    for try await _ in adverts {}
                }
            }
        }
        #expect(error == .bluetoothServiceGone)
    }

    @Test("Any other error keeps bluetoothd's message on one line")
    func otherErrors() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser) { radio in
                try await testRadio.control.failNext(
                    "RegisterAdvertisement",
                    name: "org.bluez.Error.Odd",
                    message: "two\nlines\u{1B}[31m\u{202E}"
                )
                let error = await radioError { try await radio.withAdvert(try advert(1)) { _ in } }
                #expect(error == .failed("org.bluez.Error.Odd: two lines [31m "))
            }
        }
    }

    @Test("Errors of the bus are mapped")
    func meanings() {
        #expect(RadioError(.timedOut) == .timedOut)
        #expect(RadioError(.timedOut, adapter: hci0) == .timedOut)
        #expect(RadioError(.disconnected) == .noSystemBus)
        #expect(RadioError(.disconnected, adapter: hci0) == .bluetoothServiceGone)
        let start = BusError.refused(name: "org.freedesktop.DBus.Error.Spawn.ChildExited", message: "")
        #expect(RadioError(start) == .noBluetoothService)
        let unit = BusError.refused(name: "org.freedesktop.systemd1.NoSuchUnit", message: "")
        #expect(RadioError(unit) == .noBluetoothService)
        let blocked = BusError.refused(name: "org.bluez.Error.Blocked", message: "Blocked through rfkill")
        #expect(RadioError(blocked, adapter: hci1) == .adapterOff(hci1))
        let tooLong = BusError.refused(name: "org.bluez.Error.NotPermitted", message: "Advertising data too long")
        #expect(
            RadioError(tooLong, adapter: hci1) == .failed("org.bluez.Error.NotPermitted: Advertising data too long")
        )
    }

    @Test("dbus-daemon's long rejection is cut at the semicolon")
    func longRefusal() {
        let message = #"Rejected send message, 3 matched rules; type="method_call", sender=":1.5" (uid=1000); more"#
        let error = RadioError(.refused(name: "org.freedesktop.DBus.Error.AccessDenied", message: message))
        #expect(error == .notPermitted("Rejected send message, 3 matched rules"))
        #expect(error.sentence.split(separator: ";").count == 2)
    }

    @Test("Every sentence is one line without a period")
    func sentences() {
        let all: [RadioError] = [
            .noSystemBus, .noBluetoothService, .noAdapter, .adapterNotFound(hci0), .adapterOff(hci0),
            .notPermitted("words"), .noFreeAdvertisingSlot(hci0), .bluetoothServiceGone, .timedOut, .failed("words"),
        ]
        #expect(Set(all.map(\.sentence)).count == all.count)
        for error in all {
            #expect(!error.sentence.contains("\n"))
            #expect(!error.sentence.hasSuffix("."))
        }
        #expect(RadioError.adapterOff(hci0).sentence.contains("rfkill unblock bluetooth"))
    }
}

@Suite("Names and selection of adapters")
struct AdapterTests {
    @Test(
        "Invalid names",
        arguments: ["", "hci", "hci-1", "hci01", "hci 1", "HCI0", "hci0/dev", "hci65536", "hci+1"]
    )
    func badNames(_ text: String) {
        #expect(AdapterName(text) == nil)
    }

    @Test("Valid names", arguments: ["hci0", "hci10", "hci65535"])
    func goodNames(_ text: String) {
        #expect(AdapterName(text)?.text == text)
    }

    private func objects(_ adapters: [(String, powered: Bool, slots: UInt8?)]) -> BusValue {
        let entries = adapters.map { path, powered, slots in
            var interfaces = [BusEntry(.string("org.bluez.Adapter1"), .properties(["Powered": .bool(powered)]))]
            if let slots {
                let manager = BusValue.properties(["SupportedInstances": .byte(slots)])
                interfaces.append(BusEntry(.string("org.bluez.LEAdvertisingManager1"), manager))
            }
            return BusEntry(.objectPath(path), .dictionary("s", "a{sv}", interfaces))
        }
        return .dictionary("o", "a{sa{sv}}", entries)
    }

    private func choose(
        _ adapters: [(String, powered: Bool, slots: UInt8?)],
        _ role: BluetoothRadio.Role
    ) throws(RadioError) -> String {
        try AdapterState.choose(from: AdapterState.all(in: objects(adapters)), named: nil, for: role).text
    }

    @Test("hci2 precedes hci10, and an adapter that is off is skipped")
    func order() throws {
        let adapters: [(String, powered: Bool, slots: UInt8?)] = [
            ("/org/bluez/hci10", true, 5), ("/org/bluez/hci2", true, 5), ("/org/bluez/hci1", false, 5),
            ("/org/bluez/hci2/dev_00", true, 5), ("/somewhere/hci0", true, 5),
        ]
        #expect(try choose(adapters, .scanner) == "hci2")
    }

    @Test("An advertiser uses an adapter that can advertise, preferably one with a free slot")
    func slots() throws {
        let adapters: [(String, powered: Bool, slots: UInt8?)] = [
            ("/org/bluez/hci0", true, nil), ("/org/bluez/hci1", true, 0), ("/org/bluez/hci2", true, 1),
        ]
        #expect(try choose(adapters, .advertiser) == "hci2")
        #expect(try choose(Array(adapters.prefix(2)), .advertiser) == "hci1")
        #expect(try choose(adapters, .scanner) == "hci0")
        #expect(throws: RadioError.failed("no adapter that is on can advertise")) {
            try choose(Array(adapters.prefix(1)), .advertiser)
        }
    }

    @Test("A radio on a private bus is virtual")
    func virtual() async throws {
        try await TestRadio.run { testRadio in
            let isVirtual = try await testRadio.radio(.scanner) { $0.isVirtual }
            #expect(isVirtual)
        }
    }
}
