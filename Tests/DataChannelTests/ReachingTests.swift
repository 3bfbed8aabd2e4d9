// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import HybridRelayCore
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import HybridDataChannel

@Suite("The way to a relay", .timeLimit(.minutes(5)))
struct ReachingTests {
    @Test("ends at a certificate of an unknown authority, before anything is said")
    func unknownAuthority() async throws {
        let (said, refusal) = try await ScriptedRelay.run(.stranger) {
            await $0.readToEnd()
        } client: {
            await Client.refusal(at: $0)
        }
        let host = try #require(TestCertificates.domain?.host)
        #expect(refusal?.bare == .certificateNotTrusted(host: host, issuer: "unknown"))
        #expect(said == [])
    }

    private static let host = TestCertificates.domain?.host ?? ""

    /// An authority that nobody trusts goes before dates: who opens TLS on the way must not be hidden by an old certificate.
    @Test(
        "tells a certificate's time from its issuer",
        arguments: [
            (.expired, .certificateExpired(host: host)), (.early, .certificateNotYetValid(host: host)),
            (.expiredStranger, .certificateNotTrusted(host: host, issuer: "unknown")),
            (.earlyStranger, .certificateNotTrusted(host: host, issuer: "unknown")),
            (.expiredHermit, .certificateSelfSigned(host: host)),
        ] as [(TestCertificates.Identity, TunnelError)]
    )
    func dates(identity: TestCertificates.Identity, expected: TunnelError) async throws {
        let certificates = try await TestCertificates.shared()
        let tls = try RelayCertificate.context(
            certificateFile: certificates.certificate(identity),
            keyFile: certificates.key(identity)
        )
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let location = try await ScriptedRelay.location(port: try #require(listener.localAddress?.port))
        let refusal = await Client.refusal(at: location)
        #expect(refusal?.bare == expected)
        #expect("\(refusal as Any)".contains("(by --connect-to 127.0.0.1:"), "the detour is named")
        try await listener.close()
    }

    @Test("ends at a certificate for another host, before anything is said")
    func otherHost() async throws {
        let (said, refusal) = try await ScriptedRelay.run(.otherHost) {
            await $0.readToEnd()
        } client: {
            await Client.refusal(at: $0)
        }
        let host = try #require(TestCertificates.domain?.host)
        #expect(refusal?.bare == .certificateForOtherHost(host))
        #expect(said == [])
    }

    @Test("trusts the system's authorities alone where no file is named")
    func systemTrust() async throws {
        let (said, refusal) = try await ScriptedRelay.run {
            await $0.readToEnd()
        } client: { location in
            var location = location
            location.trustedCertificates = nil
            return await Client.refusal(at: location)
        }
        let host = try #require(TestCertificates.domain?.host)
        #expect(refusal?.bare == .certificateNotTrusted(host: host, issuer: "trusted"))
        #expect(said == [])
    }

    @Test("ends at a server that does not speak TLS")
    func noTLS() async throws {
        let (_, refusal) = try await ScriptedRelay.run(nil) {
            try await $0.send(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
            await $0.readToEnd()
        } client: {
            await Client.refusal(at: $0)
        }
        guard case .tlsFailed = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
    }

    @Test("ends at a server that hangs up before TLS")
    func hangsUpBeforeTLS() async throws {
        let (_, refusal) = try await ScriptedRelay.run(nil) { _ in
        } client: {
            await Client.refusal(at: $0)
        }
        let host = try #require(TestCertificates.domain?.host)
        #expect(refusal?.bare == .hungUp(host: host, .securing))
    }

    /// The same relay behind a proxy at 127.0.0.1.
    private static func behind(
        _ port: Int,
        _ location: RelayEndpoint,
        host: String = "127.0.0.1",
        open: Int = 60
    ) -> RelayEndpoint {
        var location = hasty(location, open: open)
        location.detours = []
        location.proxies = ProxySettings(environment: ["HTTPS_PROXY": "http://u:p@\(host):\(port)"])
        return location
    }

    @Test("ends at a proxy that takes the connection and says nothing, or nothing of use", arguments: ["", "garbage"])
    func uselessProxy(answer: String) async throws {
        let (asked, (port, refusal)) = try await ScriptedRelay.run(nil) { peer in
            let head = try await peer.readHead()
            if !answer.isEmpty { try await peer.send(Array("SSH-2.0-OpenSSH_9.2\r\n".utf8)) }
            await peer.readToEnd()
            return String(decoding: head, as: UTF8.self)
        } client: { location -> (Int, TunnelError?) in
            let port = location.target(of: location.domain.host).port
            return (port, await Client.refusal(at: Self.behind(port, location, open: answer.isEmpty ? 5 : 60)))
        }
        #expect(asked.contains("CONNECT"), "\(asked)")
        #expect(
            refusal
                == (answer.isEmpty
                    ? .proxySilent("127.0.0.1:\(port)")
                    : .proxyMisbehaved(proxy: "127.0.0.1:\(port)", how: "it does not speak HTTP"))
        )
    }

    @Test("ends at a proxy that no network leads to")
    func unreachableProxy() async throws {
        // The whole network cannot be connected to.
        let location = Self.behind(3128, try await ScriptedRelay.location(port: 1), host: "255.255.255.255")
        let refusal = await Client.refusal(at: location)
        guard case .proxyUnreachable(proxy: "255.255.255.255:3128", _)? = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
    }

    @Test("reports which file of certificates is no use", arguments: ["missing", "empty", "a key"])
    func trustAnchors(kind: String) async throws {
        let certificates = try await TestCertificates.shared()
        var location = try await ScriptedRelay.location(port: 1)
        let path =
            switch kind {
            case "missing": certificates.path("missing.pem")
            case "empty": certificates.path("empty.pem")
            default: certificates.key(.relay)
            }
        if kind == "empty" { try Data().write(to: URL(filePath: path)) }
        location.trustedCertificates = path
        #expect(await Client.refusal(at: location) == .trustAnchorsUnusable(path))
    }

    @Test("ends where nobody listens")
    func nobodyListens() async throws {
        let refusal = await Client.refusal(at: try await ScriptedRelay.location(port: 1))
        #expect(refusal == .connectionRefused("\(Self.host) (by --connect-to 127.0.0.1:1)"))
    }

    @Test("ends at a name that does not resolve")
    func noSuchName() async throws {
        let location = try await ScriptedRelay.location(host: "relay.invalid", port: 443)
        #expect(await Client.refusal(at: location) == .hostNotFound("\(Self.host) (by --connect-to relay.invalid:443)"))
    }

    @Test("waits no longer than it was told for TLS")
    func silentBeforeTLS() async throws {
        let (_, refusal) = try await ScriptedRelay.run(nil) {
            await $0.readToEnd()
        } client: {
            await Client.refusal(at: Self.hasty($0))
        }
        #expect(refusal?.bare == .timedOut(host: Self.host, .securing))
    }

    @Test("waits no longer than it was told for an answer, not even for one that trickles", arguments: [false, true])
    func silentAfterTLS(trickles: Bool) async throws {
        // On a busy machine TLS alone may take longer than a short limit; then a longer one is tried. All of them
        // together are well within the suite's time.
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
            #expect(refusal?.bare == .timedOut(host: Self.host, .upgrading))
            break
        }
    }

