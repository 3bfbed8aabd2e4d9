// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import IntegrationTestSupport
import Logging
import NIOCore
import Testing

@Suite("Listening addresses of a relay", .timeLimit(.minutes(10)))
struct ListeningTests {
    private static func server(_ addresses: [SocketAddress]) -> RelayServer {
        RelayServer(
            configuration: RelayConfiguration(
                listen: addresses,
                transport: .plaintext,
                limits: .testing { $0.shutdownGrace = .milliseconds(200) },
                node: 0x00AB
            ),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    @Test("may be all addresses of both kinds with one port")
    func both() async throws {
        var attempts = 0
        while true {
            attempts += 1
            // A port that was free a moment ago. Another process may take it first.
            let probe = Self.server([try SocketAddress(ipAddress: "0.0.0.0", port: 0)])
            let port = try #require(try await probe.start().first?.port)
            await probe.shutdown()
            let server = Self.server([
                try SocketAddress(ipAddress: "0.0.0.0", port: port), try SocketAddress(ipAddress: "::", port: port),
            ])
            do {
                #expect(try await server.start().map(\.port) == [port, port])
            } catch let error as ListenError where error.address.hasPrefix("0.0.0.0") && attempts < 10 {
                continue
            }
            for host in ["127.0.0.1", "::1"] {
                let address = try SocketAddress(ipAddress: host, port: port)
                _ = try await RunningRelay(server: server, address: address, tls: nil).phone()
            }
            await server.shutdown()
            return
        }
    }

    @Test("may be one IPv6 address for both kinds")
    func one() async throws {
        try await RunningRelay.run(on: "::") { relay in
            let port = try #require(relay.address.port)
            let address = try SocketAddress(ipAddress: "127.0.0.1", port: port)
            _ = try await RunningRelay(server: relay.server, address: address, tls: nil).phone()
        }
    }

    @Test("are named in the error if listening fails, with the reason")
    func taken() async throws {
        try await RunningRelay.run { relay in
            let port = try #require(relay.address.port)
            let error = await #expect(throws: ListenError.self) { try await Self.server([relay.address]).start() }
            #expect(error?.address == "127.0.0.1:\(port)")
            #expect(error?.sentence.contains("another program uses it") == true)
        }
        let unassigned = try SocketAddress(ipAddress: "192.0.2.1", port: 0)
        let error = await #expect(throws: ListenError.self) { try await Self.server([unassigned]).start() }
        #expect(error?.sentence.contains("does not have that address") == true)
    }
}
