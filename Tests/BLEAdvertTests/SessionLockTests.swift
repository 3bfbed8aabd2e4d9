// SPDX-License-Identifier: Apache-2.0

import HybridThreads
import HybridVirtualBlueZ
import TestSupport
import Testing

@testable import HybridDBus

@Suite("The lock of the session", .timeLimit(.minutes(10)))
struct SessionLockTests {
    @Test("The hint of logind counts, for the session of the caller only")
    func hint() async throws {
        try await PrivateBus.run { bus in
            let hint = Locked(false)
            let calls = Locked<[[BusValue]]>([])
            let logind = try await BusConnection.connect(to: bus.busAddress) { call in
                calls.withLock { $0.append([.string(call.path)] + call.body) }
                return .values([.variant(.bool(hint.withLock { $0 }))])
            }
            let isOwner = try await logind.requestName(Logind.name)
            #expect(isOwner)
            for isLocked in [false, true, false] {
                hint.withLock { $0 = isLocked }
                let found = await DedicatedThread.run { SessionLock.isLocked(on: bus.busAddress, limit: .seconds(60)) }
                #expect(found == isLocked)
            }
            let call: [BusValue] = [
                .string("/org/freedesktop/login1/session/auto"), .string("org.freedesktop.login1.Session"),
                .string("LockedHint"),
            ]
            #expect(calls.withLock { $0 } == [call, call, call])
            await logind.close()
        }
    }

    private static func change(_ logind: BusConnection) {
        logind.emit(
            "\(Logind.path)/session/_32",
            BusNames.properties,
            "PropertiesChanged",
            [.string(SessionLock.session)]
        )
    }

    /// Repeats a change until a wait ends: a busy machine may not answer the question for the hint in time.
    private static func untilEnd(of wait: Task<Bool, any Error>, _ change: () -> Void) async throws {
        let isOver = Locked(false)
        Task {
            _ = await wait.result
            isOver.withLock { $0 = true }
        }
        try await Waiting.until("the end of the wait") {
            change()
            return isOver.withLock { $0 }
        }
    }

    @Test("A lock or a suspend ends the wait; other changes of sessions do not", arguments: [true, false])
    func untilLocked(isLock: Bool) async throws {
        try await PrivateBus.run { bus in
            let hint = Locked(false)
            let calls = Locked(0)
            let logind = try await BusConnection.connect(to: bus.busAddress) { _ in
                calls.withLock { $0 += 1 }
                return .values([.variant(.bool(hint.withLock { $0 }))])
            }
            _ = try await logind.requestName(Logind.name)
            let wait = Task { try await Logind.untilLockedOrSuspended(on: bus.busAddress) }
            func change() { Self.change(logind) }
            // Each change is followed by a question for the hint.
            try await Waiting.until("a question after a change") {
                change()
                return calls.withLock { $0 } > 2
            }
            if isLock {
                hint.withLock { $0 = true }
                try await Self.untilEnd(of: wait, change)
            } else {
                logind.emit(Logind.path, Logind.manager, "PrepareForSleep", [.bool(true)])
            }
            #expect(try await wait.value)
            await logind.close()
        }
    }

    @Test("A session that is locked already, and a canceled wait, end at once")
    func lockedBefore() async throws {
        try await PrivateBus.run { bus in
            let hint = Locked(true)
            let logind = try await BusConnection.connect(to: bus.busAddress) { _ in
                .values([.variant(.bool(hint.withLock { $0 }))])
            }
            _ = try await logind.requestName(Logind.name)
            let locked = Task { try await Logind.untilLockedOrSuspended(on: bus.busAddress) }
            try await Self.untilEnd(of: locked) { Self.change(logind) }
            #expect(try await locked.value)
            hint.withLock { $0 = false }
            let wait = Task { try await Logind.untilLockedOrSuspended(on: bus.busAddress) }
            wait.cancel()
            let result = await wait.result
            #expect((try? result.get()) != true)
            await logind.close()
        }
    }

    @Test("Without logind, with its errors, and without a bus, no session is locked")
    func unknown() async throws {
        try await PrivateBus.run { bus in
            let withoutLogind = await DedicatedThread.run { SessionLock.isLocked(on: bus.busAddress) }
            #expect(!withoutLogind)
            for reply in [BusReply.error(name: "org.freedesktop.login1.NoSuchSession", message: "-"), .values([])] {
                let logind = try await BusConnection.connect(to: bus.busAddress) { _ in reply }
                _ = try await logind.requestName(Logind.name)
                let found = await DedicatedThread.run { SessionLock.isLocked(on: bus.busAddress) }
                #expect(!found)
                await logind.close()
            }
        }
        let withoutBus = await DedicatedThread.run { SessionLock.isLocked(on: BusAddress("unix:path=/nonexistent")) }
        #expect(!withoutBus)
    }

    @Test("A bus that accepts no connection is given up in time", .timeLimit(.minutes(1)))
    func silentBus() async throws {
        try await TestFolder.with { folder in
            let path = folder.path + "/bus"
            let silent = try UnresponsiveSocket(path: path)
            let address = BusAddress("unix:path=\(path)")
            let found = await DedicatedThread.run { SessionLock.isLocked(on: address, limit: .milliseconds(100)) }
            #expect(!found)
            withExtendedLifetime(silent) {}
        }
    }
}
