// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1

/// What goes out on an event stream.
enum StreamPart: Sendable {
    case message(ByteBuffer)
    case end
}

/// One connection: a request, then one answer or a stream of events.
final class PageHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = StreamPart
    typealias OutboundOut = HTTPServerResponsePart

    private let server: PageServer
    private let patience: TimeAmount
    private var alarm: Scheduled<Void>?
    private var request: HTTPRequestHead?
    private var hasAnswered = false
    private var isStream = false

    init(_ server: PageServer, patience: TimeAmount) {
        self.server = server
        self.patience = patience
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        alarm = context.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { alarm?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        if isStream { server.leave(context.channel) }
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasAnswered else { return }
        switch Self.unwrapInboundIn(data) {
        case .head(let head): request = head
        case .body: answer(PageAnswer(.payloadTooLarge, "Nothing is taken here."), context)
        case .end:
            guard let request else { return }
            switch server.reply(to: request) {
            case .answer(let answer), .openedAgain(let answer): self.answer(answer, context)
            case .stream(let headers): stream(headers, context)
            }
        }
    }

    private func answer(_ answer: PageAnswer, _ context: ChannelHandlerContext) {
        hasAnswered = true
        let body = ByteBuffer(string: answer.body)
        var headers = answer.headers
        headers.add(name: "Content-Length", value: "\(body.readableBytes)")
        write(.head(HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers)), context)
        // HEAD is refused like every method but GET, and its answer has no body.
        if request?.method != .HEAD { write(.body(.byteBuffer(body)), context) }
        let channel = context.channel
        // Only our direction: who is still talking when all of it is closed may never see the answer. The alarm ends it.
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil))).whenComplete { _ in
            channel.close(mode: .output, promise: nil)
        }
    }

    private func stream(_ headers: HTTPHeaders, _ context: ChannelHandlerContext) {
        (hasAnswered, isStream) = (true, true)
        alarm?.cancel()
        write(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)), context)
        // Sooner than browsers would try again by themselves, and than the page counts as closed.
        write(.body(.byteBuffer(ByteBuffer(string: "retry: 500\n\n"))), context)
        context.flush()
        server.join(context.channel)
    }

    private func write(_ part: HTTPServerResponsePart, _ context: ChannelHandlerContext) {
        context.write(Self.wrapOutboundOut(part), promise: nil)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch Self.unwrapOutboundIn(data) {
        case .message(let bytes): context.write(Self.wrapOutboundOut(.body(.byteBuffer(bytes))), promise: promise)
        case .end: context.write(Self.wrapOutboundOut(.end(nil)), promise: promise)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !hasAnswered else { return context.close(promise: nil) }
        switch error {
        case is InboundBudget.Exceeded: answer(PageAnswer(.requestHeaderFieldsTooLarge, "That is too much."), context)
        case is HTTPParserError: answer(PageAnswer(.badRequest, "That is not a request."), context)
        default: context.close(promise: nil)
        }
    }
}

@available(*, unavailable)
extension PageHandler: Sendable {}

/// Counts what a connection says, before anything looks at it, and hears no more than so many bytes.
final class InboundBudget: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The connection has said too much.
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
extension InboundBudget: Sendable {}
