// SPDX-License-Identifier: Apache-2.0

import HybridThreads
import HybridVirtualBlueZ
import TestSupport
import Testing

@testable import HybridDBus

@Suite("Signals of logind", .timeLimit(.minutes(10)))
struct LogindTests {
    @Test("Signals of other programs neither count nor push logind's out of the buffer")
    func flood() async throws {
        try await PrivateBus.run { bus in
            let logind = try await BusConnection.connect(to: bus.busAddress)
            let isOwner = try await logind.requestName(Logind.name)
            #expect(isOwner)
            func emit(_ flag: Bool) { logind.emit(Logind.path, Logind.manager, "PrepareForSleep", [.bool(flag)]) }
            let received = Locked<[Bool]>([])
            let observer = Locked<String?>(nil)
            let flooded = Signal()
            let observation = Task {
                try await Logind.observe(["PrepareForSleep"], on: bus.busAddress) { connection, signal in
                    observer.withLock { $0 = connection.uniqueName }
                    let count = received.withLock { received in
                        received.append(signal.body.first?.flag ?? false)
                        return received.count
                    }
                    // The second one waits in the buffer meanwhile.
                    if count == 1 { await flooded.wait() }
                }
            }
            // Signals before the subscription are lost.
            try await Waiting.until("the subscription") {
                if received.withLock(\.isEmpty) { emit(true) }
                return observer.withLock { $0 } != nil
            }
            let name = try #require(observer.withLock { $0 })
            emit(false)
            // The bus filters broadcasts by their sender, but not signals to one connection.
            let command = "dbus-send --bus='\(bus.address)' --type=signal --dest=\(name) \(Logind.path)"
            let flood = try SpawnedProcess([
                "/bin/sh", "-c",
                "for i in $(seq 40); do \(command) \(Logind.manager).PrepareForSleep boolean:true || exit 1; done",
            ])
            #expect(try await flood.end() == 0)
            // Once the bus has answered later calls, it has delivered the signals.
            for _ in 0..<2 { _ = try await logind.owner(of: Logind.name) }
            flooded.fire()
            try await Waiting.until("the signal in the buffer") { received.withLock { $0.contains(false) } }
            observation.cancel()
            _ = await observation.result
            #expect(received.withLock { $0.count { !$0 } } == 1)
            #expect(received.withLock { $0.count } < 40, "the flood counts")
            await logind.close()
        }
    }
}
