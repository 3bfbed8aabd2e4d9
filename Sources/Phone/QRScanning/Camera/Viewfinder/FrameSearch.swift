// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

/// A search in one frame after the other, on a thread of its own and in a process of their own.
///
/// Compressed frames are decoded there, too, in a second process, which starts with the first of them.
final class FrameSearch: Sendable {
    private struct Shared: Sendable {
        var frame: CameraFrame?
        var result: Result<CodeSearch.Finding, PictureError>?
        var isBusy = false
        /// A compressed frame that is wanted as a picture.
        var compressed: CameraFrame?
        var picture: Result<ViewfinderPicture, PictureError>?
        var isDecoding = false
        /// The process that decodes, if there was a compressed frame.
        var decoder: DecoderProcess?
        /// True if no process may start any more.
        var isEnded = false
    }

    private let shared: Locked<Shared>
    private let thread: StoppableThread
    private let process: DecoderProcess

    /// Starts the thread and the process that searches.
    ///
    /// - Parameters:
    ///   - options: The codes and pictures that are wanted, and the program of the processes.
    ///   - onResult: Called on the thread when there is a result.
    /// - Throws: ``CameraError``.
    init(_ options: CameraSession.Options, onResult: @escaping @Sendable () -> Void) throws(CameraError) {
        let process: DecoderProcess
        do throws(PictureError) {
            process = try DecoderProcess(.frames, beginningWith: options.wantedStarts, program: options.program)
        } catch {
            throw .picture(error)
        }
        let shared = Locked(Shared())
        let thread = StoppableThread.start { thread in
            while !thread.isStopped {
                thread.waker.wait()
                let (frame, compressed) = shared.withLock { shared in
                    defer { (shared.frame, shared.compressed) = (nil, nil) }
                    return (shared.frame, shared.compressed)
                }
                if let compressed {
                    let picture = Result { () throws(PictureError) in
                        try FrameSearch.decoder(shared, options).preview(of: compressed).get()
                    }
                    shared.withLock { $0.picture = picture }
                    onResult()
                }
                if let frame {
                    let result = process.search(frame)
                    shared.withLock { $0.result = result }
                    onResult()
                }
            }
            process.end()
            shared.withLock { $0.decoder }?.end()
        }
        guard let thread else {
            process.end()
            throw .noThread
        }
        (self.shared, self.thread, self.process) = (shared, thread, process)
    }

    /// Returns the process that decodes compressed frames, which most cameras do not need; the first call starts it.
    private static func decoder(
        _ shared: Locked<Shared>,
        _ options: CameraSession.Options
    ) throws(PictureError) -> DecoderProcess {
        if let decoder = shared.withLock({ $0.decoder }) { return decoder }
        let width = "\(options.pictureWidth)"
        let decoder = try DecoderProcess(.previews, beginningWith: [width], program: options.program)
        let isEnded = shared.withLock { shared in
            shared.decoder = decoder
            return shared.isEnded
        }
        // The end has not seen it.
        if isEnded { decoder.kill() }
        return decoder
    }

    /// True if a frame can be searched.
    var isIdle: Bool { shared.withLock { !$0.isBusy } }

    /// True if a compressed frame can be decoded.
    var canDecode: Bool { shared.withLock { !$0.isDecoding } }

    /// Begins to search a frame; the search before it has ended.
    func begin(_ frame: CameraFrame) {
        shared.withLock { shared in
            shared.frame = frame
            shared.isBusy = true
        }
        thread.waker.wake()
    }

    /// Begins to decode a compressed frame; the one before it is decoded.
    func decode(_ frame: CameraFrame) {
        shared.withLock { shared in
            shared.compressed = frame
            shared.isDecoding = true
        }
        thread.waker.wake()
    }

    /// Returns the result of the search that has ended, once.
    func takeResult() -> Result<CodeSearch.Finding, PictureError>? {
        shared.withLock { shared in
            guard let result = shared.result else { return nil }
            shared.result = nil
            shared.isBusy = false
            return result
        }
    }

    /// Returns the picture of the compressed frame that was decoded, once; a failure is that of a damaged frame.
    func takePicture() -> Result<ViewfinderPicture, PictureError>? {
        shared.withLock { shared in
            guard let picture = shared.picture else { return nil }
            shared.picture = nil
            shared.isDecoding = false
            return picture
        }
    }

    /// Ends the processes and the thread, and waits for them.
    func end() {
        thread.requestStop()
        process.kill()
        let decoder = shared.withLock { shared in
            shared.isEnded = true
            return shared.decoder
        }
        decoder?.kill()
        thread.stop()
    }
}
