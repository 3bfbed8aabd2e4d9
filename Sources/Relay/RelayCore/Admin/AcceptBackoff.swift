// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Logging
internal import NIOCore

/// A handler that pauses accepting if the system has no descriptor or memory for another connection.
///
/// Such a connection stays in the kernel's queue, and the listener stays readable. Without a pause, the event loop
/// would retry continuously.
final class AcceptBackoff: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private static let pause = TimeAmount.milliseconds(200)
    /// Minimum time between two warnings, because there may be many attempts.
    private static let warningInterval = TimeAmount.minutes(1)

    private let logger: Logger
    private var lastWarning: NIODeadline?

    init(logger: Logger) { self.logger = logger }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let code = (error as? IOError)?.errnoCode, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) else {
            context.fireErrorCaught(error)
            return
        }
        warn(code)
        let channel = context.channel
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        context.eventLoop.scheduleTask(in: Self.pause) {
            // This fails if the listener has been closed in the meantime.
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }

    private func warn(_ code: CInt) {
        let now = NIODeadline.now()
        if let lastWarning, now - lastWarning < Self.warningInterval { return }
        lastWarning = now
        let resource = code == EMFILE || code == ENFILE ? "file descriptor" : "memory"
        logger.warning("no \(resource) left for another connection; new connections wait")
    }
}

@available(*, unavailable)
extension AcceptBackoff: Sendable {}
