// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridCaBLE
import HybridDataChannel
import TestSupport
import Testing

@testable import HybridSession

/// Both ends count messages, so a message that is sealed but not sent would make all later ones unreadable.
@Suite("Interrupted sends", .timeLimit(.minutes(10)))
struct InterruptedSendTests {
    @Test("Cancellation before a message is sealed does not affect later messages")
    func before() async throws {
        let connection = try Connection()
        let (client, signal) = (connection.client, Signal())
        let asking = Task {
            await signal.wait()
            try await client.send(.ctap([4]))
        }
        asking.cancel()
        signal.fire()
        await #expect(throws: CancellationError.self) { try await asking.value }
        #expect(connection.clientWire.sent == 0)
        try await client.send(.shutdown)
        guard case .shutdown = try await connection.phone.receive() else {
            Issue.record("a message other than shutdown")
            return
        }
    }

    @Test("After a sealed message was not sent, the channel sends no other")
    func after() async throws {
        let connection = try Connection()
        connection.clientWire.failSending(.stalled)
        await #expect(throws: TunnelError.stalled) { try await connection.client.send(.shutdown) }
        connection.clientWire.failSending(nil)
        await #expect(throws: TunnelError.connectionLost) { try await connection.client.send(.shutdown) }
        #expect(connection.clientWire.sent == 0)
    }
}
