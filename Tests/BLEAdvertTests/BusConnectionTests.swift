// SPDX-License-Identifier: Apache-2.0

import HybridVirtualBlueZ
import Testing

@testable import HybridSystemBus

#if canImport(Glibc)
import Glibc
#endif

@Suite("The bus connection", .timeLimit(.minutes(10)))
struct BusConnectionTests {
    private static let silent: BusConnection.Handler = { _ in .later }
    private static let silentWithoutArguments: BusConnection.Handler = { call in
        call.body.isEmpty ? .later : .values(call.body)
    }
    private static let refusing: BusConnection.Handler = { _ in
        .error(name: "org.hybrid.Error.No", message: "not today")
    }
    private static let heavy: BusConnection.Handler = { call in
        let tooMuch = BusValue.bytes([UInt8](repeating: 0, count: BusLimits.weight + 1))
        return .values(call.member == "Heavy" ? [tooMuch] : call.body)
    }

    private func withEcho(
        _ handler: @escaping BusConnection.Handler = { .values($0.body) },
        _ body: @Sendable (_ caller: BusConnection, _ echo: BusConnection) async throws -> Void
    ) async throws {
        try await Bench.onBus { bus in
            let echo = try await BusConnection.connect(to: bus.busAddress, handler: handler)
            let caller = try await BusConnection.connect(to: bus.busAddress)
            try await body(caller, echo)
            await caller.close()
            await echo.close()
        }
    }

    private func call(
        _ caller: BusConnection,
        _ echo: BusConnection,
        _ values: [BusValue],
        timeout: Duration = .seconds(60)
    ) async throws(BusError) -> [BusValue] {
        try await caller.call(echo.uniqueName, "/echo", "org.hybrid.Test", "Echo", values, timeout: timeout)
    }

    private func expectEcho(_ caller: BusConnection, _ echo: BusConnection) async throws {
        let answer = try await call(caller, echo, [.byte(1)])
        #expect(answer == [.byte(1)])
    }

    @Test("Every type comes back as it was sent")
    func types() async throws {
        let values: [BusValue] = [
            .byte(255), .bool(true), .bool(false), .int16(-2), .uint16(65535), .int32(-3), .uint32(.max), .int64(.min),
            .uint64(.max), .double(-0.5), .string("grüß\u{1F511}"), .objectPath("/a/b"), .signature("a{sv}"),
            .bytes([]), .bytes([0, 1, 255]), .array("s", []), .strings(["", "x"]),
            .array(
                "(iv)",
                [
                    .structure([.int32(1), .variant(.byte(2))])
                ]
            ),
            .dictionary(
                "o",
                "a{sa{sv}}",
                [
                    BusEntry(.objectPath("/"), .dictionary("s", "a{sv}", [BusEntry(.string("i"), .properties([:]))]))
                ]
            ),
            .properties(["bytes": .bytes([1]), "deep": .variant(.variant(.string("x")))]),
            .structure([.string("a"), .structure([.byte(1)])]),
        ]
        try await withEcho { caller, echo in
            let answer = try await call(caller, echo, values)
            #expect(answer == values)
            let nothing = try await call(caller, echo, [])
            #expect(nothing == [])
        }
    }

    @Test("Values that make no message are refused before they are sent")
    func malformed() async throws {
        var deep = BusValue.byte(1)
        for _ in 0..<40 { deep = .variant(deep) }
        let bad: [BusValue] = [
            .string("a\0b"), .objectPath("no path"), .signature("{"), .array("s", [.byte(1)]), .array("nonsense", []),
            deep,
        ]
        try await withEcho { caller, echo in
            for value in bad {
                await #expect(throws: BusError.self) { try await call(caller, echo, [value]) }
            }
            try await expectEcho(caller, echo)
        }
    }

