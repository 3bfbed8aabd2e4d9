// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridNetwork
internal import HybridPrimitives
internal import NIOCore

/// The state of one run: its connections, and the tunnel that several checks share.
///
/// Only one task uses it. The checks are in the folder `Checks`.
final class CheckRun {
    /// Maximum number of connections of a run, enough for each check to open its own tunnel.
    ///
    /// If the relay conforms, a run makes 40 to 44, and 22 more if it serves linked phones.
    static let connectionLimit = 90
    /// Number of failed connections in a row after which the run stops.
    private static let setbackLimit = 3

    let relay: RelayAddress
    let options: CheckOptions
    /// The deadline of the current check.
    var deadline = NIODeadline.now()
    /// TLS that requires a valid certificate.
    let strict: ClientTLS?
    /// TLS that accepts any certificate; no secret is sent over it.
    let lenient: ClientTLS?
    private var route: ProbeRoute
    /// The way of the connections that join tunnels, if it differs.
    private let clientRoute: ProbeRoute?
    private var open: [ProbeSocket] = []
    /// A tunnel that the next check can use; `nil` once it has ended or may still carry messages.
    var shared: ProbeTunnel?
    private var setbacks = 0
    /// The reason why no further check can be made, if there is one.
    var abortReason: String?
    /// Responses that several checks inspect.
    var opening: Result<ProbeExchange, ProbeError>?
    var malformedStatuses: Result<[(name: String, status: Int)], ProbeError>?
    /// The outcome of the check on which those of linked phones depend.
    var listening: Result<Void, ProbeError> = .success(())

    /// Number of tunnels in a row that could not be opened; at the limit, no check tries again.
    fileprivate var failedTunnels = 0
    fileprivate static let failedTunnelLimit = 3

    private(set) var connections = 0
    private(set) var requiresToken = false
    /// The shortest time between a request that opened or joined a tunnel and its response.
    private(set) var openingTime: TimeAmount?

    /// Creates a run with the TLS that the options name.
    convenience init(relay: RelayAddress, options: CheckOptions) throws(NetworkError) {
        guard relay.isSecure else {
            try self.init(relay: relay, options: options, strict: nil, lenient: nil)
            return
        }
        let strict = try ClientTLS(trustedCertificates: options.trustedCertificates)
        try self.init(relay: relay, options: options, strict: strict, lenient: try ClientTLS.unverified())
    }

    /// Creates a run with its TLS, which is `nil` for both connections of a relay without TLS.
    init(relay: RelayAddress, options: CheckOptions, strict: ClientTLS?, lenient: ClientTLS?) throws(NetworkError) {
        (self.strict, self.lenient) = (strict, lenient)
        self.relay = relay
        self.options = options
        // As for tunnels, the relay's name decides whether a proxy is used. The proxy connects to the override's
        // target.
        let proxy =
            relay.isSecure
            ? try ProxySettings(environment: options.environment).proxy(for: relay.host, port: relay.port) : nil
        route = ProbeRoute(to: relay, options.connectTo, proxy)
        clientRoute = options.clientConnectTo.map { ProbeRoute(to: relay, $0, proxy) }
    }

    /// Determines the address of the relay, or of the proxy, to which all later connections are made.
    func resolve() async throws(ProbeError) -> String {
        let address = try await connect(tls: nil).recorded(\.remoteAddress)
        await closeUnshared()
        guard let address, let host = address.ipAddress else { throw .unreachable("the connection ended at once") }
        route.target = .address(address)
        if let proxyTunnel = route.proxyTunnel { return "the proxy \(proxyTunnel.proxy)" }
        return HostPort(host: host, port: address.port ?? 0).description
    }

    /// Opens a connection, with TLS if there is a context; `isClient` is true for one that joins a tunnel.
    func connect(tls: ClientTLS?, isClient: Bool = false) async throws(ProbeError) -> ProbeSocket {
        guard connections < Self.connectionLimit else { throw .outOfConnections }
        connections += 1
        let route = isClient ? clientRoute ?? self.route : self.route
        do throws(ProbeError) {
            let socket = try await ProbeSocket.connect(
                to: route.target,
                through: route.proxyTunnel,
                tls: tls,
                host: relay.host,
                by: deadline
            )
            open.append(socket)
            return socket
        } catch {
            recordSetback("the relay accepts no more connections")
            throw error
        }
    }

    /// Opens a connection for a check.
    ///
    /// Only one check evaluates the certificate. The others are made even if the certificate is invalid, unless there
    /// is a token to protect.
    func connect(isClient: Bool = false) async throws(ProbeError) -> ProbeSocket {
        try await connect(tls: options.token == nil ? lenient : strict, isClient: isClient)
    }

    /// Sends a request over a new connection; `isClient` is true for one that joins a tunnel.
    func send(_ request: ProbeRequest, isClient: Bool = false) async throws(ProbeError) -> PendingExchange {
        let socket = try await connect(isClient: isClient)
        var bytes = request.bytes(host: relay.authority, token: options.token)
        defer { SecretBytes.wipe(&bytes) }
        return PendingExchange(socket: socket, sent: try await socket.send(bytes, by: deadline))
    }

