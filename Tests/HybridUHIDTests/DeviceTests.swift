// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridThreads
import TestSupport
import Testing

@testable import HybridUHID

@Suite("A device and its connection", .timeLimit(.minutes(5)))
struct DeviceTests {
    private static let destroyed: [UInt8] = [1, 0, 0, 0]

    /// Returns a report: the first of a message, or a further one.
    private func report(_ number: Int, begins: Bool = false) -> [UInt8] {
        var bytes = KernelEvent.report
        bytes[4] = begins ? 0x81 : UInt8(number % 128)
        bytes[10] = UInt8(truncatingIfNeeded: number)
        bytes[11] = UInt8(truncatingIfNeeded: number >> 8)
        return bytes
    }

    private func input(_ report: [UInt8]) -> [UInt8] { [12, 0, 0, 0, 64, 0] + report }

    @Test("Reports pass in both directions, and the device ends with the connection")
    func reports() async throws {
        try await TestFolder.with { folder in
            let service = try TestService(folder)
            var (client, kernel): (Endpoint?, Endpoint) = try await service.device()
            for number in 0..<3 {
                kernel.send(KernelEvent.output(report(number, begins: number == 0)))
                #expect(try await client?.receive() == report(number, begins: number == 0))
                client?.send(report(number, begins: number == 0))
                #expect(try await kernel.receive() == input(report(number, begins: number == 0)))
            }
            client = nil
            #expect(try await kernel.receive() == Self.destroyed)
            // The device has stopped.
            kernel.send(KernelEvent.bytes(3))
            #expect(try await kernel.receive() == [])
            try await service.line("device removed")
        }
    }

    @Test("A thousand messages of 129 reports arrive complete and in order")
    func longMessages() async throws {
        let count = 129 * Thoroughness.rounds(20, thorough: 1000)
        try await TestFolder.with { folder in
            let service = try TestService(folder)
            let (client, kernel) = try await service.device()
            let reports = (0..<count).map { report($0, begins: $0 % 129 == 0) }
            // The kernel waits for the client here, because unlike /dev/uhid its queue drops nothing.
            #expect(
                await DedicatedThread.run {
                    var bytes = [UInt8](repeating: 0, count: 100)
                    for report in reports {
                        kernel.send(KernelEvent.output(report))
                        guard recv(client.descriptor, &bytes, 100, 0) == 64, Array(bytes[..<64]) == report else {
                            return false
                        }
                    }
                    return true
                }
            )
            try #require(client.startSending(reports))
            for report in reports { try #require(try await kernel.receive() == input(report)) }
        }
    }

    @Test("A burst of 400 reports waits for a client that does not read, and one without end loses the device")
    func unread() async throws {
        try await TestFolder.with { folder in
            let service = try TestService(folder)
            let (client, kernel) = try await service.device()
            for number in 0..<400 { kernel.send(KernelEvent.output(report(number))) }
            for number in 0..<400 { try #require(try await client.receive() == report(number)) }
            await DedicatedThread.run {
                // The buffers of the sockets take some, too.
                while kernel.send(KernelEvent.output()) {}
            }
            try await service.line("512 reports were left unread")
            while try await !client.receive().isEmpty {}
        }
    }

    @Test("A message of another length ends the device", arguments: [1, 63, 65, 128, 4096])
    func lengths(count: Int) async throws {
        try await TestFolder.with { folder in
            let service = try TestService(folder)
            let (client, kernel) = try await service.device()
            client.send(report(1))
            client.send([UInt8](repeating: 0, count: count))
            client.send(report(2))
            #expect(try await kernel.receive() == input(report(1)))
            #expect(try await kernel.receive() == Self.destroyed)
            #expect(try await client.receive() == [])
            try await service.line("a message of \(count) bytes instead of 64")
        }
    }

    @Test("An empty message ends the device, like the end of the connection")
    func emptyMessage() async throws {
        try await TestFolder.with { folder in
            let (client, kernel) = try await TestService(folder).device()
            client.send([])
            #expect(try await kernel.receive() == Self.destroyed)
            #expect(try await client.receive() == [])
        }
    }

    @Test("Programs that get or set reports are refused at once")
    func getAndSet() async throws {
        try await TestFolder.with { folder in
            let (client, kernel) = try await TestService(folder).device()
            kernel.send(KernelEvent.request(9, id: [1, 0, 0, 0]))
            #expect(try await kernel.receive() == [10, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0])
            kernel.send(KernelEvent.request(13, id: [2, 0, 0, 0]))
            #expect(try await kernel.receive() == [14, 0, 0, 0, 2, 0, 0, 0, 5, 0])
            for type: UInt8 in [2, 4, 5, 3, 2] { kernel.send(KernelEvent.bytes(type)) }
            kernel.send(KernelEvent.output(size: 12))
            kernel.send(KernelEvent.output(report(9)))
            #expect(try await client.receive() == report(9))
        }
    }

    @Test("A client that sends as fast as it can gets 6,000 reports a second through")
    func flood() async throws {
        try await TestFolder.with { folder in
            let (client, kernel) = try await TestService(folder).device()
            let start = ContinuousClock.now
            let reports = (0..<832).map { report($0) }
            try #require(client.startSending(reports))
            let events = reports.map(input)
            // On one thread, because a slow reader would be a limit of its own.
            let areComplete = await DedicatedThread.run {
                var bytes = [UInt8](repeating: 0, count: 100)
                return events.allSatisfy {
                    recv(kernel.descriptor, &bytes, bytes.count, 0) == $0.count && $0.elementsEqual(bytes[..<$0.count])
                }
            }
            #expect(areComplete)
            // Slow machines need longer.
            #expect(ContinuousClock.now - start > .milliseconds(135))
        }
    }

    @Test("A flood delays the reports of programs only briefly")
    func floodAndOutput() async throws {
        try await TestFolder.with { folder in
            let (client, kernel) = try await TestService(folder).device()
            try #require(client.startSending((0..<1000).map { report($0) }) && kernel.startDiscarding())
            for number in 0..<100 {
                kernel.send(KernelEvent.output(report(number)))
                #expect(try await client.receive() == report(number))
            }
        }
    }

    @Test("The end of the kernel's device ends the connection")
    func kernelEnd() async throws {
        try await TestFolder.with { folder in
            let service = try TestService(folder)
            let (client, kernel) = try await service.device()
            shutdown(kernel.descriptor, CInt(SHUT_RDWR))
            #expect(try await client.receive() == [])
            try await service.line("the kernel ended the device")
        }
    }

    @Test("A client that stops reading or writing loses the device", arguments: [SHUT_RD, SHUT_WR].map { CInt($0) })
    func halfClosed(direction: CInt) async throws {
        try await TestFolder.with { folder in
            let service = try TestService(folder)
            let (client, kernel) = try await service.device()
            shutdown(client.descriptor, direction)
            kernel.send(KernelEvent.output(report(1)))
            #expect(try await kernel.receive() == Self.destroyed)
            try await service.line("device removed")
        }
    }
}

@Suite("Connections to the service", .timeLimit(.minutes(5)))
struct ServerTests {
    @Test("A user has one device, and another after its end")
    func oneDevice() async throws {
        try await TestFolder.with { folder in
            let service = try TestService(folder)
            var (client, kernel): (Endpoint?, Endpoint) = try await service.device()
            #expect(try await Endpoint(path: service.path).receive() == [])
            #expect(service.devices.withLock(\.count) == 1)
            try await service.line("this user has a device already")
            kernel.send(KernelEvent.output())
            #expect(try await client?.receive() == KernelEvent.report)
            client = nil
            try await service.line("device removed")
            // The user's place is free shortly after that line.
            try await Waiting.until("a second device") {
                let next = try Endpoint(path: service.path)
                var polled = pollfd(fd: next.descriptor, events: Int16(POLLIN), revents: 0)
                while service.devices.withLock({ $0.count < 2 }) {
                    if poll(&polled, 1, 10) > 0 { return false }
                }
                return true
            }
        }
    }

