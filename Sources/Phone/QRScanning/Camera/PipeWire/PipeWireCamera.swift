// SPDX-License-Identifier: Apache-2.0

/// A camera of PipeWire, used on the thread that has created it.
///
/// It selects a camera, follows it when it is unplugged, and reports what keeps it from sending frames. The library does not
/// report everything: a missing session manager, or a format that is not supported, shows only in the lack of frames.
final class PipeWireCamera {
    /// Time until the daemon answers, until there is a camera, and until that has started.
    ///
    /// The session manager may be starting, too.
    private static let patience = Duration.seconds(3)
    /// Time between two attempts to connect the stream.
    private static let retryInterval = Duration.milliseconds(200)
    /// Time after a failure in which the camera may turn out to be unplugged.
    private static let grace = Duration.milliseconds(300)

    /// The camera that sends frames, or will.
    private(set) var current: CameraNode?

    private let connection: PipeWireConnection
    private let nodes: CameraNodes
    private let maximumSilence: Duration
    /// The time of the connection, or of the last selection, from which on the camera is waited for.
    private var start = ContinuousClock.now
    private var selection: CameraSelection
    private var stream: CameraStream?
    /// The time at which the stream was connected or has sent its last good frame.
    private var lastSign = ContinuousClock.now
    private var nextAttempt = ContinuousClock.now
    /// The time at which the stream failed.
    private var failure: ContinuousClock.Instant?
    /// The camera that was unplugged.
    private var lost: CameraNode?

    /// Connects to the daemon; the camera starts later.
    ///
    /// - Parameters:
    ///   - selection: The camera.
    ///   - daemon: The path of the daemon's socket; that of the user's session if `nil`.
    ///   - silence: Time without a frame after which a started camera counts as stopped.
    /// - Throws: ``CameraError``.
    init(
        _ selection: CameraSelection,
        daemon: String? = nil,
        silence: Duration = .seconds(10)
    ) throws(CameraError) {
        (self.selection, maximumSilence) = (selection, silence)
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

    /// True if there is a frame that was not taken.
    var hasFrame: Bool { stream?.hasFrame ?? false }

    /// Takes the newest frame; `nil` if there is none, or if it is flawed.
    ///
    /// - Throws: ``CameraError`` if there is not enough memory.
    func takeFrame() throws(CameraError) -> CapturedFrame? {
        guard let frame = try stream?.nextFrame() else { return nil }
        lastSign = .now
        return frame
    }

    /// Waits for events, but at most for a time or until a descriptor is readable, and follows them.
    ///
    /// - Throws: ``CameraError`` if no frames will follow.
    func advance(for limit: Duration, _ waker: CInt = -1) throws(CameraError) {
        connection.wait(for: limit, waker)
        guard !connection.isClosed else { throw .pipeWireEnded }
        let now = ContinuousClock.now
        guard let cameras = nodes.cameras else {
            guard now - start < Self.patience else { throw .pipeWireIsSilent }
            return
        }
        if let current, !cameras.contains(where: { $0.serial == current.serial }) { lose(current) }
        if let current, let stream {
            try follow(stream, of: current, now)
        } else if now >= nextAttempt {
            try connect(cameras.filter { $0.serial != lost?.serial }, now)
        }
    }

    private func connect(_ cameras: [CameraNode], _ now: ContinuousClock.Instant) throws(CameraError) {
        guard let camera = selection.camera(of: cameras) else {
            if let lost { throw .unplugged(lost.title) }
            guard now - start >= Self.patience else { return }
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
        _ now: ContinuousClock.Instant
    ) throws(CameraError) {
        let silence = now - lastSign
        switch stream.state {
        case .failed(let reason):
            if reason.contains("no target node") || reason.contains("target not found"), now - start < Self.patience {
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
            if silence >= Self.patience { throw .notStarted(camera.title) }
        case .streaming:
            if let flaw = stream.lastFlaw, silence >= Self.patience { throw .flawed(camera.title, flaw.rawValue) }
            if silence >= maximumSilence { throw .silent(camera.title) }
        }
    }

    private func lose(_ camera: CameraNode) {
        disconnect()
        lost = camera
    }

    private func disconnect() {
        stream = nil
        current = nil
        failure = nil
    }
}
