// SPDX-License-Identifier: Apache-2.0

package import NIOCore
internal import NIOTLS

/// The client's side of TLS on a channel.
///
/// It passes on no data in either direction before the chain of the server's certificate and its name are verified.
/// Early data is sent before the server answers, because only the server of a verified session can read it. Errors are
/// of type ``TLSFailure``. Data that is written before the handshake ends is kept, up to ``maximumPendingBytes``.
package final class TLSClientHandler: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// The sessions for the host of a connection.
    struct Sessions {
        private let all: TLSSessions
        private let key: TLSSessions.Key

        init(_ all: TLSSessions, _ key: TLSSessions.Key) { (self.all, self.key) = (all, key) }

        func take() -> TLSSession? { all.take(key) }
        func put(_ session: TLSSession) { all.put(session, for: key) }
    }

    private enum State {
        case idle
        case handshaking
        case open
        /// The state after close_notify was sent, until the server's arrives.
        case closing
        case closed
    }

    private struct PendingWrite {
        let bytes: ByteBuffer
        let promise: EventLoopPromise<Void>?
    }

    /// Maximum number of bytes that are kept until the end of the handshake.
    static let maximumPendingBytes = 256 << 10
    /// Time limit for the server's close_notify, short because the user is already waiting for the result.
    private static let closeTimeout = TimeAmount.milliseconds(250)

    private let settings: TLSClientContext
    private let serverName: String?
    private let identity: ReferenceIdentity?
    private let sessions: Sessions?
    private let sendsEarlyData: Bool

    private var connection: TLSClientConnection?
    private var state = State.idle
    /// True if the server has announced or caused the end of its data.
    private var isInputEnded = false
    private var pending: [PendingWrite] = []
    private var pendingBytes = 0
    /// Number of pending writes that were flushed.
    private var flushedCount = 0
    /// Number of pending writes that were sent as early data, which the server may still reject.
    private var earlyCount = 0
    /// True if early data was offered to the server, which may have rejected it.
    package private(set) var hasOfferedEarlyData = false
    /// True if data was passed on since the end of the last read.
    private var hasDelivered = false
    /// The failure while its alert is sent.
    private var unreported: TLSFailure?
    private var closePromise: EventLoopPromise<Void>?
    private var closeTimer: Scheduled<Void>?

    /// Creates the handler of one connection.
    ///
    /// - Parameters:
    ///   - settings: The TLS settings, which determine how the chain is verified.
    ///   - serverName: The name to send (SNI); `nil` for an address literal.
    ///   - identity: The name or address that the certificate must be for; `nil` if any is accepted.
    ///   - sessions: The sessions for the host; `nil` to keep none.
    ///   - sendsEarlyData: True to send data as early data that is written before the handshake.
    init(
        _ settings: TLSClientContext,
        serverName: String?,
        identity: ReferenceIdentity?,
        sessions: Sessions?,
        sendsEarlyData: Bool
    ) {
        (self.settings, self.serverName, self.identity) = (settings, serverName, identity)
        (self.sessions, self.sendsEarlyData) = (sessions, sendsEarlyData)
    }

    /// The certificate that the server has presented, verified or not.
    package var certificate: PeerCertificate? { connection?.certificate }

    /// The validity period of the server's certificate, verified or not, in seconds since 1970.
    ///
    /// A date that cannot be read is `nil`.
    package var certificateValidity: (start: Int?, end: Int?)? { certificate.map { ($0.notBefore, $0.notAfter) } }

    /// The version of TLS; `nil` before it is negotiated.
    package var version: TLSVersion? { connection?.version }

    // MARK: Handshake

    package func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { start(context) }
    }

    package func channelActive(context: ChannelHandlerContext) {
        // The next handlers write their first request now, which can become early data.
        context.fireChannelActive()
        start(context)
    }

    private func start(_ context: ChannelHandlerContext) {
        guard state == .idle else { return }
        state = .handshaking
        do throws(TLSFailure) {
            let connection = try TLSClientConnection(settings, serverName: serverName, keepsSessions: sessions != nil)
            self.connection = connection
            if sendsEarlyData, flushedCount > 0, let session = sessions?.take() { connection.offer(session) }
            try shakeHands(connection, context)
        } catch {
            fail(context, error)
        }
    }

    private func shakeHands(_ connection: TLSClientConnection, _ context: ChannelHandlerContext) throws(TLSFailure) {
        while true {
            switch try connection.shakeHands() {
            case .needsInput: return sendOutput(context)
            case .early:
                try verifyName(connection)
                hasOfferedEarlyData = true
                while earlyCount < flushedCount, try connection.write(pending[earlyCount].bytes) { earlyCount += 1 }
                return sendOutput(context)
            case .earlyDataRejected: earlyCount = 0
            case .complete:
                try verifyName(connection)
                sendOutput(context)
                // A write that fails can end the connection.
                guard state == .handshaking else { return }
                return open(connection, context)
            }
        }
    }

    private func verifyName(_ connection: TLSClientConnection) throws(TLSFailure) {
        guard let identity else { return }
        guard let certificate = connection.certificate, identity.isPresented(by: certificate) else { throw .otherHost }
    }

    /// Begins to pass on data.
    private func open(_ connection: TLSClientConnection, _ context: ChannelHandlerContext) {
        state = .open
        let waiting = pending
        let (early, isFlushed) = (earlyCount, flushedCount > earlyCount)
        (pending, pendingBytes, flushedCount, earlyCount) = ([], 0, 0, 0)
        // First, because the next handlers may write as soon as they learn of the results.
        for write in waiting[early...] { encrypt(write.bytes, write.promise, context) }
        for write in waiting[..<early] { write.promise?.succeed() }
        guard state == .open else { return }
        context.fireUserInboundEventTriggered(
            TLSUserEvent.handshakeCompleted(negotiatedProtocol: connection.applicationProtocol)
        )
        if isFlushed { context.flush() }
        // The server's first data may have come with the end of the handshake.
        decrypt(connection, context)
    }

    // MARK: Input

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // After the end, nothing reads the bytes, which would accumulate.
        guard !isInputEnded, state != .closed, let connection else { return }
        connection.receive(Self.unwrapInboundIn(data))
        switch state {
        case .handshaking:
            do throws(TLSFailure) {
                try shakeHands(connection, context)
            } catch {
                fail(context, error)
            }
        case .open, .closing: decrypt(connection, context)
        case .idle, .closed: break
        }
    }

    private func decrypt(_ connection: TLSClientConnection, _ context: ChannelHandlerContext) {
        guard state == .open || state == .closing else { return }
        var data = ByteBuffer()
        let end = connection.read(into: &data)
        if let sessions, let session = connection.takeSession() { sessions.put(session) }
        if data.readableBytes > 0 {
            hasDelivered = true
            context.fireChannelRead(Self.wrapInboundOut(data))
        }
        // The next handlers may have closed the connection meanwhile.
        guard state == .open || state == .closing else { return }
        switch end {
        // BoringSSL answers a key update with the next data that is written.
        case .needsInput: break
        case .closed: endInput(context)
        case .failed(let failure): fail(context, failure)
        }
    }

    /// Continues after the server's close_notify.
    private func endInput(_ context: ChannelHandlerContext) {
        isInputEnded = true
        if state == .closing { return finishClose(context) }
        let allowsHalfClosure = try? context.channel.syncOptions?.getOption(.allowRemoteHalfClosure)
        guard allowsHalfClosure == true else { return close(context: context, mode: .all, promise: nil) }
        context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        if hasDelivered {
            hasDelivered = false
            context.fireChannelReadComplete()
        } else if (try? context.channel.syncOptions?.getOption(.autoRead)) == false {
            // Only the handshake went on, so the read that was requested is still to be answered.
            context.read()
        }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let event = event as? ChannelEvent, event == .inputClosed else {
            return context.fireUserInboundEventTriggered(event)
        }
        // After close_notify, the end of TCP's data is no news.
        guard !isInputEnded else { return }
        isInputEnded = true
        switch state {
        case .handshaking:
            fail(context, .cutOff)
        case .open, .closing:
            context.fireErrorCaught(TLSFailure.unannouncedEnd)
            context.fireUserInboundEventTriggered(event)
            if state == .closing { finishClose(context) }
        case .idle, .closed: context.fireUserInboundEventTriggered(event)
        }
    }

    package func channelInactive(context: ChannelHandlerContext) {
        let before = state
        state = .closed
        closeTimer?.cancel()
        closePromise?.succeed()
        closePromise = nil
        // A failed write of an alert ends the channel, too.
        reportFailure(context)
        switch before {
        case .handshaking: context.fireErrorCaught(TLSFailure.cutOff)
        case .open where !isInputEnded, .closing where !isInputEnded:
            context.fireErrorCaught(TLSFailure.unannouncedEnd)
        case .idle, .open, .closing, .closed: break
        }
        dropPending(ChannelError.ioOnClosedChannel)
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        state = .closed
        closeTimer?.cancel()
        closePromise?.fail(ChannelError.ioOnClosedChannel)
        closePromise = nil
        dropPending(ChannelError.ioOnClosedChannel)
        connection = nil
    }

    // MARK: Output

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = Self.unwrapOutboundIn(data)
        switch state {
        case .open: encrypt(bytes, promise, context)
        case .idle, .handshaking:
            guard pendingBytes + bytes.readableBytes <= Self.maximumPendingBytes else {
                let failure = TLSFailure.other("too much data was sent before the end of the handshake")
                promise?.fail(failure)
                return fail(context, failure)
            }
            pendingBytes += bytes.readableBytes
            pending.append(PendingWrite(bytes: bytes, promise: promise))
        case .closing, .closed: promise?.fail(ChannelError.ioOnClosedChannel)
        }
    }

    package func flush(context: ChannelHandlerContext) {
        switch state {
        case .open: context.flush()
        case .idle, .handshaking: flushedCount = pending.count
        case .closing, .closed: break
        }
    }

    private func encrypt(_ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        guard state == .open, let connection else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        do throws(TLSFailure) {
            // After the handshake, all is written at once.
            guard try connection.write(bytes) else { throw .other(nil) }
            context.write(Self.wrapOutboundOut(connection.takeOutput() ?? ByteBuffer()), promise: promise)
        } catch {
            promise?.fail(error)
            fail(context, error)
        }
    }

    /// Sends what BoringSSL has written: parts of the handshake, alerts and early data.
    private func sendOutput(_ context: ChannelHandlerContext) {
        guard let output = connection?.takeOutput() else { return }
        context.writeAndFlush(Self.wrapOutboundOut(output), promise: nil)
    }

    // MARK: Closing

    package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all else {
            promise?.fail(ChannelError.operationUnsupported)
            return
        }
        switch state {
        case .open:
            state = .closing
            closePromise = promise
            let isAnswered = connection?.close() ?? true
            sendOutput(context)
            if isAnswered || isInputEnded { return finishClose(context) }
            closeTimer = context.eventLoop.assumeIsolated().scheduleTask(in: Self.closeTimeout) {
                self.finishClose(context)
            }
        case .closing:
            if let closePromise { closePromise.futureResult.cascade(to: promise) } else { closePromise = promise }
        case .idle, .handshaking, .closed:
            state = .closed
            dropPending(ChannelError.ioOnClosedChannel)
            context.close(promise: promise)
        }
    }

    private func finishClose(_ context: ChannelHandlerContext) {
        guard state == .closing else { return }
        state = .closed
        closeTimer?.cancel()
        let promise = closePromise
        closePromise = nil
        context.close(promise: promise)
    }

    /// Sends an alert if BoringSSL wrote one, reports the failure, and closes the channel.
    private func fail(_ context: ChannelHandlerContext, _ failure: TLSFailure) {
        guard state != .closed else { return }
        state = .closed
        closeTimer?.cancel()
        let promise = closePromise
        closePromise = nil
        unreported = failure
        sendOutput(context)
        reportFailure(context)
        dropPending(failure)
        context.close(promise: promise)
    }

    private func reportFailure(_ context: ChannelHandlerContext) {
        guard let failure = unreported else { return }
        unreported = nil
        context.fireErrorCaught(failure)
    }

    private func dropPending(_ error: any Error) {
        let dropped = pending
        (pending, pendingBytes, flushedCount, earlyCount) = ([], 0, 0, 0)
        for write in dropped { write.promise?.fail(error) }
    }
}

@available(*, unavailable)
extension TLSClientHandler: Sendable {}
