// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridCaBLE
import HybridDBus
import HybridPrimitives
import HybridThreads
import IntegrationTestSupport
import Testing

@testable import HybridVirtualBlueZ

@Suite("The virtual bluetoothd rejects what the real one rejects", .timeLimit(.minutes(10)))
struct VirtualBlueZTests {
    private static let manager = "org.bluez.LEAdvertisingManager1"

    /// Registers an advert with these properties from a separate connection, which is closed after `body`.
    private func register(
        _ properties: [String: BusValue],
        on testRadio: TestRadio,
        then body: (BusConnection) async throws -> Void = { _ in }
    ) async throws {
        let client = try await BusConnection.connect(to: testRadio.bus.busAddress) { call in
            call.member == "GetAll" ? .values([.properties(properties)]) : .unknownMethod
        }
        try await withCleanup {
            await client.close()
        } of: {
            try await call(client, "RegisterAdvertisement", [.objectPath("/advert"), .properties([:])])
            try await body(client)
        }
    }

    private func call(_ client: BusConnection, _ member: String, _ arguments: [BusValue]) async throws(BusError) {
        _ = try await client.call("org.bluez", "/org/bluez/hci0", Self.manager, member, arguments)
    }

    private func serviceData(_ count: Int) -> BusValue {
        .dictionary("s", "v", [BusEntry(.string("fff9"), .variant(.bytes(.init(repeating: 1, count: count))))])
    }

