// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
public import HybridNetwork
internal import HybridPrimitives
internal import HybridThreads
internal import NIOCore
internal import NIOHTTP1

/// The result of requesting a nonexistent tunnel from a relay, in the same way as a ceremony requests its tunnel.
public struct RelayProbe: Sendable {
    /// Result of the request.
    public enum Ending: Equatable, Sendable {
        /// The relay answered with an HTTP status; 404 is expected.
        case answered(status: Int)
        /// The relay could not be reached, or behaved incorrectly.
        case failed(TunnelError)
    }

    /// The relay, or a host that it redirects to.
    public struct Host: Sendable {
        /// Host and port of the proxy, if one was used.
        public let proxy: String?
        /// Addresses of the host's name, or of the proxy's.
        public let addresses: [String]
        /// The certificate presented in the TLS handshake.
        public let certificate: PresentedCertificate?
        /// Time of the response's `Date` field in seconds since 1970.
        public let date: Int?
    }

    /// Result of the request.
    public let ending: Ending
    /// The relay, and the hosts that it redirects to.
    public let hosts: [Host]
    /// The redirections.
    public let redirects: [RedirectStep]

    /// Requests a tunnel that does not exist; no token is sent.
    ///
    /// If there is no result by `end`, the current step counts as timed out.
    ///
    /// - Throws: `CancellationError`.
    public static func run(at relay: RelayEndpoint, until end: ContinuousClock.Instant) async throws -> RelayProbe {
        try await withThrowingTaskGroup(of: RelayProbe?.self) { group in
            group.addTask { await request(relay) }
            group.addTask {
                try await Task.sleep(until: end)
                return nil
            }
            defer { group.cancelAll() }
            while let ended = try await group.next() {
                try Task.checkCancellation()
                if let probe = ended { return probe }
                // Makes the request report its current step.
                group.cancelAll()
            }
            throw CancellationError()
        }
    }

    /// Makes the request; cancellation counts as a timeout.
    private static func request(_ relay: RelayEndpoint) async -> RelayProbe {
        let steps = AwaitableState<[RedirectStep]>([])
        let routing = RoutingID(node: .random(in: 0...UInt16.max), check: .random(in: 0...255))
        let path = TunnelPath.connect(routing, TunnelID.random())
        let opening = TunnelOpening(relay: relay, path: path, bearerToken: nil) { step in
            steps.change { $0.append(step) }
        }
        var hops: [HopDiagnostics] = []
        let ending: Ending
        do {
            let opened = try await opening.open { hops.append($0) }
            opened.channel.close(promise: nil)
            ending = .answered(status: 101)
        } catch let error as TunnelError {
            // Any response other than a redirection counts as an answer, whatever its status.
            if let status = hops.last?.answer?.status.code, error == .refusal(status: status) {
                ending = .answered(status: Int(status))
            } else {
                ending = .failed(error)
            }
        } catch {
            let host = steps.read { $0 }.last?.to ?? relay.domain.host
            ending = .failed(.network(Self.timedOut(at: relay.displayName(of: host), hops.last)))
        }
        return RelayProbe(ending: ending, hosts: hops.map(Host.init), redirects: steps.read { $0 })
    }

    /// Returns the timeout error for the last step that was reached, according to the facts about the host.
    private static func timedOut(at host: String, _ hop: HopDiagnostics?) -> NetworkError {
        guard let hop, hop.peer != nil else {
            return hop?.proxy.map(NetworkError.proxySilent) ?? .timedOut(host: host, .connecting)
        }
        return .timedOut(host: host, hop.certificate == nil ? .securing : .upgrading)
    }
}

extension RelayProbe.Host {
    fileprivate init(_ hop: HopDiagnostics) {
        proxy = hop.proxy
        addresses = hop.addresses.compactMap(\.ipAddress)
        certificate = hop.certificate
        date = hop.answer.flatMap { $0.headers["Date"].first }.flatMap(HTTPDate.seconds)
    }
}
