// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridCaBLE
import HybridDataChannel
import Testing

@testable import HybridSession

/// Both ends count messages, so one that is sealed and not sent would make all later ones unreadable.
@Suite("Sending that is broken off", .timeLimit(.minutes(10)))
struct BrokenOffSendingTests {
    @Test("Before a message is sealed, it costs nothing: the goodbye of another task can be opened")
    func before() async throws {
        let connection = try Connection()
        let (client, signal) = (connection.client, Signal())
        let asking = Task {
            await signal.wait()
            try await client.send(.ctap(CTAPPayload(bytes: [4])))
        }
        asking.cancel()
        signal.fire()
        await #expect(throws: CancellationError.self) { try await asking.value }
        #expect(connection.clientWire.sent == 0)
        try await client.send(.shutdown)
        guard case .shutdown = try await connection.phone.receive() else {
            Issue.record("another message than the goodbye")
            return
        }
    }

    @Test("Where a sealed message was not sent, none is sent that could not be opened")
    func after() async throws {
        let connection = try Connection()
        connection.clientWire.failSending(.stalled)
        await #expect(throws: TunnelError.stalled) { try await connection.client.send(.shutdown) }
        connection.clientWire.failSending(nil)
        await #expect(throws: TunnelError.connectionLost) { try await connection.client.send(.shutdown) }
        #expect(connection.clientWire.sent == 0)
    }
}
