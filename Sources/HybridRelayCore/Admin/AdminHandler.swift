// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1

/// One connection to the admin listener; it must ask within some seconds and is asked nothing about a body.
final class AdminHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let patience = TimeAmount.seconds(10)

    private let answers: AdminAnswers
    private var alarm: Scheduled<Void>?
    private var request: HTTPRequestHead?

    init(_ answers: AdminAnswers) { self.answers = answers }

    func handlerAdded(context: ChannelHandlerContext) { setAlarm(context) }

    func handlerRemoved(context: ChannelHandlerContext) { alarm?.cancel() }

    private func setAlarm(_ context: ChannelHandlerContext) {
        alarm?.cancel()
        let channel = context.channel
        alarm = context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head): request = head
        case .body: break
        case .end:
            guard let request else { return }
            self.request = nil
            setAlarm(context)
            answer(request, context)
        }
    }

    private func answer(_ request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let answer = answers.answer(request.method, request.uri)
        let body = ByteBuffer(string: answer.body)
        var headers = HTTPHeaders([
            ("Content-Type", answer.type), ("Content-Length", "\(body.readableBytes)"), ("Cache-Control", "no-store"),
        ])
        if answer.status == .methodNotAllowed { headers.add(name: "Allow", value: "GET, HEAD") }
        if !request.isKeepAlive { headers.add(name: "Connection", value: "close") }
        let head = HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers)
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
