// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import HybridNetwork
import NIOCore
import NIOPosix
import NetworkTestSupport
import TestSupport
import Testing

@testable import HybridDataChannel

@Suite("Connection to a relay", .timeLimit(.minutes(5)))
struct ConnectionTests {
    @Test(
        "A certificate of an unknown authority ends TLS before data is sent, also if it names a trusted one",
        arguments: [(.unknownAuthority, "unknown"), (.namesakeAuthority, "trusted")]
            as [(TestCertificates.Identity, String)]
    )
    func unknownAuthority(identity: TestCertificates.Identity, issuer: String) async throws {
        let (said, refusal) = try await ScriptedRelay.run(identity) {
            await $0.readToEnd()
        } client: {
            await Client.refusal(at: $0)
        }
        let host = try #require(TestCertificates.domain?.host)
        #expect(refusal?.bare == .network(.certificateNotTrusted(host: host, issuer: issuer)))
        #expect(said == [])
    }

    private static let host = TestCertificates.domain?.host ?? ""

    /// An unknown authority takes precedence over dates, so that an expired certificate does not conceal interception.
    @Test(
        "Wrong dates and unknown issuers are distinguished",
        arguments: [
            (.expired, .network(.certificateExpired(host: host))),
            (.early, .network(.certificateNotYetValid(host: host))),
            (.expiredUnknownAuthority, .network(.certificateNotTrusted(host: host, issuer: "unknown"))),
            (.earlyUnknownAuthority, .network(.certificateNotTrusted(host: host, issuer: "unknown"))),
            (.expiredSelfSigned, .network(.certificateSelfSigned(host: host))),
        ] as [(TestCertificates.Identity, TunnelError)]
    )
    func dates(identity: TestCertificates.Identity, expected: TunnelError) async throws {
        // The script serves one connection: no second one is needed.
        let (said, refusal) = try await ScriptedRelay.run(identity) {
            await $0.readToEnd()
        } client: {
            await Client.refusal(at: $0)
        }
        #expect(refusal?.bare == expected)
        #expect("\(refusal as Any)".contains("(by --connect-to 127.0.0.1:"), "the override is named")
        #expect(said == [])
    }

    @Test("A certificate for another host ends TLS before data is sent")
    func otherHost() async throws {
        let (said, refusal) = try await ScriptedRelay.run(.otherHost) {
            await $0.readToEnd()
        } client: {
            await Client.refusal(at: $0)
        }
        let host = try #require(TestCertificates.domain?.host)
        #expect(refusal?.bare == .network(.certificateForOtherHost(host)))
        #expect(said == [])
    }

    @Test("Without a file, only the system's authorities are trusted")
    func systemTrust() async throws {
        let (said, refusal) = try await ScriptedRelay.run {
            await $0.readToEnd()
        } client: { endpoint in
            var endpoint = endpoint
            endpoint.network.trustedCertificates = nil
            return await Client.refusal(at: endpoint)
        }
        let host = try #require(TestCertificates.domain?.host)
        #expect(refusal?.bare == .network(.certificateNotTrusted(host: host, issuer: "trusted")))
        #expect(said == [])
    }

    @Test("A server that closes before TLS is reported")
    func hangsUpBeforeTLS() async throws {
        let (_, refusal) = try await ScriptedRelay.run(nil) { _ in
        } client: {
            await Client.refusal(at: $0)
        }
        let host = try #require(TestCertificates.domain?.host)
        #expect(refusal?.bare == .network(.disconnected(host: host, .securing)))
    }

    /// Returns the endpoint of the same relay behind a proxy.
    private static func behind(
        _ port: Int,
        _ endpoint: RelayEndpoint,
        host: String = "127.0.0.1",
        open: Int = 60
    ) -> RelayEndpoint {
        var endpoint = hasty(endpoint, open: open)
        endpoint.network.connectTo = []
        endpoint.network.proxies = ProxySettings(environment: ["HTTPS_PROXY": "http://u:p@\(host):\(port)"])
        return endpoint
    }

