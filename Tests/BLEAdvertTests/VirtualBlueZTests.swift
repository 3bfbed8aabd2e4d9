// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridCaBLE
import HybridSystemBus
import HybridThreads
import Testing

@testable import HybridVirtualBlueZ

@Suite("The virtual bluetoothd refuses what the real one refuses", .timeLimit(.minutes(10)))
struct VirtualBlueZTests {
    private static let manager = "org.bluez.LEAdvertisingManager1"

    /// Registers an advert with these properties, from a connection of its own, and leaves the bus.
    private func register(
        _ properties: [String: BusValue],
        on bench: Bench,
        then body: (BusConnection) async throws -> Void = { _ in }
    ) async throws {
        let client = try await BusConnection.connect(to: bench.bus.busAddress) { call in
            call.member == "GetAll" ? .values([.properties(properties)]) : .unknownMethod
        }
        do {
            try await call(client, "RegisterAdvertisement", [.objectPath("/advert"), .properties([:])])
            try await body(client)
            await client.close()
        } catch {
            await client.close()
            throw error
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
        _ words: String? = nil,
        _ body: () async throws -> Void
    ) async {
        do {
            try await body()
            Issue.record("nothing was refused")
        } catch BusError.refused(let refusal, let message) {
            #expect(refusal == name)
            if let words { #expect(message == words) }
        } catch {
            Issue.record(error)
        }
    }

    @Test("31 bytes pass, 32 do not")
    func length() async throws {
        try await Bench.run { bench in
            let fits: [String: BusValue] = ["Type": .string("broadcast"), "ServiceData": serviceData(27)]
            try await register(fits, on: bench)
            let tooLong: [String: BusValue] = ["Type": .string("broadcast"), "ServiceData": serviceData(28)]
            await expectRefusal("org.bluez.Error.Failed", "Failed to parse advertisement.") {
                try await register(tooLong, on: bench)
            }
            // A list of one UUID takes four more.
            let peripheral: [String: BusValue] = [
                "Type": .string("peripheral"), "ServiceData": serviceData(23), "ServiceUUIDs": .strings(["fff9"]),
            ]
            try await register(peripheral, on: bench)
            let peripheralTooLong = peripheral.merging(["ServiceData": serviceData(24)]) { $1 }
            await expectRefusal("org.bluez.Error.Failed", "Failed to register advertisement") {
                try await register(peripheralTooLong, on: bench)
            }
        }
    }

    @Test(
        "An advert of unknown type or odd shape is not parsed",
        arguments: [
            ["Type": BusValue.string("beacon")], ["Type": .byte(1)],
            ["Type": .string("broadcast"), "ServiceData": .string("x")],
            ["Type": .string("broadcast"), "ServiceData": .properties(["fff9": .string("x")])],
            ["Type": .string("broadcast"), "ServiceUUIDs": .byte(1)],
            ["Type": .string("broadcast"), "ManufacturerData": .byte(1)],
        ]
    )
    func unreadable(_ properties: [String: BusValue]) async throws {
        try await Bench.run { bench in
            await expectRefusal("org.bluez.Error.Failed", "Failed to parse advertisement.") {
                try await register(properties, on: bench)
            }
            try await bench.expectActive([])
        }
    }

    @Test("Registering twice, unregistering what is not there, advertising without an object")
    func misuse() async throws {
        let good: [String: BusValue] = ["Type": .string("broadcast"), "ServiceData": serviceData(20)]
        try await Bench.run { bench in
            try await register(good, on: bench) { client in
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
            // bluetoothd takes an object that cannot be read for one that says nothing, and sends that.
            try await call(bench.connection, "RegisterAdvertisement", [.objectPath("/none"), .properties([:])])
            try await call(bench.connection, "UnregisterAdvertisement", [.objectPath("/none")])
            // The owner of the good one has left.
            try await bench.untilActive([])
        }
    }

    @Test("A device comes, is told again, and goes")
    func deviceLife() async throws {
        try await Bench.run { bench in
            let (stream, sink) = AsyncStream.makeStream(of: BusMessage.self)
            _ = try await bench.connection.observe(["type='signal',sender='org.bluez'"]) { event in
                if case .signal(let signal) = event { sink.yield(signal) }
            }
            _ = try await bench.connection.call("org.bluez", "/org/bluez/hci0", "org.bluez.Adapter1", "StartDiscovery")
            let handle = try await bench.control.inject([UInt8](repeating: 1, count: 20))
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
                        try await bench.control.remove(handle)
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

    @Test("Powered can be set, the rest of an adapter cannot")
    func properties() async throws {
        try await Bench.run { bench in
            func set(_ name: String, _ value: BusValue) async throws {
                _ = try await bench.connection.call(
                    "org.bluez",
                    "/org/bluez/hci0",
                    BusNames.properties,
                    "Set",
                    [.string("org.bluez.Adapter1"), .string(name), .variant(value)]
                )
            }
            try await set("Powered", .bool(false))
            await expectRefusal("org.bluez.Error.NotReady") {
                _ = try await bench.connection.call(
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

    @Test("Scanning twice, stopping without a scan, objects and methods that are not there")
    func scanning() async throws {
        try await Bench.run { bench in
            func call(_ path: String, _ member: String) async throws {
                _ = try await bench.connection.call("org.bluez", path, "org.bluez.Adapter1", member)
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

    @Test("bluetoothctl lists the adapters, and shows one that is on")
    func bluetoothctl() async throws {
        try await Bench.run { bench in
            let list = try await run(["bluetoothctl", "list"], on: bench)
            #expect(list.contains("02:00:00:00:0F:00 virtual-hci0"))
            #expect(list.contains("02:00:00:00:0F:01 virtual-hci1"))
            let show = try await run(["bluetoothctl", "show", "02:00:00:00:0F:01"], on: bench)
            #expect(show.contains("Powered: yes"))
            #expect(show.contains("SupportedInstances: 0x05"))
        }
    }

    @Test("busctl finds its way through the objects")
    func busctl() async throws {
        try await Bench.run { bench in
            let tree = try await run(
                ["busctl", "--address=" + bench.bus.address, "--list", "tree", "org.bluez"],
                on: bench
            )
            #expect(tree.contains("/org/bluez/hci1"))
            let object = try await run(
                ["busctl", "--address=" + bench.bus.address, "introspect", "org.bluez", "/org/bluez/hci0"],
                on: bench
            )
            #expect(object.contains("StartDiscovery"))
            #expect(object.contains("SupportedInstances"))
        }
    }

    /// What a program prints.
    private func run(_ command: [String], on bench: Bench) async throws -> String {
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        defer { close(reader) }
        let child = try ChildProcess.spawn(
            command,
            variables: ["DBUS_SYSTEM_BUS_ADDRESS": bench.bus.address],
            output: writer
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
    @Test("Its directory is ours alone, and gone afterwards")
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

    @Test("A missing program is told by its error number")
    func missingProgram() {
        #expect(throws: ChildProcess.SpawnError(code: ENOENT)) {
            try ChildProcess.spawn(["hybrid-no-such-program"])
        }
        #expect(PrivateBusError.daemonMissing.sentence.contains("package dbus-daemon"))
    }

    @Test("The status of a child is the shell's")
    func status() async throws {
        let exit = try ChildProcess.spawn(["sh", "-c", "exit 7"])
        #expect(await exit.wait().shellStatus == 7)
        let killed = try ChildProcess.spawn(["sh", "-c", "kill -TERM $$"])
        #expect(await killed.wait().shellStatus == 143)
    }
}
