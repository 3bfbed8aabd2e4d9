// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1

/// The handler of a connection, which has one request and one response or event stream.
final class PageHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let server: PageServer
    private let timeout: TimeAmount
    private var timer: Scheduled<Void>?
    private var request: HTTPRequestHead?
    private var hasResponded = false
    private var isStream = false

    init(_ server: PageServer, timeout: TimeAmount) {
        self.server = server
        self.timeout = timeout
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: timeout) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        if isStream { server.removeStream(context.channel) }
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasResponded else { return }
        switch Self.unwrapInboundIn(data) {
        case .head(let head): request = head
        case .body: respond(PageResponse(.payloadTooLarge, "A request must not have a body."), context)
        case .end:
            guard let request else { return }
            switch server.reply(to: request) {
            case .response(let response), .tokenReused(let response): respond(response, context)
            case .stream(let headers): beginStream(headers, context)
            }
        }
    }

    private func respond(_ response: PageResponse, _ context: ChannelHandlerContext) {
        hasResponded = true
        let body = ByteBuffer(string: response.body)
        var headers = response.headers
        headers.add(name: "Content-Length", value: "\(body.readableBytes)")
        write(.head(HTTPResponseHead(version: .http1_1, status: response.status, headers: headers)), context)
        // Methods other than GET are rejected. The response to HEAD must not have a body.
        if request?.method != .HEAD { write(.body(.byteBuffer(body)), context) }
        let channel = context.channel
        // Close only the sending direction: closing both could reset the connection before a client that is still
        // sending has read the response. The timer closes the other direction.
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil))).whenComplete { _ in
            channel.close(mode: .output, promise: nil)
        }
    }

    private func beginStream(_ headers: HTTPHeaders, _ context: ChannelHandlerContext) {
        (hasResponded, isStream) = (true, true)
        timer?.cancel()
        write(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)), context)
        // After an interruption, the browser must reconnect before the page counts as closed; its default is longer.
        write(.body(.byteBuffer(ByteBuffer(string: "retry: 500\n\n"))), context)
        context.flush()
        server.addStream(context.channel)
    }

    private func write(_ part: HTTPServerResponsePart, _ context: ChannelHandlerContext) {
        context.write(Self.wrapOutboundOut(part), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !hasResponded else { return context.close(promise: nil) }
        switch error {
        case is InboundByteLimit.Exceeded:
            respond(PageResponse(.requestHeaderFieldsTooLarge, "The request is too large."), context)
        case is HTTPParserError: respond(PageResponse(.badRequest, "The request is malformed."), context)
        default: context.close(promise: nil)
        }
    }
}

@available(*, unavailable)
extension PageHandler: Sendable {}

/// A handler that limits the number of bytes that a connection receives, before they are parsed.
final class InboundByteLimit: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The error for a connection that has sent more bytes than allowed.
    struct Exceeded: Error {}

    private var rest: Int

    init(bytes: Int) { rest = bytes }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard rest >= 0 else { return }
        rest -= Self.unwrapInboundIn(data).readableBytes
        guard rest >= 0 else { return context.fireErrorCaught(Exceeded()) }
        context.fireChannelRead(data)
    }
}

@available(*, unavailable)
extension InboundByteLimit: Sendable {}
