// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

/// The cameras that PipeWire offers, followed on a thread of its own.
///
/// No camera is started. A ``CameraSession`` reports the same list while it runs.
public final class PipeWireCameras: Sendable {
    private let thread: StoppableThread?

    /// Begins to follow the cameras.
    ///
    /// - Parameter onChange: Called on the thread with the list, which may be empty, and after each change; or once with a
    ///   failure, after which nothing follows.
    public init(onChange: @escaping @Sendable (Result<[CameraNode], CameraError>) -> Void) {
        thread = StoppableThread.start { thread in
            do throws(CameraError) {
                try Self.follow(nil, thread) { cameras in
                    onChange(.success(cameras))
                    return true
                }
            } catch {
                onChange(.failure(error))
            }
        }
        if thread == nil { onChange(.failure(.noThread)) }
    }

    /// Ends the connection; returns when no more calls follow, except if a call itself stops.
    public func stop() { thread?.stop() }

    deinit { thread?.requestStop() }

    /// Returns the cameras of this moment, which takes some milliseconds, but at most three seconds.
    ///
    /// - Throws: ``CameraError``.
    public static func current() throws(CameraError) -> [CameraNode] { try current(daemon: nil) }

    /// Returns the cameras of a daemon with this socket; of the user's session if `nil`.
    package static func current(daemon: String?) throws(CameraError) -> [CameraNode] {
        var cameras: [CameraNode] = []
        try follow(daemon, nil) { found in
            cameras = found
            return false
        }
        return cameras
    }

    /// Reports the cameras and their changes, until `report` returns false or the thread is stopped.
    private static func follow(
        _ daemon: String?,
        _ thread: StoppableThread?,
        _ report: ([CameraNode]) -> Bool
    ) throws(CameraError) {
        let connection = try PipeWireConnection(daemon)
        let nodes = try CameraNodes(connection)
        let start = ContinuousClock.now
        var reported: [CameraNode]?
        while thread?.isStopped != true {
            let limit: Duration = nodes.cameras == nil ? .milliseconds(100) : .seconds(60)
            connection.wait(for: limit, thread?.waker.descriptor ?? -1)
            guard !connection.isClosed else { throw .pipeWireEnded }
            guard let cameras = nodes.cameras.map(CameraSelection.usable) else {
                guard ContinuousClock.now - start < .seconds(3) else { throw .pipeWireIsSilent }
                continue
            }
            guard cameras != reported else { continue }
            reported = cameras
            guard report(cameras) else { return }
        }
    }
}
