// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// One end's connection as others see it: a way to reach its handler on its own event loop.
struct TunnelMember: Sendable {
    private let eventLoop: any EventLoop
    private let handler: NIOLoopBound<TunnelHandler>

    /// Must be called on the handler's event loop.
    init(_ handler: TunnelHandler, on eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        self.handler = NIOLoopBound(handler, eventLoop: eventLoop)
    }

    /// The handler itself, if this is its event loop: for what is done so often that a closure would cost too much.
    var here: TunnelHandler? { eventLoop.inEventLoop ? handler.value : nil }

    /// Runs an action on the handler's event loop: at once if that is where we are, else after what was asked
    /// for earlier from here.
    func perform(_ action: @escaping @Sendable (TunnelHandler) -> Void) {
        if eventLoop.inEventLoop {
            action(handler.value)
        } else {
            eventLoop.execute { action(handler.value) }
        }
    }
}
