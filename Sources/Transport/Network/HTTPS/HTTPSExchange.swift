// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridPrimitives
internal import HybridThreads
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// One request to one host and its response: name resolution, proxy, TCP, TLS, HTTP.
final class HTTPSExchange: Sendable {
    private struct Progress {
        /// The caller that waits; `nil` after the result.
        var promise: EventLoopPromise<HTTPSResponse>?
        var channels: [any Channel] = []
        var resolver: AddressResolver?
    }

    private let request: HTTPSRequest
    private let url: HTTPSURL
    private let client: HTTPSClient
    private let end: NIODeadline
    private let loop = MultiThreadedEventLoopGroup.singleton.next()
    private let progress: Locked<Progress>
    private let result: EventLoopFuture<HTTPSResponse>

    init(_ request: HTTPSRequest, to url: HTTPSURL, of client: HTTPSClient, until end: NIODeadline) {
        (self.request, self.url, self.client, self.end) = (request, url, client, end)
        let promise = loop.makePromise(of: HTTPSResponse.self)
        result = promise.futureResult
        progress = Locked(Progress(promise: promise))
    }

    /// Sends the request and returns the response.
    ///
    /// - Throws: ``HTTPSError``, `CancellationError`.
    func run() async throws -> HTTPSResponse {
        let timeout = loop.scheduleTask(deadline: end) { self.finish(.failure(HTTPSError.timedOut)) }
        defer { timeout.cancel() }
        return try await withTaskCancellationHandler {
            do {
                try start()
            } catch {
                finish(.failure(error))
            }
            return try await result.get()
        } onCancel: {
            finish(.failure(CancellationError()))
        }
    }

    /// Completes the exchange; only the first result counts.
    private func finish(_ result: Result<HTTPSResponse, any Error>) {
        let ended = progress.withLock { progress in
            defer { progress = Progress() }
            return progress
        }
        guard let promise = ended.promise else { return }
        ended.resolver?.cancel()
        for channel in ended.channels { channel.close(promise: nil) }
        promise.completeWith(result.mapError { Self.explained($0) })
    }

    // MARK: Connecting

    private func start() throws {
        let override = client.network.connectTo.lazy.compactMap { [url] in
            $0.target(for: url.host, port: url.port)
        }.first
        let isFree = override != nil || !client.addresses.isRestricted
        guard isFree || client.addresses.permits(url) else { throw HTTPSError.addressNotAllowed }
        let target = override ?? (url.host, url.port)
        let (system, policy) = (client.network.lookup, client.addresses)
        let lookup = isFree ? system : system.permitting { policy.permits($0) }
        guard let proxy = try client.network.proxies.proxy(for: url.host, port: url.port) else {
            return connect(to: target, lookup)
        }
        guard !isFree else { return connect(to: (proxy.host, proxy.port), system, by: proxy, target) }
        // The proxy gets an address that was checked, and resolves nothing.
        let isWanted = { @Sendable in self.progress.withLock { $0.promise != nil } }
        client.network.lookupThreads
            .run(on: loop, request.lookupShare, isWanted: isWanted) { try lookup.addresses(target.0, target.1) }
            .whenComplete { result in
                switch result.map({ $0.first?.ipAddress }) {
                case .success(let address?):
                    self.connect(to: (proxy.host, proxy.port), system, by: proxy, (address, target.1))
                case .success(nil): self.finish(.failure(HTTPSError.hostNotFound))
                case .failure(let error): self.finish(.failure(error))
                }
            }
    }

