// SPDX-License-Identifier: Apache-2.0

/// A camera of PipeWire, used on the thread that has created it.
///
/// It selects a camera, follows it when it is unplugged, and reports what keeps it from sending frames. The library does not
/// report everything: a missing session manager, or a format that is not supported, shows only in the lack of frames.
final class PipeWireCamera {
    /// Time limits.
    struct Limits {
        /// Time until the daemon answers, until there is a camera, and until that has started.
        ///
        /// The session manager may be starting, too.
        var patience = Duration.seconds(3)
        /// Time in which all frames are flawed.
        var flaws = Duration.seconds(3)
        /// Time without a frame after which a started camera counts as stopped.
        var silence = Duration.seconds(10)
    }

    /// Time between two attempts to connect the stream.
    private static let retryInterval = Duration.milliseconds(200)
    /// Time after a failure in which the camera may turn out to be unplugged, and after that in which another may appear.
    private static let grace = Duration.milliseconds(300)

    /// The camera that sends frames, or will.
    private(set) var current: CameraNode?

    private let connection: PipeWireConnection
    private let nodes: CameraNodes
    private let limits: Limits
    /// The time of the connection, or of the last selection, from which on the camera is waited for.
    ///
    /// Times are those in which the device runs: a phone that was suspended has not waited for its camera.
    private var start = SuspendingClock.now
    private var selection: CameraSelection
    private var stream: CameraStream?
    /// The time at which the stream was connected or has sent its last good frame.
    private var lastSign = SuspendingClock.now
    private var nextAttempt = SuspendingClock.now
    /// The time at which the stream failed.
    private var failure: SuspendingClock.Instant?
    /// The camera that was unplugged.
    private var lost: CameraNode?
    private var lossTime = SuspendingClock.now

    /// Connects to the daemon; the camera starts later.
    ///
    /// - Parameters:
    ///   - selection: The camera.
    ///   - daemon: The path of the daemon's socket; that of the user's session if `nil`.
    ///   - limits: Time limits.
    /// - Throws: ``CameraError``.
    init(
        _ selection: CameraSelection,
        daemon: String? = nil,
        limits: Limits = Limits()
    ) throws(CameraError) {
        (self.selection, self.limits) = (selection, limits)
        connection = try PipeWireConnection(daemon)
        nodes = try CameraNodes(connection)
    }

    /// All cameras that a user may want; `nil` until they are known.
    var cameras: [CameraNode]? { nodes.cameras.map(CameraSelection.usable) }

    /// Changes to another camera.
    func select(_ selection: CameraSelection) {
        self.selection = selection
        lost = nil
        start = .now
        guard let cameras = nodes.cameras, selection.camera(of: cameras)?.serial != current?.serial else { return }
        disconnect()
    }

    /// Returns the frame that was wanted, once; `nil` if there is none yet.
    ///
    /// - Throws: ``CameraError`` if there is not enough memory.
    func takeFrame() throws(CameraError) -> CapturedFrame? {
        guard let frame = try stream?.takeFrame() else { return nil }
        lastSign = .now
        return frame
    }

    /// Waits for events, but at most for a time or until a descriptor is readable, and follows them.
    ///
    /// - Parameters:
    ///   - limit: The time.
    ///   - wish: The frame that is wanted, if it comes in this time.
    ///   - waker: The descriptor.
    /// - Throws: ``CameraError`` if no frames will follow.
    func advance(for limit: Duration, _ wish: CameraStream.Wish, _ waker: CInt = -1) throws(CameraError) {
        stream?.wish = wish
        connection.wait(for: limit, waker)
        guard !connection.isClosed else { throw .pipeWireEnded }
        let now = SuspendingClock.now
        guard let cameras = nodes.cameras else {
            guard now - start < limits.patience else { throw .pipeWireIsSilent }
            return
        }
        if let current, !cameras.contains(where: { $0.serial == current.serial }) { lose(current) }
        if let current, let stream {
            try follow(stream, of: current, now)
        } else if now >= nextAttempt {
            try connect(cameras.filter { $0.serial != lost?.serial }, now)
        }
    }

    private func connect(_ cameras: [CameraNode], _ now: SuspendingClock.Instant) throws(CameraError) {
        guard let camera = selection.camera(of: cameras) else {
            if let lost {
                // Another one may be about to be known.
                guard now - lossTime >= Self.grace, nodes.isSettled else { return }
                throw .unplugged(lost.title)
            }
            guard now - start >= limits.patience else { return }
            if case .only(let name) = selection { throw .noCamera(named: name) }
            throw CameraDevices.areThere ? .noCameraNode : .noCamera
        }
        stream = try CameraStream(connection, camera)
        current = camera
        lastSign = now
    }

    private func follow(
        _ stream: CameraStream,
        of camera: CameraNode,
        _ now: SuspendingClock.Instant
    ) throws(CameraError) {
        let silence = now - lastSign
        switch stream.state {
        case .failed(let reason):
            if reason.contains("no target node") || reason.contains("target not found"), now - start < limits.patience {
                disconnect()
                nextAttempt = now + Self.retryInterval
                return
            }
            let failed = failure ?? now
            failure = failed
            guard now - failed >= Self.grace else { return }
            if reason.contains("no more input formats") { throw .noFormat(camera.title) }
            throw .failed(camera.title, reason)
        case .ended: lose(camera)
        case .waiting:
            if silence >= limits.patience { throw .notStarted(camera.title) }
        case .streaming:
            if let flaw = stream.lastFlaw, silence >= limits.flaws { throw .flawed(camera.title, flaw.rawValue) }
            if silence >= limits.silence { throw .silent(camera.title) }
        }
    }

    private func lose(_ camera: CameraNode) {
        disconnect()
        lost = camera
        lossTime = .now
    }

    private func disconnect() {
        stream = nil
        current = nil
        failure = nil
    }
}
