// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridRelayCore
import HybridThreads
import IntegrationTestSupport
import NIOCore
import TestSupport
import Testing

@Suite("Many tunnels at once", .timeLimit(.minutes(10)))
struct IsolationTests {
    @Test("never receive a byte of another, with and without TLS", arguments: [false, true])
    func markers(hasTLS: Bool) async throws {
        let files = try await CertificateFiles()
        let tls = hasTLS ? try files.clientContext() : nil
        let seed = SeededGenerator().seed
        let transport = hasTLS ? try files.relayTransport() : .plaintext
        try await RunningRelay.run(transport: transport, loops: 2) { relay in
            let (server, address) = (relay.server, relay.address)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<Self.tunnels {
                    group.addTask {
                        try await DedicatedThread.run { () throws(any Error) in
                            var random = SeededGenerator(seed: seed &+ UInt64(worker))
                            for round in 0..<Thoroughness.rounds(2, thorough: 20) {
                                let tunnel = ScriptedTunnel(number: worker << 20 | round, at: address, tls: tls)
                                try tunnel.run(&random)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await Waiting.until("all connections to be closed") { server.connections == 0 }
        }
    }

    /// Number of tunnels, each of which needs four descriptors of this process.
    private static let tunnels: Int = {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return min(150, max(10, (Int(clamping: limit.rlim_cur) - 300) / 8))
    }()
}
