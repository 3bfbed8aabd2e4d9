// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL

/// Collects what a relay sends until somebody asks for it; lives on the connection's event loop.
final class ProbeInbox {
    /// What one connection may send in all: several times what any check needs, so that a relay that floods is
    /// neither stored nor listened to for ever.
    static let limit = 8 << 20
    /// So many of the last reads have their time remembered.
    private static let rememberedReads = 64

    private struct Request {
        let attempt: () -> Bool
        let fail: (ProbeError) -> Void
        let timer: Scheduled<Void>
    }

    private var collected = ByteBuffer()
    private var received = 0
    private var reads: [(end: Int, time: NIODeadline)] = []
    private var ending: ProbeError?
    private var request: Request?
    /// The other end's address; once a connection is closed, it knows none.
    private(set) var remoteAddress: SocketAddress?
    /// What TLS has agreed on; once a connection is closed, it knows nothing of that either.
    private(set) var tlsVersion: TLSVersion?
    /// From when to when the other end's certificate holds, in seconds since 1970.
    private(set) var certificatePeriod: (start: Int, end: Int)?

    /// What `parse` makes of the bytes once it finds enough of them; one request at a time.
    func next<Value: Sendable>(
        by deadline: NIODeadline,
        on eventLoop: any EventLoop,
        _ parse: @escaping @Sendable (inout ByteBuffer) throws(ProbeError) -> Value?
    ) -> EventLoopFuture<(value: Value, arrival: NIODeadline)> {
        let promise = eventLoop.makePromise(of: (value: Value, arrival: NIODeadline).self)
        let attempt = { [self] () -> Bool in
            do throws(ProbeError) {
                guard let value = try parse(&collected) else { return false }
                promise.succeed((value, arrivalOfLastParsed))
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

    /// When the last of the bytes came that were taken from the front.
    private var arrivalOfLastParsed: NIODeadline {
        let taken = received - collected.readableBytes
        return reads.first { $0.end >= taken }?.time ?? .now()
    }

    /// Remembers what TLS has agreed on; to be called as soon as the handshake is over.
    func noteTLS(of channel: any Channel) {
        guard tlsVersion == nil else { return }
        let pipeline = channel.pipeline.syncOperations
        tlsVersion = try? pipeline.nioSSL_tlsVersion()
        guard let certificate = try? pipeline.nioSSL_peerCertificate() else { return }
        certificatePeriod = (certificate.notValidBefore, certificate.notValidAfter)
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

    func channelActive(context: ChannelHandlerContext) {
        remoteAddress = context.remoteAddress
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What comes after the limit, until the connection is closed, is not kept either.
        guard received <= Self.limit else { return }
        var bytes = unwrapInboundIn(data)
        received += bytes.readableBytes
        if reads.count == Self.rememberedReads { reads.removeFirst() }
        reads.append((received, .now()))
        collected.writeBuffer(&bytes)
        if let request, request.attempt() {
            request.timer.cancel()
            self.request = nil
        }
        if received > Self.limit {
            end(.malformed("more than \(Self.limit >> 20) MiB came on one connection"))
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