    @Test("is given up at once when the task is cancelled", arguments: ["before TLS", "before the answer"])
    func cancelled(stage: String) async throws {
        let reached = Signal()
        let (rest, outcome) = try await ScriptedRelay.run(stage == "before TLS" ? nil : .relay) { peer in
            if stage == "before the answer" { _ = try await peer.readHead() }
            reached.fire()
            return await peer.readToEnd()
        } client: { location in
            let location = Self.patient(location)
            let opening = Task { try await WebSocketTunnel.withTunnel(Client.tunnel, at: location) { _ in } }
            await reached.wait()
            opening.cancel()
            return await opening.result
        }
        // That the script ended shows that the socket was closed.
        if stage == "before the answer" { #expect(rest == []) }
        #expect(throws: CancellationError.self) { try outcome.get() }
    }

    @Test("is given up at once while the name is looked up, which the system does not let itself be kept from")
    func cancelledInLookup() async throws {
        let (asked, release) = (Signal(), DispatchSemaphore(value: 0))
        var location = try await ScriptedRelay.location(port: 1)
        location.detours = []
        location.timeouts.connect = 600
        location.lookup = NameLookup { _, _ in
            asked.fire()
            release.wait()
            throw NameLookup.NoAddress()
        }
        let opening = Task { [location] in
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: location) { _ in }
        }
        await asked.wait()
        opening.cancel()
        let result = await opening.result
        // Only now: a task that waits for the look-up would never have come so far.
        release.signal()
        #expect(throws: CancellationError.self) { try result.get() }
    }

    @Test("is not taken at all by a task that was cancelled before")
    func cancelledBefore() async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let location = Self.patient(try await ScriptedRelay.location(port: port))
        let gate = Signal()
        let opening = Task {
            await gate.wait()
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: location) { _ in }
        }
        opening.cancel()
        gate.fire()
        let result = await opening.result
        #expect(throws: CancellationError.self) { try result.get() }
        try await listener.close()
    }

    /// Little time for what the relay does, but enough to reach it on a busy machine; both together are the bound.
    private static func hasty(_ location: RelayEndpoint, open: Int = 1) -> RelayEndpoint {
        var location = location
        location.timeouts.connect = 20
        location.timeouts.open = open
        return location
    }

    /// Time-outs that no test lives to see: what ends before was not left to them.
    private static func patient(_ location: RelayEndpoint) -> RelayEndpoint {
        var location = location
        location.timeouts.connect = 600
        location.timeouts.open = 600
        return location
    }
}
