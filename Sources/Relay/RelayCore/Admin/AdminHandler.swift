// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import NIOCore
internal import NIOHTTP1

/// The handler of one connection to the admin listener.
///
/// A request must arrive within ten seconds; its body is ignored.
final class AdminHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let timeout = TimeAmount.seconds(10)

    private let responder: AdminResponder
    private var timeoutTask: Scheduled<Void>?
    private var request: HTTPRequestHead?

    init(_ responder: AdminResponder) { self.responder = responder }

    func handlerAdded(context: ChannelHandlerContext) { restartTimeout(context) }

    func handlerRemoved(context: ChannelHandlerContext) { timeoutTask?.cancel() }

    private func restartTimeout(_ context: ChannelHandlerContext) {
        timeoutTask?.cancel()
        let channel = context.channel
        timeoutTask = context.eventLoop.scheduleTask(in: Self.timeout) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head): request = head
        case .body: break
        case .end:
            guard let request else { return }
            self.request = nil
            restartTimeout(context)
            respond(to: request, context)
        }
    }

    private func respond(to request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let response = responder.response(to: request.method, request.uri, host: request.headers["host"])
        let body = ByteBuffer(string: response.body)
        var headers = HTTPHeaders([
            ("Content-Type", response.type), ("Content-Length", "\(body.readableBytes)"), ("Cache-Control", "no-store"),
        ])
        if response.status == .methodNotAllowed { headers.add(name: "Allow", value: "GET, HEAD") }
        if !request.isKeepAlive { headers.add(name: "Connection", value: "close") }
        let head = HTTPResponseHead(version: .http1_1, status: response.status, headers: headers)
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        if request.method != .HEAD { context.write(Self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        let channel = context.channel
        let isLast = !request.isKeepAlive
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil))).whenComplete { _ in
            if isLast { channel.close(promise: nil) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

@available(*, unavailable)
extension AdminHandler: Sendable {}

/// The responses of the admin listener, computed without sockets.
struct AdminResponder: Sendable {
    struct Response: Equatable {
        var status: HTTPResponseStatus
        var type = "text/plain; charset=utf-8"
        var body: String
    }

    /// Names under which the server may be requested, besides `localhost`.
    let hosts: Set<String>
    let health: @Sendable () -> RelayHealth
    let metrics: @Sendable () -> String

    /// Returns the response to a request; a query in the target is ignored.
    ///
    /// The host of a target in absolute form replaces `Host` (RFC 9112 §3.2.2).
    func response(to method: HTTPMethod, _ target: String, host: [String]) -> Response {
        let absolute = Self.absoluteTarget(target)
        let target = absolute.map { String($0.rest) } ?? target
        guard (absolute.map { [String($0.host)] } ?? host).allSatisfy(isOwn) else {
            return Response(
                status: .misdirectedRequest,
                body: "this host name is not configured; use an address (hybrid-relay serve --admin-host adds names)\n"
            )
        }
        let path = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
        guard ["/metrics", "/healthz", "/readyz"].contains(path) else {
            return Response(status: .notFound, body: "not found; available are /metrics, /healthz and /readyz\n")
        }
        guard method == .GET || method == .HEAD else {
            return Response(status: .methodNotAllowed, body: "GET is required\n")
        }
        if path == "/metrics" {
            return Response(status: .ok, type: "text/plain; version=0.0.4; charset=utf-8", body: metrics())
        }
        return state(path)
    }

    /// Returns the host and the rest of a target in absolute form, such as `http://host/path`; `nil` for other forms.
    private static func absoluteTarget(_ target: String) -> (host: Substring, rest: Substring)? {
        let schemes = ["http://", "https://"]
        guard let scheme = schemes.first(where: { target.prefix($0.count).lowercased() == $0 }) else { return nil }
        let authority = target.dropFirst(scheme.count)
        let end = authority.firstIndex { $0 == "/" || $0 == "?" } ?? authority.endIndex
        return (authority[..<end], authority[end...])
    }

    /// Returns true for an address, `localhost` or a configured name, with or without a port.
    private func isOwn(_ host: String) -> Bool {
        guard let name = HostPort(host)?.host.lowercased() else { return false }
        return name == "localhost" || IPAddress(name) != nil || hosts.contains(name)
    }

    private func state(_ path: Substring) -> Response {
        let health = health()
        let status: HTTPResponseStatus =
            switch health {
            case .broken: .serviceUnavailable
            case _ where path == "/healthz": .ok
            case .ready: .ok
            case .draining: .notFound
            case .starting, .stopped: .serviceUnavailable
            }
        return Response(status: status, body: "\(health.rawValue)\n")
    }
}
