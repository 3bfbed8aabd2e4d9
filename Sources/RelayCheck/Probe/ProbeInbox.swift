// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Collects what a relay sends until somebody asks for it; lives on the connection's event loop.
final class ProbeInbox {
    /// More than any check asks a relay to send, so that a relay that floods is not stored.
    private static let limit = 4 << 20

    private struct Request {
        let attempt: () -> Bool
        let fail: (ProbeError) -> Void
        let timer: Scheduled<Void>
    }

    private var collected = ByteBuffer()
    private var ending: ProbeError?
    private var request: Request?

    /// What `parse` makes of the bytes once it finds enough of them; one request at a time.
    func next<Value: Sendable>(
        by deadline: NIODeadline,
        on eventLoop: any EventLoop,
        _ parse: @escaping @Sendable (inout ByteBuffer) throws(ProbeError) -> Value?
    ) -> EventLoopFuture<Value> {
        let promise = eventLoop.makePromise(of: Value.self)
        let attempt = { [self] () -> Bool in
            do throws(ProbeError) {
                guard let value = try parse(&collected) else { return false }
                promise.succeed(value)
            } catch {
                promise.fail(error)
            }
            return true
        }
        if attempt() { return promise.futureResult }
        if let ending {
            promise.fail(ending)
            return promise.futureResult
        }
        let inbox = NIOLoopBound(self, eventLoop: eventLoop)
        let timer = eventLoop.scheduleTask(deadline: deadline) { inbox.value.expire() }
        request = Request(attempt: attempt, fail: { promise.fail($0) }, timer: timer)
        return promise.futureResult
    }

    private func expire() {
        request?.fail(.timedOut)
        request = nil
    }

    private func end(_ error: ProbeError) {
        if ending == nil { ending = error }
        request?.timer.cancel()
        request?.fail(ending ?? error)
        request = nil
    }

    /// Why the connection ended, if it has.
    var whyEnded: ProbeError? { ending }
}

@available(*, unavailable)
extension ProbeInbox: Sendable {}

extension ProbeInbox: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        collected.writeBuffer(&bytes)
        if let request, request.attempt() {
            request.timer.cancel()
            self.request = nil
        }
        if collected.readableBytes > Self.limit {
            collected.clear()
            end(.malformed("more than \(Self.limit) bytes that nobody asked for"))
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(.hungUp("closed by the relay"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(ProbeError(error))
        context.close(promise: nil)
    }
}
