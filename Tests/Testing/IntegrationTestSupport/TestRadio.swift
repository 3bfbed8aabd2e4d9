// SPDX-License-Identifier: Apache-2.0

package import HybridDBus
import HybridPrimitives
package import HybridVirtualBlueZ

/// A private bus with a virtual bluetoothd inside the test process.
package struct TestRadio: Sendable {
    /// The bus.
    package let bus: PrivateBus
    /// A connection to the bus.
    package let connection: BusConnection
    /// The control of the virtual radio.
    package let control: AirControl

    /// Settings that are much faster than a real radio.
    package static let fast = AirSettings(
        firstSeen: .milliseconds(10),
        refresh: .milliseconds(100),
        linger: .milliseconds(100)
    )

    /// Runs `body` with a bus and a virtual bluetoothd.
    package static func run<Outcome: Sendable>(
        _ settings: AirSettings = fast,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (TestRadio) async throws -> Outcome
    ) async throws -> Outcome {
        try await PrivateBus.run { bus in
            try await VirtualBlueZ.serve(on: bus.busAddress, settings) {
                let connection = try await BusConnection.connect(to: bus.busAddress)
                return try await withCleanup {
                    await connection.close()
                } of: {
                    try await body(TestRadio(bus: bus, connection: connection, control: AirControl(connection)))
                }
            }
        }
    }
}
