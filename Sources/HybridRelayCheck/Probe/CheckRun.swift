// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridDataChannel
internal import HybridPrimitives
internal import NIOCore
internal import NIOSSL

/// The connections of one run: how many there were, which are open, which tunnel several checks share.
///
/// Used by one task. The checks themselves are in the folder `Checks`.
final class CheckRun {
    /// How many connections a run may make: as many as the checks need if each has to open its own tunnel.
    ///
    /// A relay that is as it should be sees 38 to 41.
    static let connectionLimit = 60
    /// After so many connections in a row that were refused, nothing more is tried.
    private static let setbackLimit = 3

    let relay: RelayAddress
    let options: CheckOptions
    private let strict: NIOSSLContext?
    private let lenient: NIOSSLContext?
    private var target: ProbeSocket.Target
    private let passage: ProbeSocket.Passage?
    private var open: [ProbeSocket] = []
    private var shared: ProbeTunnel?
    private var setbacks = 0
    /// Set by a check when nothing else can be found out.
    var whyHopeless: String?
    /// What several checks look at is fetched once.
    var opening: Result<Opening, ProbeError>?
    var malformedStatuses: Result<[Int], ProbeError>?

    /// So many tunnels in a row could not be opened; a relay that opens none is not asked for each check again.
    fileprivate var failedTunnels = 0
    fileprivate static let failedTunnelLimit = 3

    private(set) var connections = 0
    private(set) var wantsToken = false
    /// How long the relay took to open a tunnel's end once it had been asked, the quickest time.
    private(set) var openingTime: TimeAmount?

    init(relay: RelayAddress, options: CheckOptions) throws(CheckFailure) {
        self.relay = relay
        self.options = options
        let (host, port) = options.detour?.target(of: relay) ?? (relay.host, relay.port)
        // As for tunnels, the relay's name decides whether there is a proxy, and the proxy is asked for the detour's end.
        passage = try Self.way(to: relay, options).map { ProbeSocket.Passage(way: $0, host: host, port: port) }
        target = passage.map { .name(host: $0.way.host, port: $0.way.port) } ?? .name(host: host, port: port)
        if relay.isSecure {
            strict = try Self.context(options, isStrict: true)
            lenient = try Self.context(options, isStrict: false)
        } else {
            (strict, lenient) = (nil, nil)
        }
    }

    private static func way(to relay: RelayAddress, _ options: CheckOptions) throws(CheckFailure) -> ProxyRoute? {
        guard relay.isSecure else { return nil }
        do throws(TunnelError) {
            return try ProxyRoute(to: relay.host, port: relay.port, by: ProxySettings(environment: options.environment))
        } catch {
            guard case .proxySettingUnusable(let variable, _) = error else { return nil }
            throw .proxyUnusable(variable: variable)
        }
    }

    private static func context(_ options: CheckOptions, isStrict: Bool) throws(CheckFailure) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["http/1.1"]
        configuration.minimumTLSVersion = isStrict ? .tlsv12 : .tlsv1
        configuration.certificateVerification = isStrict ? .fullVerification : .none
        if let path = options.trustedCertificates {
            guard let certificates = try? NIOSSLCertificate.fromPEMFile(path), !certificates.isEmpty else {
                throw .certificatesUnusable(path)
            }
            configuration.trustRoots = .certificates(certificates)
        }
        guard let context = try? NIOSSLContext(configuration: configuration) else {
            throw .certificatesUnusable(options.trustedCertificates ?? "the system's certificates")
        }
        return context
    }

    /// Finds the relay's address, or that of the proxy on the way to it, which all later connections go to.
    func reach(by deadline: NIODeadline) async throws(ProbeError) -> String {
        let address = await (try connect(tls: nil, by: deadline)).remoteAddress()
        await closeUnshared()
        guard let address, let host = address.ipAddress else { throw .unreachable("the connection ended at once") }
        target = .address(address)
        if let passage { return "the proxy \(passage.way)" }
        return (host.contains(":") ? "[\(host)]" : host) + ":\(address.port ?? 0)"
    }

    private func connect(tls: NIOSSLContext?, by deadline: NIODeadline) async throws(ProbeError) -> ProbeSocket {
        guard connections < Self.connectionLimit else { throw .outOfConnections }
        connections += 1
        do throws(ProbeError) {
            let tls = tls.map { ProbeSocket.TLS(context: $0, host: relay.host) }
            let socket = try await ProbeSocket.connect(to: target, through: passage, tls: tls, by: deadline)
            open.append(socket)
            return socket
        } catch {
            noteSetback("the relay takes no connections any more")
            throw error
        }
    }

    /// A connection on which the certificate counts.
    func connectStrictly(by deadline: NIODeadline) async throws(ProbeError) -> ProbeSocket {
        try await connect(tls: strict, by: deadline)
    }

    /// A connection on which it does not; nothing secret is sent on it.
    func connectLeniently(by deadline: NIODeadline) async throws(ProbeError) -> ProbeSocket {
        try await connect(tls: lenient, by: deadline)
    }

    /// A connection for whatever a check does.
    ///
    /// Only one check judges the certificate; what the others find is wanted also of a relay whose certificate is
    /// wrong, unless there is a token to lose.
    func connect(by deadline: NIODeadline) async throws(ProbeError) -> ProbeSocket {
        try await connect(tls: options.token == nil ? lenient : strict, by: deadline)
    }

    /// Sends a request on a connection of its own and reads the head of the answer, whatever it is.
    func exchange(
        _ request: ProbeRequest,
        by deadline: NIODeadline
    ) async throws(ProbeError) -> (socket: ProbeSocket, response: ProbeResponse) {
        let socket = try await connect(by: deadline)
        var bytes = request.bytes(host: relay.authority, token: options.token)
        defer { bytes.withUnsafeMutableBytes { SecretBytes.wipe($0) } }
        let sent = try await socket.send(bytes, by: deadline)
        let (response, arrival) = try await socket.nextTimed(by: deadline, ProbeResponse.take(from:))
        if response.status == 429 || response.status == 503 {
            noteSetback("the relay answers \(response.status) again and again")
            throw .busy(response.status)
        }
        setbacks = 0
        if response.status == 101 { openingTime = min(openingTime ?? .hours(1), max(arrival - sent, .zero)) }
        return (socket, response)
    }

    /// The same; where tunnels are opened, 401 tells that this can't be done without the right token.
    func ask(
        _ request: ProbeRequest,
        by deadline: NIODeadline
    ) async throws(ProbeError) -> (socket: ProbeSocket, response: ProbeResponse) {
        let answer = try await exchange(request, by: deadline)
        if request.carriesToken, answer.response.status == 401 {
            wantsToken = true
            throw .needsToken(hasSentOne: options.token != nil)
        }
        return answer
    }

    private func noteSetback(_ why: String) {
        setbacks += 1
        if setbacks == Self.setbackLimit { whyHopeless = why }
    }

    /// Closes what a check has left, except the shared tunnel.
    func closeUnshared() async {
        let kept = shared
        let all = open
        open = []
        for socket in all {
            if let kept, socket.isSame(as: kept.phone) || socket.isSame(as: kept.client) {
                open.append(socket)
            } else {
                await socket.close()
            }
        }
    }
}

