// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridNetwork
import NIOCore
import NetworkTestSupport
import Synchronization
import Testing

@testable import HybridDataChannel

@Suite("Redirections of relays", .timeLimit(.minutes(5)))
struct RelayRedirectTests {
    @Test("No target, or two, is rejected")
    func places() async throws {
        for fields in ["", "Location: https://a.example/\r\nLocation: https://b.example/\r\n"] {
            let (_, refusal) = try await ScriptedRelay.run { peer in
                _ = try await peer.readHead()
                try await peer.send(Array("HTTP/1.1 302 Found\r\n\(fields)Content-Length: 0\r\n\r\n".utf8))
                await peer.readToEnd()
            } client: {
                await Client.refusal(at: $0)
            }
            let host = try #require(TestCertificates.domain?.host)
            #expect(refusal == .network(.redirectRefused(host: host, .noTarget)))
        }
    }

    @Test(
        "A target in the local network is rejected unless the relay is there, too",
        arguments: [true, false]
    )
    func rebound(relayIsLocal: Bool) async throws {
        let lookedUp = Mutex<[String]>([])
        let (_, outcome) = try await ScriptedRelay.run { peer in
            _ = try await peer.readHead()
            let field = "Location: https://rebound.example/\r\nContent-Length: 0"
            try await peer.send(Array("HTTP/1.1 307 Elsewhere\r\n\(field)\r\n\r\n".utf8))
            await peer.readToEnd()
        } client: { endpoint in
            var hop = Hop(host: "rebound.example", path: "/", mayBeLocal: relayIsLocal)
            let anchors = endpoint.network.trustedCertificates
            if relayIsLocal {
                // From a local relay: the second host is tried, where no server listens.
                var whole = endpoint
                whole.network.lookup = NameLookup { host, port in
                    lookedUp.withLock { $0.append(host) }
                    return [try SocketAddress(ipAddress: "127.0.0.1", port: host == "rebound.example" ? 1 : port)]
                }
                return await Client.refusal(at: whole)
            }
            // A relay that is not local is not available here, so only the second hop is tested.
            await #expect(throws: Redirect.self) {
                try await HopConnector(
                    hop: Hop(host: endpoint.domain.host, path: "/", mayBeLocal: false),
                    relay: endpoint,
                    path: Client.tunnel,
                    bearerToken: nil,
                    tls: try ClientTLS(trustedCertificates: anchors)
                ).open()
            }
            var second = endpoint
            second.network.connectTo = []
            second.network.lookup = NameLookup { host, port in
                lookedUp.withLock { $0.append(host) }
                return [
                    try SocketAddress(ipAddress: "127.0.0.1", port: port),
                    try SocketAddress(ipAddress: "fe80::1", port: port),
                ]
            }
            hop = Hop(host: "rebound.example", path: "/", mayBeLocal: false)
            do {
                let tls = try ClientTLS(trustedCertificates: anchors)
                _ = try await HopConnector(hop: hop, relay: second, path: Client.tunnel, bearerToken: nil, tls: tls)
                    .open()
                return nil
            } catch let error as NetworkError {
                return .network(error)
            }
        }
        #expect(lookedUp.withLock { $0.last } == "rebound.example")
        #expect(
            outcome
                == (relayIsLocal
                    ? .network(.connectionRefused("rebound.example"))
                    : .network(.redirectRefused(host: "rebound.example", .local)))
        )
    }

    @Test("Through a proxy, which would look up another host, only the relay itself may be the target")
    func throughProxy() async throws {
        let relay = try #require(TestCertificates.domain?.host)
        let toOther = TunnelError.network(.redirectRefused(host: relay, .throughProxy))
        let toLocal = TunnelError.network(.redirectRefused(host: relay, .local))
        for (location, exceptions, expected) in [
            ("https://elsewhere.example/x", "", toOther), ("https://printer.local/x", "", toLocal),
            // Followed, but the proxy can't be reached a second time.
            ("https://\(relay)/x", "", nil), ("/x", "", nil),
            // Without the proxy, the address is checked.
            (
                "https://elsewhere.example/x", "elsewhere.example",
                .network(.redirectRefused(host: "elsewhere.example", .local))
            ),
        ] as [(String, String, TunnelError?)] {
            let (asked, (refusal, steps)) = try await ScriptedRelay.run(nil) { peer in
                let asked = try await peer.answerAsProxy(for: .relay)
                _ = try await peer.readHead()
                let field = "Location: \(location)\r\nContent-Length: 0"
                try await peer.send(Array("HTTP/1.1 307 Elsewhere\r\n\(field)\r\n\r\n".utf8))
                await peer.readToEnd()
                return asked
            } client: { endpoint in
                var endpoint = ScriptedRelay.behindProxy(endpoint, exceptions: exceptions)
                let isAsked = Atomic(false)
                endpoint.network.lookup = NameLookup { host, port in
                    guard host == "127.0.0.1" else { return [try SocketAddress(ipAddress: "10.0.0.1", port: port)] }
                    let isFirst = !isAsked.exchange(true, ordering: .relaxed)
                    return [try SocketAddress(ipAddress: host, port: isFirst ? port : 1)]
                }
                return await Self.followed(endpoint)
            }
            #expect(asked.hasPrefix("CONNECT \(relay):443 "))
            #expect(steps.count == (expected == toOther || expected == toLocal ? 0 : 1), "\(location)")
            if let expected {
                #expect(refusal == expected, "\(location)")
            } else {
                #expect(refusal?.code == "proxy-connection-refused", "\(location): \(String(describing: refusal))")
            }
        }
    }

    @Test(
        "A relay in the local network may redirect to a local name, and to a host behind a proxy",
        arguments: [("printer.local", "relay-connection-refused"), ("elsewhere.example", "proxy-connection-refused")]
    )
    func fromLocalRelay(target: String, code: String) async throws {
        let relay = try #require(TestCertificates.domain?.host)
        let (_, (refusal, steps)) = try await ScriptedRelay.run { peer in
            _ = try await peer.readHead()
            let field = "Location: https://\(target)/\r\nContent-Length: 0"
            try await peer.send(Array("HTTP/1.1 307 Elsewhere\r\n\(field)\r\n\r\n".utf8))
            await peer.readToEnd()
        } client: { endpoint in
            var endpoint = endpoint
            // Neither the target nor the proxy can be reached.
            endpoint.network.proxies = ProxySettings(
                environment: ["HTTPS_PROXY": "http://127.0.0.1:1", "NO_PROXY": "\(relay),printer.local"]
            )
            endpoint.network.lookup = NameLookup { host, port in
                [try SocketAddress(ipAddress: "127.0.0.1", port: host == target ? 1 : port)]
            }
            return await Self.followed(endpoint)
        }
        #expect(steps.map(\.to) == [target])
        #expect(refusal?.code == code, "\(String(describing: refusal))")
    }

    /// Returns the error of opening a tunnel, and the redirections that were followed.
    private static func followed(_ endpoint: RelayEndpoint) async -> (TunnelError?, [RedirectStep]) {
        let steps = Mutex<[RedirectStep]>([])
        do {
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint) { step in
                steps.withLock { $0.append(step) }
            } _: { _ in
                _ = Issue.record("it opened")
            }
            return (nil, [])
        } catch {
            return (error as? TunnelError, steps.withLock { $0 })
        }
    }
}
