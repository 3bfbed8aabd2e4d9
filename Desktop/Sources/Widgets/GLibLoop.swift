// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita

/// The main loop of a program with windows.
package final class GLibLoop {
    private let loop = g_main_loop_new(nil, 0)

    /// Creates a loop that does not run yet.
    package init() {}

    deinit { g_main_loop_unref(loop) }

    /// Handles events until ``quit()``.
    package func run() { g_main_loop_run(loop) }

    /// Ends ``run()`` after the current event.
    package func quit() { g_main_loop_quit(loop) }
}

/// A closure that the main loop calls: once, repeatedly, or for input.
package final class GLibSource {
    private var id: guint = 0
    private let body: () -> Bool

    private init(_ body: @escaping () -> Bool) { self.body = body }

    /// Calls a closure once, after a time.
    @discardableResult
    package static func after(milliseconds: Int, _ body: @escaping () -> Void) -> GLibSource {
        every(milliseconds: milliseconds) {
            body()
            return false
        }
    }

    /// Calls a closure repeatedly until it returns false.
    @discardableResult
    package static func every(milliseconds: Int, _ body: @escaping () -> Bool) -> GLibSource {
        let source = GLibSource(body)
        source.id = g_timeout_add_full(
            CInt(G_PRIORITY_DEFAULT),
            guint(clamping: milliseconds),
            { GLibSource.call($0) },
            Unmanaged.passRetained(source).toOpaque(),
            { GLibSource.release($0) }
        )
        return source
    }

    /// Calls a closure while a descriptor can be read or has ended, until the closure returns false.
    ///
    /// Events of the user and drawing come first, so that a flood of input does not stop a window.
    @discardableResult
    package static func whenReadable(_ descriptor: CInt, _ body: @escaping () -> Bool) -> GLibSource {
        let source = GLibSource(body)
        source.id = g_unix_fd_add_full(
            CInt(G_PRIORITY_DEFAULT_IDLE),
            descriptor,
            GIOCondition(G_IO_IN.rawValue | G_IO_HUP.rawValue | G_IO_ERR.rawValue),
            { _, _, data in GLibSource.call(data) },
            Unmanaged.passRetained(source).toOpaque(),
            { GLibSource.release($0) }
        )
        return source
    }

    /// Calls a closure when the process gets a signal, until the closure returns false.
    @discardableResult
    package static func onSignal(_ number: CInt, _ body: @escaping () -> Bool) -> GLibSource {
        let source = GLibSource(body)
        source.id = g_unix_signal_add_full(
            CInt(G_PRIORITY_DEFAULT),
            number,
            { GLibSource.call($0) },
            Unmanaged.passRetained(source).toOpaque(),
            { GLibSource.release($0) }
        )
        return source
    }

    /// Makes no further calls; has no effect if none would follow.
    package func cancel() {
        if id != 0 { g_source_remove(id) }
    }

    private static func call(_ data: gpointer?) -> gboolean {
        guard let data else { return 0 }
        let source = Unmanaged<GLibSource>.fromOpaque(data).takeUnretainedValue()
        return source.body() ? 1 : 0
    }

    private static func release(_ data: gpointer?) {
        guard let data else { return }
        let source = Unmanaged<GLibSource>.fromOpaque(data)
        source.takeUnretainedValue().id = 0
        source.release()
    }
}