@available(*, unavailable)
extension CheckRun: Sendable {}

/// The answer to `/cable/new`, and what was asked.
struct Opening: Sendable {
    let request: ProbeRequest
    let response: ProbeResponse
}

/// A phone that waits for its client.
struct ProbePhone: Sendable {
    let socket: ProbeSocket
    let routing: RoutingID
    let tunnel: TunnelID
}

/// Both ends of a tunnel.
struct ProbeTunnel: Sendable {
    let phone: ProbeSocket
    let client: ProbeSocket
    let routing: RoutingID
    let tunnel: TunnelID
}

extension CheckRun {
    /// A tunnel ID that nobody else uses.
    func freshTunnel() throws(ProbeError) -> TunnelID {
        guard let tunnel = TunnelID(bytes: (0..<TunnelID.length).map { _ in UInt8.random(in: 0...255) }) else {
            throw .malformed("no tunnel ID")
        }
        return tunnel
    }

    /// A phone whose tunnel is open.
    func phone(by deadline: NIODeadline) async throws(ProbeError) -> ProbePhone {
        try await phone(tunnel: try freshTunnel(), by: deadline)
    }

    /// A phone whose tunnel is open under an ID of the check's own.
    func phone(tunnel: TunnelID, by deadline: NIODeadline) async throws(ProbeError) -> ProbePhone {
        do throws(ProbeError) {
            let (socket, response) = try await ask(ProbeRequest(TunnelPath.new(tunnel).text), by: deadline)
            guard response.status == 101 else { throw .noTunnel("/cable/new was answered \(response.summary)") }
            guard let text = response.values(of: TunnelPath.routingIDHeader).first, let routing = RoutingID(hex: text)
            else { throw .noTunnel("/cable/new gave no routing ID") }
            return ProbePhone(socket: socket, routing: routing, tunnel: tunnel)
        } catch {
            throw error.asPremise(after: options.timeout)
        }
    }

    /// A tunnel with both ends there.
    func tunnel(by deadline: NIODeadline) async throws(ProbeError) -> ProbeTunnel {
        guard failedTunnels < Self.failedTunnelLimit else {
            throw .noTunnel("\(failedTunnels) in a row could not be opened")
        }
        failedTunnels += 1
        let tunnel = try await join(try await phone(by: deadline), by: deadline)
        failedTunnels = 0
        return tunnel
    }

    /// Has a client join a phone's tunnel.
    func join(_ phone: ProbePhone, by deadline: NIODeadline) async throws(ProbeError) -> ProbeTunnel {
        do throws(ProbeError) {
            let path = TunnelPath.connect(phone.routing, phone.tunnel)
            let (socket, response) = try await ask(ProbeRequest(path.text), by: deadline)
            guard response.status == 101 else { throw .noTunnel("/cable/connect was answered \(response.summary)") }
            return ProbeTunnel(phone: phone.socket, client: socket, routing: phone.routing, tunnel: phone.tunnel)
        } catch {
            throw error.asPremise(after: options.timeout)
        }
    }

    /// The tunnel that the check before has left in order, or a new one; for the next check to use, too.
    func sharedTunnel(by deadline: NIODeadline) async throws(ProbeError) -> ProbeTunnel {
        if let shared { return shared }
        let tunnel = try await tunnel(by: deadline)
        shared = tunnel
        return tunnel
    }

    /// Leaves a tunnel in order for the next check.
    func share(_ tunnel: ProbeTunnel) { shared = tunnel }

    /// The shared tunnel has ended, or nobody knows what is on its way in it.
    func dropShared() { shared = nil }
}