    @Test("A message that is too heavy is not taken in")
    func tooHeavy() async throws {
        try await withEcho(Self.heavy) { caller, echo in
            await #expect(throws: BusError.malformed("message too large")) {
                try await caller.call(echo.uniqueName, "/", "org.hybrid.Test", "Heavy", timeout: .seconds(60))
            }
            try await expectEcho(caller, echo)
        }
    }

    @Test("Entries that are not asked for are passed over, and weigh nothing")
    func selection() async throws {
        let inner = BusValue.properties(["a": .byte(1), "b": .properties(["a": .bool(true), "d": .bool(false)])])
        let paths = BusValue.dictionary("o", "v", [BusEntry(.objectPath("/d"), .variant(.properties(["d": .byte(2)])))])
        let heavy = BusValue.bytes([UInt8](repeating: 0, count: BusLimits.weight + 1))
        let sent = BusValue.properties(["A": inner, "C": heavy, "c": .strings(["x"]), "p": paths])
        let telling: BusConnection.Handler = { _ in .values([.byte(9), sent, .byte(10)]) }
        try await withEcho(telling) { caller, echo in
            let read = try await caller.call(
                echo.uniqueName,
                "/echo",
                "org.hybrid.Test",
                "Echo",
                reading: BusSelection(["a", "b", "p"])
            )
            let emptied = BusValue.dictionary("o", "v", [BusEntry(.objectPath("/d"), .variant(.properties([:])))])
            let left = BusValue.properties([
                "A": .properties(["a": .byte(1), "b": .properties(["a": .bool(true)])]), "p": emptied,
            ])
            #expect(read == [.byte(9), left, .byte(10)])
        }
    }

    @Test("What is read of signals is chosen for the connection, also of those that are too heavy as a whole")
    func selectedSignals() async throws {
        try await Bench.onBus { bus in
            let sender = try await BusConnection.connect(to: bus.busAddress)
            let reader = try await BusConnection.connect(to: bus.busAddress, reading: BusSelection(["a"]))
            let heard = OneShot<[BusValue]>()
            let observation = try await reader.observe(["type='signal',interface='org.hybrid.Test'"]) { event in
                if case .signal(let signal) = event, signal.path == "/test" { heard.set(signal.body) }
            }
            let heavy = BusValue.bytes([UInt8](repeating: 0, count: BusLimits.weight + 1))
            sender.emit("/test", "org.hybrid.Test", "Heavy", [.properties(["a": .byte(1), "b": heavy])])
            #expect(await heard.wait() == [.properties(["a": .byte(1)])])
            reader.stopObserving(observation)
            await reader.close()
            await sender.close()
        }
    }

    @Test("An error keeps its name and words")
    func refusal() async throws {
        try await withEcho(Self.refusing) { caller, echo in
            await #expect(throws: BusError.refused(name: "org.hybrid.Error.No", message: "not today")) {
                try await call(caller, echo, [])
            }
        }
    }

    @Test("Who has no objects says so")
    func noObjects() async throws {
        try await withEcho { caller, echo in
            let name = "org.freedesktop.DBus.Error.UnknownObject"
            await #expect(throws: BusError.refused(name: name, message: "No such object.")) {
                try await echo.call(caller.uniqueName, "/", "org.hybrid.Test", "Anything")
            }
        }
    }

    @Test("A call without an answer times out, and others go on meanwhile")
    func timeout() async throws {
        try await withEcho(Self.silentWithoutArguments) { caller, echo in
            async let silent = call(caller, echo, [], timeout: .milliseconds(300))
            try await expectEcho(caller, echo)
            do {
                _ = try await silent
                Issue.record("an answer came")
            } catch {
                #expect(error as? BusError == .timedOut)
            }
        }
    }

    @Test("A cancelled call ends at once, one that may not be cancelled does not")
    func cancellation() async throws {
        try await withEcho(Self.silentWithoutArguments) { caller, echo in
            await withTaskGroup(of: BusError?.self) { group in
                group.addTask {
                    do throws(BusError) {
                        _ = try await call(caller, echo, [], timeout: .seconds(3600))
                        return nil
                    } catch {
                        return error
                    }
                }
                group.cancelAll()
                #expect(await group.next() == .cancelled)
                group.addTask {
                    withUnsafeCurrentTask { $0?.cancel() }
                    let answer = try? await caller.call(
                        echo.uniqueName,
                        "/",
                        "org.hybrid.Test",
                        "Echo",
                        [.byte(1)],
                        cancellable: false
                    )
                    return answer == [.byte(1)] ? nil : .cancelled
                }
                #expect(await group.next() == .some(nil))
            }
        }
    }

    @Test("Closing fails what waits and what comes after")
    func closing() async throws {
        try await withEcho(Self.silent) { caller, echo in
            async let waiting = call(caller, echo, [], timeout: .seconds(3600))
            async let closing: Void = caller.close()
            do {
                _ = try await waiting
                Issue.record("an answer came")
            } catch {
                #expect(error as? BusError == .disconnected)
            }
            await closing
            await caller.close()
            await #expect(throws: BusError.disconnected) { try await call(caller, echo, []) }
        }
    }

    @Test("An observer is told when the bus ends")
    func busEnds() async throws {
        let bus = try await PrivateBus.start()
        let connection = try await BusConnection.connect(to: bus.busAddress)
        let ended = OneShot<Bool>()
        _ = try await connection.observe([]) { event in
            if case .disconnected = event { ended.set(true) }
        }
        await bus.close()
        #expect(await ended.wait() == true)
        await #expect(throws: BusError.disconnected) { try await connection.owner(of: "org.hybrid.Test") }
    }

    @Test("Signals reach who subscribed, until it stops")
    func signals() async throws {
        try await withEcho { caller, echo in
            let (stream, sink) = AsyncStream.makeStream(of: [BusValue].self)
            let observation = try await caller.observe(["type='signal',interface='org.hybrid.Test'"]) { event in
                if case .signal(let signal) = event, signal.isSignal("org.hybrid.Test", "Ping") {
                    sink.yield(signal.body)
                }
            }
            echo.emit("/echo", "org.hybrid.Test", "Pong", [])
            echo.emit("/echo", "org.hybrid.Test", "Ping", [.byte(1)])
            var iterator = stream.makeAsyncIterator()
            #expect(await iterator.next() == [.byte(1)])
            caller.stopObserving(observation)
            // Answered after RemoveMatch has been: the daemon keeps the order.
            _ = try await caller.owner(of: echo.uniqueName)
            echo.emit("/echo", "org.hybrid.Test", "Ping", [.byte(2)])
            _ = try await call(caller, echo, [])
            sink.finish()
            #expect(await iterator.next() == nil)
        }
    }

    @Test("A name is had by one at a time")
    func names() async throws {
        try await withEcho { caller, echo in
            #expect(try await caller.owner(of: "org.hybrid.Test") == nil)
            #expect(try await echo.requestName("org.hybrid.Test"))
            #expect(try await caller.requestName("org.hybrid.Test") == false)
            #expect(try await caller.owner(of: "org.hybrid.Test") == echo.uniqueName)
            try await echo.releaseName("org.hybrid.Test")
            #expect(try await caller.requestName("org.hybrid.Test"))
        }
    }

    @Test("A socket that is no bus is given up in time")
    func noGreeting() async throws {
        let listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = "/tmp/hybrid-mute-\(UInt32.random(in: 0 ... .max))"
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        defer {
            close(listener)
            unlink(path)
        }
        #expect(bound == 0 && listen(listener, 1) == 0)
        await #expect(throws: BusError.timedOut) {
            try await BusConnection.connect(to: BusAddress("unix:path=" + path), timeout: .milliseconds(200))
        }
        await withTaskGroup(of: BusError?.self) { group in
            group.addTask {
                do throws(BusError) {
                    _ = try await BusConnection.connect(to: BusAddress("unix:path=" + path), timeout: .seconds(3600))
                    return nil
                } catch {
                    return error
                }
            }
            group.cancelAll()
            #expect(await group.next() == .cancelled)
        }
    }

    @Test("Connections that were closed, or dropped, leave no descriptors")
    func descriptors() async throws {
        try await Bench.onBus { bus in
            let before = try openDescriptors()
            for number in 0..<300 {
                let connection = try await BusConnection.connect(to: bus.busAddress)
                if number.isMultiple(of: 2) { await connection.close() }
            }
            // Other tests run at the same time; 300 connections would have left 600.
            try await eventually { try openDescriptors() < before + 150 }
        }
    }

    private func openDescriptors() throws -> Int {
        let directory = try #require(opendir("/proc/self/fd"))
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }
}