    /// Reads the head of the response to a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - pending: Its connection.
    ///   - expected: 429 if the check provokes it; otherwise, the relay limits the checks.
    func answer(
        to request: ProbeRequest,
        _ pending: PendingExchange,
        expects expected: Int? = nil
    ) async throws(ProbeError) -> ProbeExchange {
        let (response, arrival) = try await pending.socket.nextTimed(by: deadline, ProbeResponse.take(from:))
        if response.status == 429 || response.status == 503, response.status != expected {
            recordSetback("the relay answers \(response.status) repeatedly")
            throw .busy(response.status)
        }
        setbacks = 0
        if response.status == 101 { openingTime = min(openingTime ?? .hours(1), max(arrival - pending.sent, .zero)) }
        return ProbeExchange(request: request, socket: pending.socket, response: response)
    }

    /// Sends a request over a new connection and reads the head of the response.
    func exchange(_ request: ProbeRequest) async throws(ProbeError) -> ProbeExchange {
        try await answer(to: request, try await send(request))
    }

    /// Sends a request like ``exchange(_:)``, but throws if the relay requires a token, or another one.
    func ask(_ request: ProbeRequest) async throws(ProbeError) -> ProbeExchange {
        let answer = try await exchange(request)
        if request.carriesToken, answer.response.status == 401 {
            requiresToken = true
            throw .needsToken(hasSentOne: options.token != nil)
        }
        return answer
    }

    private func recordSetback(_ why: String) {
        setbacks += 1
        if setbacks == Self.setbackLimit { abortReason = why }
    }

    /// Closes the connections that a check has left open, except the shared tunnel.
    func closeUnshared() async {
        let kept = shared.map { [$0.phone, $0.client] } ?? []
        let unshared = open.filter { !kept.contains($0) }
        open = kept
        for socket in unshared { await socket.close() }
    }
}

@available(*, unavailable)
extension CheckRun: Sendable {}

/// The way to the relay, perhaps to another address and through a proxy.
private struct ProbeRoute {
    var target: ProbeSocket.Target
    let proxyTunnel: ProbeSocket.ProxyTunnel?

    init(to relay: RelayAddress, _ override: ConnectTo?, _ proxy: HTTPProxy?) {
        let (host, port) = override?.target(for: relay.host, port: relay.port) ?? (relay.host, relay.port)
        proxyTunnel = proxy.map { ProbeSocket.ProxyTunnel(proxy: $0, host: host, port: port) }
        target = .name(host: proxy?.host ?? host, port: proxy?.port ?? port)
    }
}

/// The connection of a request that has no response yet.
struct PendingExchange: Sendable {
    let socket: ProbeSocket
    /// The time when the system had accepted the request.
    let sent: NIODeadline
}

/// A request, the head of its response, and the connection.
struct ProbeExchange: Sendable {
    let request: ProbeRequest
    let socket: ProbeSocket
    let response: ProbeResponse
}

/// An authenticator that waits for its client.
struct ProbeAuthenticator: Sendable {
    let socket: ProbeSocket
    let routing: RoutingID
    let tunnel: TunnelID

    /// The path that the client requests.
    var path: TunnelPath { .connect(routing, tunnel) }
}

/// Both ends of a tunnel.
struct ProbeTunnel: Sendable {
    let phone: ProbeSocket
    let client: ProbeSocket
    /// The path with which the client joined.
    let path: TunnelPath
}

extension CheckRun {
    /// Returns a request for `/cable/new` with a random tunnel ID and the deviations of a check.
    func newRequest(_ deviate: (inout ProbeRequest) -> Void = { _ in }) -> ProbeRequest {
        var request = ProbeRequest(TunnelPath.new(.random()).text)
        deviate(&request)
        return request
    }

    /// Opens a tunnel as an authenticator.
    func phone() async throws(ProbeError) -> ProbeAuthenticator {
        do throws(ProbeError) {
            let tunnel = TunnelID.random()
            let made = try await ask(ProbeRequest(TunnelPath.new(tunnel).text))
            guard made.response.status == 101 else {
                throw .noTunnel("/cable/new was answered \(made.response.summary)")
            }
            guard let routing = made.response.routingID else { throw .noTunnel("/cable/new gave no routing ID") }
            return ProbeAuthenticator(socket: made.socket, routing: routing, tunnel: tunnel)
        } catch {
            throw error.asPremise(after: options.timeout)
        }
    }

    /// Opens a tunnel with both ends.
    func tunnel() async throws(ProbeError) -> ProbeTunnel {
        guard failedTunnels < Self.failedTunnelLimit else {
            throw .noTunnel("\(failedTunnels) in a row could not be opened")
        }
        failedTunnels += 1
        let tunnel = try await join(try await phone())
        failedTunnels = 0
        return tunnel
    }

    /// Joins a tunnel as a client.
    func join(_ phone: ProbeAuthenticator) async throws(ProbeError) -> ProbeTunnel {
        do throws(ProbeError) {
            let joined = try await ask(ProbeRequest(phone.path.text))
            guard joined.response.status == 101 else {
                throw .noTunnel("/cable/connect was answered \(joined.response.summary)")
            }
            return ProbeTunnel(phone: phone.socket, client: joined.socket, path: phone.path)
        } catch {
            throw error.asPremise(after: options.timeout)
        }
    }

    /// Returns the tunnel that earlier checks have left usable, or a new one, which the next check can use.
    func sharedTunnel() async throws(ProbeError) -> ProbeTunnel {
        if let shared { return shared }
        let tunnel = try await tunnel()
        shared = tunnel
        return tunnel
    }
}
