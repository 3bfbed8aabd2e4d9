// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Logging
internal import NIOCore

/// Stops accepting for a moment where the system has no descriptor or memory for another connection.
///
/// Such a connection stays in the kernel's queue, and with it the event that announces it: without a pause the event
/// loop would do nothing but try again.
final class AcceptBackoff: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private static let pause = TimeAmount.milliseconds(200)
    /// How long a shortage is not told again, in which there may be any number of attempts.
    private static let silence = TimeAmount.minutes(1)

    private let logger: Logger
    private var told: NIODeadline?

    init(logger: Logger) { self.logger = logger }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let code = (error as? IOError)?.errnoCode, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) else {
            context.fireErrorCaught(error)
            return
        }
        tell(code)
        let channel = context.channel
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        context.eventLoop.scheduleTask(in: Self.pause) {
            // A listener that was closed meanwhile has no options any more.
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }

    private func tell(_ code: CInt) {
        let now = NIODeadline.now()
        if let told, now - told < Self.silence { return }
        told = now
        let what = code == EMFILE || code == ENFILE ? "file descriptor" : "memory"
        logger.warning("no \(what) is left for another connection; those who come wait")
    }
}

@available(*, unavailable)
extension AcceptBackoff: Sendable {}