@Suite("The system's own bus is told from others")
struct BusAddressTests {
    @Test(
        "No address, or the socket's path, is the system's own",
        arguments: [
            "", "unix:path=/run/dbus/system_bus_socket", "unix:path=/var/run/dbus/system_bus_socket",
        ]
    )
    func own(_ text: String) {
        let address = BusAddress(text)
        #expect(address.namesSystemSocket)
        #expect(address.text.hasSuffix("/run/dbus/system_bus_socket"))
    }

    @Test(
        "Anything else is not",
        arguments: [
            "unix:path=/tmp/bus", "unix:path=/run/dbus/system_bus_socket,guid=0",
            "unix:abstract=/run/dbus/system_bus_socket",
            "unix:path=/tmp/bus;unix:path=/run/dbus/system_bus_socket", "tcp:host=localhost,port=1", "nonsense",
            "unix:path=/run/dbus/system_bus_socket;unix:path=/tmp/bus", "unix:path=/run/dbus/system_bus_socket2",
        ]
    )
    func other(_ text: String) {
        let address = BusAddress(text)
        #expect(!address.namesSystemSocket)
        #expect(address.text == text)
    }

    @Test("A private bus is not the system's own once connected")
    func connected() async throws {
        try await Bench.onBus { bus in
            let connection = try await BusConnection.connect(to: bus.busAddress)
            #expect(!connection.isSystemsOwn)
            await connection.close()
        }
    }
}
