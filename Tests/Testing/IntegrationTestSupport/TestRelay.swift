// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
package import HybridRelayCore
package import Logging
package import NIOCore

/// A relay of this project inside the test process.
package enum TestRelay {
    /// The number of the relay's node, which its routing IDs begin with.
    package static let node: UInt16 = 0x00AB

    /// A relay that could not be started.
    package struct NotListening: Error {}

    /// Runs a relay for the duration of `body`, on a port that the system chooses.
    ///
    /// - Parameters:
    ///   - loops: The number of event loops; `nil` means one for each processor.
    ///   - configure: Changes of the configuration before the relay starts.
    @discardableResult
    package static func run<Outcome: Sendable>(
        on host: String = "127.0.0.1",
        transport: SocketSecurity = .plaintext,
        limits: RelayLimits = .testing(),
        loops: Int? = nil,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        configure: (inout RelayConfiguration) -> Void = { _ in },
        _ body: (RelayServer, SocketAddress) async throws -> Outcome
    ) async throws -> Outcome {
        let address = try SocketAddress(ipAddress: host, port: 0)
        var configuration = RelayConfiguration(listen: [address], transport: transport, limits: limits, node: node)
        configure(&configuration)
        let server = RelayServer(configuration: configuration, logger: logger, loops: loops)
        guard let bound = try await server.start().first else { throw NotListening() }
        return try await withCleanup {
            await server.shutdown()
        } of: {
            try await body(server, bound)
        }
    }
}

extension RelayLimits {
    /// The defaults with changes for tests: deadlines are checked every 20 ms, and requests, phones and pongs may take as
    /// long as a busy machine takes for them.
    package static func testing(_ change: (inout RelayLimits) -> Void = { _ in }) -> RelayLimits {
        var limits = RelayLimits()
        limits.sweepInterval = .milliseconds(20)
        limits.headTime = .minutes(5)
        limits.waiting = .minutes(10)
        limits.pingInterval = .minutes(5)
        change(&limits)
        return limits
    }
}
