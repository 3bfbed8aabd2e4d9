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
    private let replace: (ViewfinderPicture) -> Bool
    private let camera: PipeWireCamera
    private let search: FrameSearch
    private var hints = HintFilter()
    private var damaged = 0
    private var orientation: CapturedFrame.Orientation?
    private var reported: (cameras: [CameraNode], current: CameraNode?)?
    private var (nextPicture, nextSearch) = (ContinuousClock.now, ContinuousClock.now)

    /// Connects to the camera and starts the search.
    ///
    /// - Throws: ``CameraError``.
    init(
        _ options: CameraSession.Options,
        _ thread: StoppableThread,
        _ report: @escaping (CameraSession.Event) -> Void,
        replace: @escaping (ViewfinderPicture) -> Bool
    ) throws(CameraError) {
        (self.options, self.thread, self.report, self.replace) = (options, thread, report, replace)
        // First, because its process starts meanwhile.
        search = try FrameSearch(options) { [thread] in thread.waker.wake() }
        do throws(CameraError) {
            camera = try PipeWireCamera(options.selection, daemon: options.daemon)
        } catch {
            search.end()
            throw error
        }
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
        let now = ContinuousClock.now
        let (isShown, isSearched) = (now >= nextPicture, now >= nextSearch && search.isIdle)
        let wish: CameraStream.Wish = isShown ? .colors : isSearched ? .brightness : .nothing
        let next = search.isIdle ? min(nextPicture, nextSearch) : nextPicture
        let wait = wish == .nothing ? min(next - now, Self.longestWait) : Self.longestWait
        try camera.advance(for: wait, wish, thread.waker.descriptor)
        guard !thread.isStopped else { return }
        reportCameras()
        if let picture = search.takePicture() { try handle(picture) }
        if let result = search.takeResult() { try handle(result) }
        guard !isOver, let frame = try camera.takeFrame() else { return }
        do throws(PictureError) {
            // First, because the search takes the longest, and in a process of its own.
            if isSearched {
                nextSearch = now + Self.searchInterval
                search.begin(try frame.searchable())
            }
            if isShown {
                nextPicture = now + .seconds(1) / max(1, options.picturesPerSecond)
                try show(frame)
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

    // MARK: - Viewfinder

    private func handle(_ result: Result<ViewfinderPicture, PictureError>) throws(CameraError) {
        switch result {
        case .success(let picture): present(picture)
        case .failure(let error):
            // The search counts damaged frames.
            guard error.isDamage else { throw .picture(error) }
        }
    }

    /// Shows a frame; a compressed one is decoded first.
    private func show(_ frame: CapturedFrame) throws(PictureError) {
        orientation = frame.orientation
        guard case .samples(let layout, let offsets) = frame.content else {
            if search.canDecode { search.decode(try frame.searchable()) }
            return
        }
        let preview = FramePreview(layout, offsets: offsets, widthUpTo: options.pictureWidth)
        let picture = try ViewfinderPicture(width: preview.width, height: preview.height) {
            target throws(PictureError) in
            frame.withBytes { preview.write(from: $0, to: target) }
        }
        present(picture)
    }

    private func present(_ picture: ViewfinderPicture) {
        var picture = picture
        picture.quarterTurns = orientation?.quarterTurns ?? camera.current?.quarterTurns ?? 0
        // Users expect the camera on the front to be a mirror.
        picture.isMirrored = (camera.current?.location == .front) != (orientation?.isFlipped ?? false)
        if replace(picture) { report(.picture) }
    }
}
