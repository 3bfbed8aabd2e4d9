// SPDX-License-Identifier: Apache-2.0

internal import CaBLE
internal import NIOCore
internal import NIOSSL

/// The connections of one run: how many there were, which are open, which tunnel several checks share.
///
/// Used by one task. The checks themselves are in the folder `Checks`.
final class CheckRun {
    /// How many connections a run may make; a relay that is as it should be sees fewer.
    static let connectionLimit = 48

    let relay: RelayAddress
    let options: CheckOptions
    private let strict: NIOSSLContext?
    private let lenient: NIOSSLContext?
    private var target: ProbeSocket.Target
    private var open: [ProbeSocket] = []
    private var shared: ProbeTunnel?
    /// Set by a check when nothing else can be found out.
    var whyHopeless: String?
    /// What several checks look at is fetched once.
    var opening: Result<Opening, ProbeError>?
    var malformedStatuses: Result<[Int], ProbeError>?

    /// So many tunnels in a row could not be opened; a relay that opens none is not asked for each check again.
    fileprivate var failedTunnels = 0
    fileprivate static let failedTunnelLimit = 3

    private(set) var connections = 0
    /// How long TCP took to connect, the quickest time.
    private(set) var connectTime: TimeAmount?

    init(relay: RelayAddress, options: CheckOptions) throws(CheckFailure) {
        self.relay = relay
        self.options = options
        let (host, port) = options.detour?.target(of: relay) ?? (relay.host, relay.port)
        target = .name(host: host, port: port)
        if relay.isSecure {
            strict = try Self.context(options, isStrict: true)
            lenient = try Self.context(options, isStrict: false)
        } else {
            (strict, lenient) = (nil, nil)
        }
    }

    private static func context(_ options: CheckOptions, isStrict: Bool) throws(CheckFailure) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["http/1.1"]
        // One check judges the certificate. The others send nothing secret, and what they find is wanted also
        // of a relay whose certificate is wrong.
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

    /// Finds the relay's address, which all later connections go to.
    func reach(by deadline: NIODeadline) async throws(ProbeError) -> String {
        // Once it is closed, a connection knows no address.
        let address = try await connect(tls: nil, by: deadline).remoteAddress
        await closeUnshared()
        guard let address, let host = address.ipAddress else { throw .unreachable("the connection ended at once") }
        target = .address(address)
        return (host.contains(":") ? "[\(host)]" : host) + ":\(address.port ?? 0)"
    }

    private func connect(tls: ProbeSocket.TLS?, by deadline: NIODeadline) async throws(ProbeError) -> ProbeSocket {
        guard connections < Self.connectionLimit else { throw .outOfConnections }
        connections += 1
        let start = NIODeadline.now()
        let socket = try await ProbeSocket.connect(to: target, tls: tls, by: deadline)
        // The first one looks a name up, too.
        if case .address = target {
            connectTime = min(connectTime ?? .hours(1), NIODeadline.now() - start)
        }
        open.append(socket)
        return socket
    }

    /// A connection on which TLS, if the relay speaks it, is not judged unless that is asked for.
    func connect(judging: Bool = false, by deadline: NIODeadline) async throws(ProbeError) -> ProbeSocket {
        let tls = (judging ? strict : lenient).map { ProbeSocket.TLS(context: $0, host: relay.host) }
        return try await connect(tls: tls, by: deadline)
    }

    /// Sends a request on a connection of its own and reads the head of the answer.
    func ask(
        _ request: ProbeRequest,
        by deadline: NIODeadline
    ) async throws(ProbeError) -> (socket: ProbeSocket, response: ProbeResponse) {
        let socket = try await connect(by: deadline)
        try await socket.send(request.bytes(host: relay.authority), by: deadline)
        let response = try await socket.next(by: deadline, ProbeResponse.take(from:))
        guard response.status != 429, response.status != 503 else { throw .busy(response.status) }
        return (socket, response)
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
            guard response.status == 101 else { throw .noTunnel("/cable/new was answered \(response.status)") }
            guard let text = response.values(of: TunnelPath.routingIDHeader).first, let routing = RoutingID(hex: text)
            else { throw .noTunnel("/cable/new gave no routing ID") }
            return ProbePhone(socket: socket, routing: routing, tunnel: tunnel)
        } catch {
            throw error.asPremise
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
            guard response.status == 101 else { throw .noTunnel("/cable/connect was answered \(response.status)") }
            return ProbeTunnel(phone: phone.socket, client: socket, routing: phone.routing, tunnel: phone.tunnel)
        } catch {
            throw error.asPremise
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