    @Test("A user who is not active on seat0 gets no device")
    func notAdmitted() async throws {
        try await TestFolder.with { folder in
            let service = try TestService(folder)
            service.active.withLock { $0 = ["seat1": getuid()] }
            #expect(try await Endpoint(path: service.path).receive() == [])
            try await service.line("user \(getuid()): not active on seat0")
            #expect(service.devices.withLock(\.isEmpty))
        }
    }

    @Test("A listed user keeps the device without a session")
    func listed() async throws {
        try await TestFolder.with { folder in
            let service = try TestService(folder, listed: "\(getuid())")
            let (client, kernel) = try await service.device()
            service.switchSession(to: nil)
            kernel.send(KernelEvent.output())
            #expect(try await client.receive() == KernelEvent.report)
        }
    }

    @Test("A listed user loses the device to another user who becomes active on seat0")
    func listedBehindOther() async throws {
        try await TestFolder.with { folder in
            let service = try TestService(folder, listed: "\(getuid())")
            let (client, kernel) = try await service.device()
            service.switchSession()
            #expect(try await kernel.receive() == [1, 0, 0, 0])
            #expect(try await client.receive() == [])
        }
    }

    @Test("A session that is no longer active loses the device", arguments: [true, false])
    func switched(hasMonitor: Bool) async throws {
        try await TestFolder.with { folder in
            let service = try TestService(folder, hasMonitor: hasMonitor)
            let (client, kernel) = try await service.device()
            service.switchSession(isNoticed: hasMonitor)
            #expect(try await kernel.receive() == [1, 0, 0, 0])
            #expect(try await client.receive() == [])
            try await service.line("not active on seat0")
        }
    }

    @Test("The session is checked at each message, in both directions", arguments: [true, false])
    func messages(isInput: Bool) async throws {
        try await TestFolder.with { folder in
            let service = try TestService(folder)
            let (client, kernel) = try await service.device()
            service.switchSession(isNoticed: false)
            var (first, further) = (KernelEvent.report, KernelEvent.report)
            (first[4], further[4]) = (0x90, 0x00)
            // The rest of a message passes, the next message does not.
            kernel.send(KernelEvent.output(further))
            #expect(try await client.receive() == further)
            if isInput { client.send(first) } else { kernel.send(KernelEvent.output(first)) }
            #expect(try await kernel.receive() == [1, 0, 0, 0])
            #expect(try await client.receive() == [])
        }
    }

    @Test("A device that can't be opened closes the connection, with a reason in the log")
    func notOpened() async throws {
        try await TestFolder.with { folder in
            let service = try TestService(folder, opening: ENOENT)
            for _ in 0..<3 { #expect(try await Endpoint(path: service.path).receive() == []) }
            try await service.line("/dev/uhid: No such file or directory; see FILES")
        }
    }

    @Test("The service ends when it has no device, and not before")
    func idle() async throws {
        try await TestFolder.with { folder in
            let service = try TestService(folder, idleLimit: 1000)
            do {
                let (client, kernel) = try await service.device()
                for _ in 0..<20 {
                    kernel.send(KernelEvent.output())
                    #expect(try await client.receive() == KernelEvent.report)
                    try await Task.sleep(for: .milliseconds(100))
                }
                #expect(service.hasEnded.withLock { !$0 })
            }
            try await Waiting.until("the end of the service") { service.hasEnded.withLock { $0 } }
        }
    }
}
