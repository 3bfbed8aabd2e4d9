// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

/// The work of a ``CameraSession``, on its thread.
final class CameraRun {
    /// Time between two frames that are searched.
    private static let searchInterval = Duration.milliseconds(125)
    /// Longest wait, after which the state of the camera is looked at again.
    private static let longestWait = Duration.milliseconds(100)

    /// True after the code was found.
    private(set) var isOver = false

    private let options: CameraSession.Options
    private let thread: StoppableThread
    private let report: (CameraSession.Event) -> Void
    /// Replaces the picture for the viewfinder, and returns true if there was none.
    private let show: (ViewfinderPicture) -> Bool
    private let camera: PipeWireCamera
    private let search: FrameSearch
    private var hints = HintFilter()
    private var damaged = 0
    private var reported: (cameras: [CameraNode], current: CameraNode?)?
    private var (nextPicture, nextSearch) = (ContinuousClock.now, ContinuousClock.now)

    /// Connects to the camera and starts the search.
    ///
    /// - Throws: ``CameraError``.
    init(
        _ options: CameraSession.Options,
        _ thread: StoppableThread,
        _ report: @escaping (CameraSession.Event) -> Void,
        show: @escaping (ViewfinderPicture) -> Bool
    ) throws(CameraError) {
        (self.options, self.thread, self.report, self.show) = (options, thread, report, show)
        camera = try PipeWireCamera(options.selection)
        search = try FrameSearch(options) { [thread] in thread.waker.wake() }
    }

    /// Ends the search; the camera ends with this object.
    func end() { search.end() }

    /// Waits for events and follows them.
    ///
    /// - Parameter selection: Another camera to change to.
    /// - Throws: ``CameraError``.
    func advance(_ selection: CameraSelection?) throws(CameraError) {
        if let selection { camera.select(selection) }
        thread.waker.reset()
        let next = search.isIdle ? min(nextPicture, nextSearch) : nextPicture
        try camera.advance(for: camera.hasFrame ? min(next - .now, Self.longestWait) : Self.longestWait, thread.waker.descriptor)
        guard !thread.isStopped else { return }
        reportCameras()
        if let result = search.takeResult() { try handle(result) }
        guard !isOver, camera.hasFrame else { return }
        let now = ContinuousClock.now
        let (isShown, isSearched) = (now >= nextPicture, now >= nextSearch && search.isIdle)
        guard isShown || isSearched, let frame = try camera.takeFrame() else { return }
        do throws(PictureError) {
            if isShown {
                nextPicture = now + .seconds(1) / max(1, options.picturesPerSecond)
                if let picture = try picture(of: frame), show(picture) { report(.picture) }
            }
            if isSearched {
                nextSearch = now + Self.searchInterval
                search.begin(try frame.searchable())
            }
        } catch {
            throw .picture(error)
        }
    }

    private func reportCameras() {
        guard let cameras = camera.cameras else { return }
        let new = (cameras: cameras, current: camera.current)
        if let reported, reported == new { return }
        reported = new
        report(.cameras(new.cameras, current: new.current))
    }

    private func handle(_ result: Result<CodeSearch.Finding, PictureError>) throws(CameraError) {
        switch result {
        case .success(let finding):
            damaged = 0
            if finding.wanted.count == 1, let code = finding.wanted.first {
                isOver = true
                report(.code(code))
            } else if let hint = hints.next(finding) {
                report(.hint(hint))
            }
        case .failure(let error):
            damaged += 1
            guard error.isDamage, damaged < CameraCodeScanner.maximumDamagedFrames else { throw .picture(error) }
        }
    }

    /// Returns the picture for the viewfinder; `nil` if the frame is compressed.
    private func picture(of frame: CapturedFrame) throws(PictureError) -> ViewfinderPicture? {
        guard case .samples(let layout, let offsets) = frame.content else { return nil }
        let preview = FramePreview(layout, offsets: offsets, widthUpTo: options.pictureWidth)
        let turns = frame.orientation?.quarterTurns ?? camera.current?.quarterTurns ?? 0
        return try ViewfinderPicture(
            width: preview.width,
            height: preview.height,
            quarterTurns: turns,
            isMirrored: (camera.current?.location == .front) != (frame.orientation?.isFlipped ?? false)
        ) { target throws(PictureError) in
            frame.withBytes { preview.write(from: $0, to: target) }
        }
    }
}
