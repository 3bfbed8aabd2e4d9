// SPDX-License-Identifier: Apache-2.0

internal import HybridNetwork
internal import NIOCore

/// A handler that buffers a relay's data until a check reads it; confined to the connection's event loop.
final class ProbeInbox {
    /// Maximum number of bytes received over one connection, so that a relay cannot flood the checker.
    ///
    /// This is several times the number that any check needs.
    static let limit = 8 << 20
    /// Number of recent reads whose time is recorded.
    private static let rememberedReads = 64

    private var collected = ByteBuffer()
    private var received = 0
    private var reads: [(end: Int, time: NIODeadline)] = []
    /// Tries to complete the pending wait, if there is one.
    private var attempt: (() -> Void)?
    /// The reason for the end of the connection, once it has ended.
    private(set) var ending: ProbeError?
    /// The peer's address, kept because a closed channel has none.
    private(set) var remoteAddress: SocketAddress?
    /// The negotiated TLS version, kept because a closed channel has none.
    private(set) var tlsVersion: TLSVersion?
    /// The validity period of the peer's certificate, in seconds since 1970; a date that cannot be read is `nil`.
    private(set) var certificateValidity: (start: Int?, end: Int?)?

    /// Waits until `parse` returns a value for the received bytes; only one wait may be pending.
    func next<Value: Sendable>(
        by deadline: NIODeadline,
        on eventLoop: any EventLoop,
        _ parse: @escaping @Sendable (inout ByteBuffer) throws(ProbeError) -> Value?
    ) -> EventLoopFuture<(value: Value, arrival: NIODeadline)> {
        let promise = eventLoop.makePromise(of: (value: Value, arrival: NIODeadline).self)
        let inbox = NIOLoopBound(self, eventLoop: eventLoop)
        let timer = eventLoop.scheduleTask(deadline: deadline) { promise.fail(ProbeError.timedOut) }
        promise.futureResult.whenComplete { _ in
            timer.cancel()
            inbox.value.attempt = nil
        }
        attempt = { [self] in
            do throws(ProbeError) {
                if let value = try parse(&collected) {
                    promise.succeed((value, arrivalOfLastParsed))
                } else if let ending {
                    throw ending
                }
            } catch {
                promise.fail(error)
            }
        }
        attempt?()
        return promise.futureResult
    }

    /// Arrival time of the last byte that was taken from the front.
    private var arrivalOfLastParsed: NIODeadline {
        let taken = received - collected.readableBytes
        return reads.first { $0.end >= taken }?.time ?? .now()
    }

    /// Records the negotiated TLS parameters; must be called as soon as the handshake is over or has failed.
    func recordTLS(of channel: any Channel) {
        guard tlsVersion == nil else { return }
        guard let tls = try? channel.pipeline.syncOperations.handler(type: TLSClientHandler.self) else { return }
        tlsVersion = tls.version
        certificateValidity = tls.certificateValidity
    }

    private func end(_ error: ProbeError) {
        ending = ending ?? error
        attempt?()
    }
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
        // Data beyond the limit is dropped until the connection is closed.
        guard received <= Self.limit else { return }
        var bytes = unwrapInboundIn(data)
        received += bytes.readableBytes
        if reads.count == Self.rememberedReads { reads.removeFirst() }
        reads.append((received, .now()))
        collected.writeBuffer(&bytes)
        attempt?()
        if received > Self.limit {
            end(.malformed("the relay sent more than \(Self.limit >> 20) MiB over one connection"))
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(.disconnected("closed by the relay"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        recordTLS(of: context.channel)
        end(ProbeError(error))
        context.close(promise: nil)
    }
}
