// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

/// A camera of PipeWire for a viewfinder, and the search for a code in its frames, on threads of their own.
///
/// The camera runs from the creation of the session until ``stop()``, a code or a failure. Frames are searched in a process of
/// their own, so the program calls ``PictureProcess/runIfRequested()`` first of all.
///
/// ```swift
/// let session = CameraSession { event in
///     // On a thread of the session: hand over to the main loop, such as with g_idle_add.
/// }
/// ```
public final class CameraSession: Sendable {
    /// The settings of a session.
    public struct Options: Sendable {
        /// The camera.
        public var selection = CameraSelection.automatic(last: nil)
        /// The ASCII characters with which wanted codes begin, in either case; together at most 255.
        public var wantedStarts = ["FIDO:/"]
        /// Maximum width of a picture for the viewfinder.
        public var pictureWidth = 480
        /// Maximum number of these pictures per second.
        public var picturesPerSecond = 15
        /// A program that calls ``PictureProcess/runIfRequested()`` first; by default the running one.
        public var program = "/proc/self/exe"
        /// The path of the daemon's socket; that of the user's session if `nil`.
        package var daemon: String?

        /// Creates the default settings.
        public init() {}
    }

    /// An event of a session.
    public enum Event: Sendable {
        /// The list of cameras, or the one in use, has changed.
        case cameras([CameraNode], current: CameraNode?)
        /// A picture waits; ``CameraSession/takePicture()`` returns it.
        ///
        /// Only one such event follows until the picture is taken.
        case picture
        /// The hint for the user has changed.
        case hint(CameraHint)
        /// The only wanted code in a frame; it ends the session.
        case code(ScannedText)
        /// The reason why there are no frames; it ends the session.
        case failed(CameraError)
    }

    private struct Shared: Sendable {
        var picture: ViewfinderPicture?
        var selection: CameraSelection?
    }

    private let shared = Locked(Shared())
    private let thread: StoppableThread?

    /// Starts a session.
    ///
    /// - Parameters:
    ///   - options: The settings.
    ///   - onEvent: Called with one event after the other, on a thread of the session. It must return soon.
    public init(_ options: Options = Options(), onEvent: @escaping @Sendable (Event) -> Void) {
        let shared = shared
        thread = StoppableThread.start { thread in
            do throws(CameraError) {
                let run = try CameraRun(options, thread, onEvent) { picture in
                    shared.withLock { shared in
                        defer { shared.picture = picture }
                        return shared.picture == nil
                    }
                }
                defer { run.end() }
                while !thread.isStopped, !run.isOver {
                    let selection = shared.withLock { shared in
                        defer { shared.selection = nil }
                        return shared.selection
                    }
                    try run.advance(selection)
                }
            } catch {
                if !thread.isStopped { onEvent(.failed(error)) }
            }
        }
        if thread == nil { onEvent(.failed(.noThread)) }
    }

    /// Returns the newest picture; `nil` if it was taken already.
    public func takePicture() -> ViewfinderPicture? {
        shared.withLock { shared in
            defer { shared.picture = nil }
            return shared.picture
        }
    }

    /// Changes to another camera.
    public func select(_ camera: CameraNode) {
        shared.withLock { $0.selection = .only(camera.name) }
        thread?.waker.wake()
    }

    /// Ends the session and returns when the camera is released.
    ///
    /// No event follows, except if an event itself stops the session. Calling it again does nothing.
    public func stop() { thread?.stop() }

    deinit { thread?.requestStop() }
}