    @Test("A proxy that is silent or does not speak HTTP is reported", arguments: ["", "garbage"])
    func uselessProxy(answer: String) async throws {
        let (asked, (port, refusal)) = try await ScriptedRelay.run(nil) { peer in
            let head = try await peer.readHead()
            if !answer.isEmpty { try await peer.send(Array("SSH-2.0-OpenSSH_9.2\r\n".utf8)) }
            await peer.readToEnd()
            return String(decoding: head, as: UTF8.self)
        } client: { endpoint -> (Int, TunnelError?) in
            let port = endpoint.target(of: endpoint.domain.host).port
            return (port, await Client.refusal(at: Self.behind(port, endpoint, open: answer.isEmpty ? 5 : 60)))
        }
        #expect(asked.contains("CONNECT"), "\(asked)")
        #expect(
            refusal
                == (answer.isEmpty
                    ? .network(.proxySilent("127.0.0.1:\(port)"))
                    : .network(.proxyMisbehaved(proxy: "127.0.0.1:\(port)", how: "it does not speak HTTP")))
        )
    }

    @Test("An unreachable proxy is reported")
    func unreachableProxy() async throws {
        // The whole network cannot be connected to.
        let endpoint = Self.behind(3128, try await ScriptedRelay.endpoint(port: 1), host: "255.255.255.255")
        let refusal = await Client.refusal(at: endpoint)
        #expect(refusal?.code == "proxy-unreachable", "\(String(describing: refusal))")
        #expect(refusal?.sentence.hasPrefix("the proxy 255.255.255.255:3128 can't be reached (") == true)
    }

    @Test("An unusable certificate file is reported", arguments: ["missing", "empty", "a key"])
    func trustAnchors(kind: String) async throws {
        let certificates = try await TestCertificates.shared()
        var endpoint = try await ScriptedRelay.endpoint(port: 1)
        let path =
            switch kind {
            case "missing": certificates.path("missing.pem")
            case "empty": certificates.path("empty.pem")
            default: certificates.key(.relay)
            }
        if kind == "empty" { try Data().write(to: URL(filePath: path)) }
        endpoint.network.trustedCertificates = path
        let reason = ["empty": "it is empty", "a key": "it is a private key"][kind]
        #expect(await Client.refusal(at: endpoint) == .network(.trustAnchorsUnusable(path, reason: reason)))
    }

    @Test("A closed port is reported")
    func closedPort() async throws {
        let refusal = await Client.refusal(at: try await ScriptedRelay.endpoint(port: 1))
        #expect(refusal == .network(.connectionRefused("\(Self.host) (by --connect-to 127.0.0.1:1)")))
    }

    @Test("A name without addresses is reported")
    func noSuchName() async throws {
        let endpoint = try await ScriptedRelay.endpoint(host: "relay.invalid", port: 443)
        #expect(
            await Client.refusal(at: endpoint)
                == .network(.hostNotFound("\(Self.host) (by --connect-to relay.invalid:443)"))
        )
    }

    @Test("TLS has a time limit")
    func silentBeforeTLS() async throws {
        let (_, refusal) = try await ScriptedRelay.run(nil) {
            await $0.readToEnd()
        } client: {
            await Client.refusal(at: Self.hasty($0))
        }
        #expect(refusal?.bare == .network(.timedOut(host: Self.host, .securing)))
    }

    @Test("The response has a time limit, even if it trickles", arguments: [false, true])
    func silentAfterTLS(trickles: Bool) async throws {
        // On a busy computer, TLS alone may exceed a short limit; then a longer one is tried.
        for limit in [1, 10, 100] {
            let (hasAsked, refusal) = try await ScriptedRelay.run { peer in
                guard (try? await peer.readHead()) != nil else { return false }
                if trickles { try await peer.send(Array("HTTP/1.1 101 Switching Protocols\r\nUpgrade: webso".utf8)) }
                await peer.readToEnd()
                return true
            } client: {
                await Client.refusal(at: Self.hasty($0, open: limit))
            }
            guard hasAsked || limit == 100 else { continue }
            #expect(refusal?.bare == .network(.timedOut(host: Self.host, .upgrading)))
            break
        }
    }

    @Test("Cancellation ends the attempt at once", arguments: ["before TLS", "before the answer"])
    func cancelled(stage: String) async throws {
        let reached = Signal()
        let (rest, outcome) = try await ScriptedRelay.run(stage == "before TLS" ? nil : .relay) { peer in
            if stage == "before the answer" { _ = try await peer.readHead() }
            reached.fire()
            return await peer.readToEnd()
        } client: { endpoint in
            let endpoint = Self.patient(endpoint)
            let opening = Task { try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint) { _ in } }
            await reached.wait()
            opening.cancel()
            return await opening.result
        }
        // The end of the script proves that the socket was closed.
        if stage == "before the answer" { #expect(rest == []) }
        #expect(throws: CancellationError.self) { try outcome.get() }
    }

    @Test("Cancellation during name resolution ends the attempt at once")
    func cancelledInLookup() async throws {
        let (asked, release) = (Signal(), DispatchSemaphore(value: 0))
        var endpoint = try await ScriptedRelay.endpoint(port: 1)
        endpoint.network.connectTo = []
        endpoint.network.timeouts.connect = 600
        endpoint.network.lookup = NameLookup { _, _ in
            asked.fire()
            release.wait()
            throw NameLookup.NoAddress()
        }
        let opening = Task { [endpoint] in
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint) { _ in }
        }
        await asked.wait()
        opening.cancel()
        let result = await opening.result
        // Released only now: a task that waited for the lookup would not have ended.
        release.signal()
        #expect(throws: CancellationError.self) { try result.get() }
    }

    @Test("A task canceled before does not connect")
    func cancelledBefore() async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let endpoint = Self.patient(try await ScriptedRelay.endpoint(port: port))
        let gate = Signal()
        let opening = Task {
            await gate.wait()
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint) { _ in }
        }
        opening.cancel()
        gate.fire()
        let result = await opening.result
        #expect(throws: CancellationError.self) { try result.get() }
        try await listener.close()
    }

    /// Returns the endpoint with a short limit for the response, and enough time to connect on a busy computer.
    private static func hasty(_ endpoint: RelayEndpoint, open: Int = 1) -> RelayEndpoint {
        var endpoint = endpoint
        endpoint.network.timeouts.connect = 20
        endpoint.network.timeouts.open = open
        return endpoint
    }

    /// Returns the endpoint with timeouts longer than any test.
    private static func patient(_ endpoint: RelayEndpoint) -> RelayEndpoint {
        var endpoint = endpoint
        endpoint.network.timeouts.connect = 600
        endpoint.network.timeouts.open = 600
        return endpoint
    }
}
