// SPDX-License-Identifier: Apache-2.0

import HybridVirtualBlueZ
import Testing

@testable import HybridDBus

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
    private static let large: BusConnection.Handler = { call in
        let bytes = BusValue.bytes([UInt8](repeating: 0, count: BusLimits.weight + 1))
        return .values(call.member == "Large" ? [bytes] : call.body)
    }

    private func withEcho(
        _ handler: @escaping BusConnection.Handler = { .values($0.body) },
        _ body: @Sendable (_ caller: BusConnection, _ echo: BusConnection) async throws -> Void
    ) async throws {
        try await PrivateBus.run { bus in
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

    @Test("Every type is received as it was sent")
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

    @Test("Values that do not make a message are rejected before they are sent")
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

    @Test("A message that is too large is rejected")
    func tooLarge() async throws {
        try await withEcho(Self.large) { caller, echo in
            await #expect(throws: BusError.malformed("message too large")) {
                try await caller.call(echo.uniqueName, "/", "org.hybrid.Test", "Large", timeout: .seconds(60))
            }
            try await expectEcho(caller, echo)
        }
    }

    @Test("Entries that are not selected are skipped and do not count toward the limit")
    func selection() async throws {
        let inner = BusValue.properties(["a": .byte(1), "b": .properties(["a": .bool(true), "d": .bool(false)])])
        let paths = BusValue.dictionary("o", "v", [BusEntry(.objectPath("/d"), .variant(.properties(["d": .byte(2)])))])
        let large = BusValue.bytes([UInt8](repeating: 0, count: BusLimits.weight + 1))
        let sent = BusValue.properties(["A": inner, "C": large, "c": .strings(["x"]), "p": paths])
        let replying: BusConnection.Handler = { _ in .values([.byte(9), sent, .byte(10)]) }
        try await withEcho(replying) { caller, echo in
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

    @Test("The selection of a connection applies to signals, also to those that are too large as a whole")
    func selectedSignals() async throws {
        try await PrivateBus.run { bus in
            let sender = try await BusConnection.connect(to: bus.busAddress)
            let reader = try await BusConnection.connect(to: bus.busAddress, reading: BusSelection(["a"]))
            let received = OneShot<[BusValue]>()
            let observation = try await reader.observe(["type='signal',interface='org.hybrid.Test'"]) { event in
                if case .signal(let signal) = event, signal.path == "/test" { received.set(signal.body) }
            }
            let large = BusValue.bytes([UInt8](repeating: 0, count: BusLimits.weight + 1))
            sender.emit("/test", "org.hybrid.Test", "Large", [.properties(["a": .byte(1), "b": large])])
            #expect(await received.wait() == [.properties(["a": .byte(1)])])
            reader.stopObserving(observation)
            await reader.close()
            await sender.close()
        }
    }

    @Test("An error keeps its name and message")
    func refusal() async throws {
        try await withEcho(Self.refusing) { caller, echo in
            await #expect(throws: BusError.refused(name: "org.hybrid.Error.No", message: "not today")) {
                try await call(caller, echo, [])
            }
        }
    }

    @Test("A call to a connection without objects gets an error")
    func noObjects() async throws {
        try await withEcho { caller, echo in
            let name = "org.freedesktop.DBus.Error.UnknownObject"
            await #expect(throws: BusError.refused(name: name, message: "No such object.")) {
                try await echo.call(caller.uniqueName, "/", "org.hybrid.Test", "Anything")
            }
        }
    }

    @Test("A call without a reply times out while others continue")
    func timeout() async throws {
        try await withEcho(Self.silentWithoutArguments) { caller, echo in
            async let silent = call(caller, echo, [], timeout: .milliseconds(300))
            try await expectEcho(caller, echo)
            do {
                _ = try await silent
                Issue.record("a reply came")
            } catch {
                #expect(error as? BusError == .timedOut)
            }
        }
    }

    @Test("A cancelled call ends at once unless it is not cancellable")
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

    @Test("Closing fails pending and later calls")
    func closing() async throws {
        try await withEcho(Self.silent) { caller, echo in
            async let waiting = call(caller, echo, [], timeout: .seconds(3600))
            async let closing: Void = caller.close()
            do {
                _ = try await waiting
                Issue.record("a reply came")
            } catch {
                #expect(error as? BusError == .disconnected)
            }
            await closing
            await caller.close()
            await #expect(throws: BusError.disconnected) { try await call(caller, echo, []) }
        }
    }

    @Test("An observer is notified when the bus ends")
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

    @Test("Signals reach a subscriber until it unsubscribes")
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
            // The daemon answers in order, so RemoveMatch has been handled before.
            _ = try await caller.owner(of: echo.uniqueName)
            echo.emit("/echo", "org.hybrid.Test", "Ping", [.byte(2)])
            _ = try await call(caller, echo, [])
            sink.finish()
            #expect(await iterator.next() == nil)
        }
    }

    @Test("A name has one owner at a time")
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

    @Test("Connecting to a socket that is not a bus times out")
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

    @Test("Closed and released connections leave no descriptors open")
    func descriptors() async throws {
        try await PrivateBus.run { bus in
            let before = try openDescriptors()
            for number in 0..<300 {
                let connection = try await BusConnection.connect(to: bus.busAddress)
                if number.isMultiple(of: 2) { await connection.close() }
            }
            // Other tests run concurrently. 300 leaking connections would leave 600 descriptors.
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

@Suite("The system's own bus is distinguished from others")
struct BusAddressTests {
    @Test(
        "An empty address or the socket's path is the system's own",
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
        "Any other address is not",
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

    @Test("A connected private bus is not the system's own")
    func connected() async throws {
        try await PrivateBus.run { bus in
            let connection = try await BusConnection.connect(to: bus.busAddress)
            #expect(!connection.isSystemBus)
            await connection.close()
        }
    }
}
