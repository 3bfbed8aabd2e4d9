// SPDX-License-Identifier: Apache-2.0

internal import CHybridPipeWire
private import Glibc

/// A connection to PipeWire's daemon, used on the thread that has created it.
///
/// The thread calls ``wait(for:_:)``, which performs the work of the library and calls the handlers.
final class PipeWireConnection {
    let functions: UnsafePointer<hybrid_pipewire>
    let core: OpaquePointer
    /// True after the daemon has closed the connection.
    private(set) var isClosed = false
    /// Called with the number of a synchronization that is complete.
    var onDone: ((CInt) -> Void)?

    private let loop: OpaquePointer
    private let context: OpaquePointer
    private let hook: UnsafeMutablePointer<spa_hook>
    private let events: UnsafeMutablePointer<hybrid_core_events>

    /// Connects to the daemon.
    ///
    /// - Parameter daemon: The path of its socket; that of the user's session if `nil`.
    /// - Throws: ``CameraError``.
    init(_ daemon: String? = nil) throws(CameraError) {
        let functions = try PipeWireLibrary.loaded().functions
        guard let loop = functions.pointee.pw_loop_new(nil) else { throw .noPipeWire("no memory or plug-ins") }
        // Its threads for sound need no priority here.
        let properties = functions.pointee.pw_properties_new_string("module.rt=false")
        guard let context = functions.pointee.pw_context_new(loop, properties, 0) else {
            let reason = String(cString: strerror(errno))
            functions.pointee.pw_loop_destroy(loop)
            throw .noPipeWire(reason)
        }
        let remote = daemon.flatMap { functions.pointee.pw_properties_new_string("remote.name=\"\($0)\"") }
        hybrid_loop_enter(loop)
        guard let core = functions.pointee.pw_context_connect(context, remote, 0) else {
            let code = errno
            hybrid_loop_leave(loop)
            functions.pointee.pw_context_destroy(context)
            functions.pointee.pw_loop_destroy(loop)
            throw code == EACCES || code == EPERM ? .pipeWireRefuses : .noPipeWire(String(cString: strerror(code)))
        }
        (self.functions, self.loop, self.context, self.core) = (functions, loop, context, core)
        hook = .allocate(capacity: 1)
        hook.initialize(to: spa_hook())
        events = .allocate(capacity: 1)
        events.initialize(to: hybrid_core_events())
        events.pointee.done = { data, _, number in PipeWireConnection.of(data)?.onDone?(number) }
        events.pointee.error = { data, id, _, result, _ in
            // Errors of other objects have their own events.
            if id == 0, result == -EPIPE { PipeWireConnection.of(data)?.isClosed = true }
        }
        hybrid_core_listen(core, hook, events, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        hybrid_hook_remove(hook)
        _ = functions.pointee.pw_core_disconnect(core)
        hybrid_loop_leave(loop)
        functions.pointee.pw_context_destroy(context)
        functions.pointee.pw_loop_destroy(loop)
        hook.deallocate()
        events.deallocate()
    }

    private static func of(_ data: UnsafeMutableRawPointer?) -> PipeWireConnection? {
        data.map { Unmanaged<PipeWireConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Asks the daemon to report when it has done all that was asked for before, and returns the number of the report.
    func synchronize() -> CInt { hybrid_core_sync(core) }

    /// Waits for work of the library, but at most for a time or until a descriptor is readable, and performs it.
    func wait(for limit: Duration, _ waker: CInt = -1) {
        let milliseconds = limit.components.seconds * 1000 + limit.components.attoseconds / 1_000_000_000_000_000
        var descriptors = [
            pollfd(fd: hybrid_loop_descriptor(loop), events: Int16(POLLIN), revents: 0),
            pollfd(fd: waker, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&descriptors, nfds_t(descriptors.count), CInt(max(0, min(milliseconds, 60_000))))
        while hybrid_loop_iterate(loop) > 0 {}
    }
}