    /// Connects to a host, or to a proxy that is asked for `destination`.
    private func connect(
        to host: (host: String, port: Int),
        _ lookup: NameLookup,
        by proxy: HTTPProxy? = nil,
        _ destination: (String, Int)? = nil
    ) {
        let resolver = AddressResolver(
            lookup,
            on: loop,
            threads: client.network.lookupThreads,
            share: request.lookupShare,
            permits: { _ in true },
            found: { _ in }
        )
        let isPending = progress.withLock { progress in
            progress.resolver = resolver
            return progress.promise != nil
        }
        guard isPending else { return }
        ClientBootstrap(group: loop)
            .resolver(resolver)
            .connectTimeout(max(.milliseconds(1), end - .now()))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let isPending = self.progress.withLock { progress in
                        if progress.promise != nil { progress.channels.append(channel) }
                        return progress.promise != nil
                    }
                    guard isPending else { throw CancellationError() }
                    try self.configure(channel, by: proxy, destination)
                }
            }
            .connect(host: host.host, port: host.port)
            .whenFailure { self.finish(.failure($0)) }
    }

    private func configure(_ channel: any Channel, by proxy: HTTPProxy?, _ destination: (String, Int)?) throws {
        let pipeline = channel.pipeline.syncOperations
        if let proxy, let destination {
            let handler = proxy.connectHandler(to: destination.0, port: destination.1) { result in
                if case .failure(let error) = result { self.finish(.failure(error)) }
            }
            try pipeline.addHandler(handler)
        }
        try pipeline.addHandler(client.tls.handler(for: url.host))
        try pipeline.addHandlers([
            HeadLimiter(), HTTPRequestEncoder(), ByteToMessageHandler(HTTPResponseDecoder()),
            HTTPSResponseCollector(head, request.body, limit: client.maximumBodyLength) { [url] result in
                self.finish(result.map { HTTPSResponse(url: url, status: $0.status, body: $0.body, fields: $0.fields) })
            },
        ])
    }

    private var head: HTTPRequestHead {
        var fields = HTTPHeaders([("Host", url.authority), ("User-Agent", UserAgent.text), ("Connection", "close")])
        // Nothing here decompresses bodies.
        fields.add(name: "Accept-Encoding", value: "identity")
        for (name, value) in request.fields { fields.add(name: name, value: value) }
        if request.method == .post { fields.add(name: "Content-Length", value: String(request.body.count)) }
        return HTTPRequestHead(
            version: .http1_1,
            method: request.method == .post ? .POST : .GET,
            uri: url.target,
            headers: fields
        )
    }

    // MARK: Errors

    private static func explained(_ error: any Error) -> any Error {
        switch error {
        case is CancellationError, is HTTPSError: return error
        case is AddressResolver.NothingPermitted: return HTTPSError.addressNotAllowed
        case is NameLookup.NoAddress: return HTTPSError.hostNotFound
        case is LookupThreads.Busy: return HTTPSError.lookupsBusy
        case let error as NetworkError: return HTTPSError.proxy(error)
        case is MalformedResponse, is HTTPParserError, is NIOHTTPDecoderError: return HTTPSError.malformedResponse
        case let error as NIOConnectionError:
            if [error.dnsAError, error.dnsAAAAError].contains(where: { $0 is AddressResolver.NothingPermitted }) {
                return HTTPSError.addressNotAllowed
            }
            if error.dnsAAAAError is LookupThreads.Busy { return HTTPSError.lookupsBusy }
            guard let cause = error.connectionErrors.first?.error else { return HTTPSError.hostNotFound }
            return HTTPSError.unreachable(reason(cause))
        case ChannelError.connectTimeout: return HTTPSError.timedOut
        default: return error is TLSFailure ? HTTPSError.notTrusted : HTTPSError.unreachable(reason(error))
        }
    }

    private static func reason(_ error: any Error) -> String {
        (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "the connection ended"
    }
}

extension NameLookup {
    /// Returns a lookup that refuses a name if any of its addresses is not permitted.
    fileprivate func permitting(_ permits: @escaping @Sendable (IPAddress) -> Bool) -> NameLookup {
        NameLookup { host, port in
            let all = try addresses(host, port)
            guard all.allSatisfy({ $0.ipAddress.flatMap { IPAddress($0) }.map(permits) ?? false }) else {
                throw AddressResolver.NothingPermitted()
            }
            return all
        }
    }
}

/// A handler that sends the request and collects the response.
private final class HTTPSResponseCollector: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    struct Response {
        let status: Int
        let fields: HTTPHeaders
        var body: [UInt8] = []
    }

    private let head: HTTPRequestHead
    private let body: [UInt8]
    private let limit: Int
    private let completion: (Result<Response, any Error>) -> Void
    private var response: Response?

    /// Creates a collector; `completion` may be called more than once, and only the first call counts.
    init(
        _ head: HTTPRequestHead,
        _ body: [UInt8],
        limit: Int,
        completion: @escaping (Result<Response, any Error>) -> Void
    ) {
        (self.head, self.body, self.limit, self.completion) = (head, body, limit, completion)
    }

    func channelActive(context: ChannelHandlerContext) {
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        if !body.isEmpty {
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
        }
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head): response = Response(status: Int(head.status.code), fields: head.headers)
        case .body(let part):
            guard (response?.body.count ?? 0) + part.readableBytes <= limit else {
                return completion(.failure(HTTPSError.bodyTooLong))
            }
            response?.body.append(contentsOf: part.readableBytesView)
        case .end: if let response { completion(.success(response)) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { completion(.failure(error)) }

    func channelInactive(context: ChannelHandlerContext) {
        completion(.failure(HTTPSError.unreachable("the connection ended")))
    }
}