    private func expectRefusal(
        _ name: String,
        _ message: String? = nil,
        _ body: () async throws -> Void
    ) async {
        do {
            try await body()
            Issue.record("nothing was rejected")
        } catch BusError.refused(let actualName, let actualMessage) {
            #expect(actualName == name)
            if let message { #expect(actualMessage == message) }
        } catch {
            Issue.record(error)
        }
    }

    @Test("31 bytes are accepted, 32 are not")
    func length() async throws {
        try await TestRadio.run { testRadio in
            let fits: [String: BusValue] = ["Type": .string("broadcast"), "ServiceData": serviceData(27)]
            try await register(fits, on: testRadio)
            let tooLong: [String: BusValue] = ["Type": .string("broadcast"), "ServiceData": serviceData(28)]
            await expectRefusal("org.bluez.Error.Failed", "Failed to parse advertisement.") {
                try await register(tooLong, on: testRadio)
            }
            // A list of one UUID takes four more bytes.
            let peripheral: [String: BusValue] = [
                "Type": .string("peripheral"), "ServiceData": serviceData(23), "ServiceUUIDs": .strings(["fff9"]),
            ]
            try await register(peripheral, on: testRadio)
            let peripheralTooLong = peripheral.merging(["ServiceData": serviceData(24)]) { $1 }
            await expectRefusal("org.bluez.Error.Failed", "Failed to register advertisement") {
                try await register(peripheralTooLong, on: testRadio)
            }
        }
    }

    @Test(
        "An advert of unknown type or form is not parsed",
        arguments: [
            ["Type": BusValue.string("beacon")], ["Type": .byte(1)],
            ["Type": .string("broadcast"), "ServiceData": .string("x")],
            ["Type": .string("broadcast"), "ServiceData": .properties(["fff9": .string("x")])],
            ["Type": .string("broadcast"), "ServiceUUIDs": .byte(1)],
            ["Type": .string("broadcast"), "ManufacturerData": .byte(1)],
        ]
    )
    func unreadable(_ properties: [String: BusValue]) async throws {
        try await TestRadio.run { testRadio in
            await expectRefusal("org.bluez.Error.Failed", "Failed to parse advertisement.") {
                try await register(properties, on: testRadio)
            }
            try await testRadio.expectActive([])
        }
    }

    @Test("Registering twice, unregistering an unknown advert, advertising without an object")
    func misuse() async throws {
        let good: [String: BusValue] = ["Type": .string("broadcast"), "ServiceData": serviceData(20)]
        try await TestRadio.run { testRadio in
            try await register(good, on: testRadio) { client in
                await expectRefusal("org.bluez.Error.AlreadyExists") {
                    try await call(client, "RegisterAdvertisement", [.objectPath("/advert"), .properties([:])])
                }
                await expectRefusal("org.bluez.Error.DoesNotExist") {
                    try await call(client, "UnregisterAdvertisement", [.objectPath("/other")])
                }
                await expectRefusal("org.freedesktop.DBus.Error.UnknownMethod") {
                    try await call(client, "UnregisterAdvertisement", [.byte(1)])
                }
            }
            // bluetoothd treats an object that cannot be read as an empty advert and sends that.
            try await call(testRadio.connection, "RegisterAdvertisement", [.objectPath("/none"), .properties([:])])
            try await call(testRadio.connection, "UnregisterAdvertisement", [.objectPath("/none")])
            // The owner of the valid advert has disconnected.
            try await testRadio.untilActive([])
        }
    }

    @Test("A device appears, is updated and disappears")
    func deviceLife() async throws {
        try await TestRadio.run { testRadio in
            let (stream, sink) = AsyncStream.makeStream(of: BusMessage.self)
            _ = try await testRadio.connection.observe(["type='signal',sender='org.bluez'"]) { event in
                if case .signal(let signal) = event { sink.yield(signal) }
            }
            _ = try await testRadio.connection.call(
                "org.bluez",
                "/org/bluez/hci0",
                "org.bluez.Adapter1",
                "StartDiscovery"
            )
            let handle = try await testRadio.control.inject([UInt8](repeating: 1, count: 20))
            var device: String?
            var seen: [String] = []
            for await signal in stream {
                if signal.member == "InterfacesAdded" {
                    device = signal.body[0].text
                    seen.append("added")
                    #expect(signal.body[1].fields?["org.bluez.Device1"]?.fields?["AddressType"] == .string("random"))
                } else if signal.member == "PropertiesChanged", signal.path == device {
                    if seen.last == "added" {
                        seen.append("changed")
                        try await testRadio.control.remove(handle)
                    }
                } else if signal.member == "InterfacesRemoved" {
                    #expect(signal.body[0].text == device)
                    seen.append("removed")
                    break
                }
            }
            #expect(seen == ["added", "changed", "removed"])
        }
    }

    @Test("Only Powered can be set on an adapter")
    func properties() async throws {
        try await TestRadio.run { testRadio in
            func set(_ name: String, _ value: BusValue) async throws {
                _ = try await testRadio.connection.call(
                    "org.bluez",
                    "/org/bluez/hci0",
                    BusNames.properties,
                    "Set",
                    [.string("org.bluez.Adapter1"), .string(name), .variant(value)]
                )
            }
            try await set("Powered", .bool(false))
            await expectRefusal("org.bluez.Error.NotReady") {
                _ = try await testRadio.connection.call(
                    "org.bluez",
                    "/org/bluez/hci0",
                    "org.bluez.Adapter1",
                    "StartDiscovery"
                )
            }
            await expectRefusal("org.freedesktop.DBus.Error.InvalidSignature") {
                try await set("Powered", .string("on"))
            }
            await expectRefusal("org.freedesktop.DBus.Error.PropertyReadOnly") {
                try await set("Address", .string("x"))
            }
            await expectRefusal("org.freedesktop.DBus.Error.UnknownProperty") { try await set("None", .string("x")) }
        }
    }

    @Test("Scanning twice, stopping without a scan, unknown objects and methods")
    func scanning() async throws {
        try await TestRadio.run { testRadio in
            func call(_ path: String, _ member: String) async throws {
                _ = try await testRadio.connection.call("org.bluez", path, "org.bluez.Adapter1", member)
            }
            await expectRefusal("org.bluez.Error.Failed", "No discovery started") {
                try await call("/org/bluez/hci0", "StopDiscovery")
            }
            try await call("/org/bluez/hci0", "StartDiscovery")
            await expectRefusal("org.bluez.Error.InProgress") { try await call("/org/bluez/hci0", "StartDiscovery") }
            await expectRefusal("org.freedesktop.DBus.Error.UnknownObject") {
                try await call("/org/bluez/hci9", "StartDiscovery")
            }
            await expectRefusal("org.freedesktop.DBus.Error.UnknownMethod") {
                try await call("/org/bluez/hci0", "Fly")
            }
        }
    }

    @Test("bluetoothctl lists the adapters and shows one that is on")
    func bluetoothctl() async throws {
        try await TestRadio.run { testRadio in
            let list = try await run(["bluetoothctl", "list"], on: testRadio)
            #expect(list.contains("02:00:00:00:0F:00 virtual-hci0"))
            #expect(list.contains("02:00:00:00:0F:01 virtual-hci1"))
            let show = try await run(["bluetoothctl", "show", "02:00:00:00:0F:01"], on: testRadio)
            #expect(show.contains("Powered: yes"))
            #expect(show.contains("SupportedInstances: 0x05"))
        }
    }

    @Test("busctl lists and introspects the objects")
    func busctl() async throws {
        try await TestRadio.run { testRadio in
            let tree = try await run(
                ["busctl", "--address=" + testRadio.bus.address, "--list", "tree", "org.bluez"],
                on: testRadio
            )
            #expect(tree.contains("/org/bluez/hci1"))
            let object = try await run(
                ["busctl", "--address=" + testRadio.bus.address, "introspect", "org.bluez", "/org/bluez/hci0"],
                on: testRadio
            )
            #expect(object.contains("StartDiscovery"))
            #expect(object.contains("SupportedInstances"))
        }
    }

    /// Returns the output of a program.
    private func run(_ command: [String], on testRadio: TestRadio) async throws -> String {
        let (reader, writer) = try #require(SocketPair.make())
        defer { close(reader) }
        let child = try ChildProcess.spawn(
            command,
            variables: ["DBUS_SYSTEM_BUS_ADDRESS": testRadio.bus.address],
            input: .null,
            output: .descriptor(writer),
            error: .null
        )
        close(writer)
        let bytes = await DedicatedThread.run { () -> [UInt8] in
            var all: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(reader, &buffer, buffer.count)
                guard count > 0 else { return all }
                all += buffer.prefix(count)
            }
        }
        #expect(await child.wait() == .exited(0))
        return String(decoding: bytes, as: UTF8.self)
    }
}

@Suite("The private bus")
struct PrivateBusTests {
    @Test("Its directory belongs to this user and is removed afterwards")
    func directory() async throws {
        let bus = try await PrivateBus.start()
        let socket = String(bus.address.dropFirst("unix:path=".count))
        let directory = String(socket.dropLast("/bus".count))
        var status = stat()
        #expect(stat(directory, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o700)
        await bus.close()
        #expect(stat(directory, &status) != 0)
    }

    @Test("A missing dbus-daemon is reported with the package to install")
    func missingDaemon() {
        #expect(PrivateBusError.daemonMissing.sentence.contains("package dbus-daemon"))
    }
}
