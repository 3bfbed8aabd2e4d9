// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

/// A search in one frame after the other, on a thread of its own and in a process of their own.
///
/// Compressed frames are decoded there, too, in a second process.
final class FrameSearch: Sendable {
    private struct Shared: Sendable {
        var frame: CameraFrame?
        var result: Result<CodeSearch.Finding, PictureError>?
        var isBusy = false
        /// A compressed frame that is wanted as a picture.
        var compressed: CameraFrame?
        var picture: Result<ViewfinderPicture, PictureError>?
        var isDecoding = false
    }

    private let shared: Locked<Shared>
    private let thread: StoppableThread
    private let process: DecoderProcess
    private let decoder: DecoderProcess

    /// Starts the thread and the processes.
    ///
    /// - Parameters:
    ///   - options: The codes and pictures that are wanted, and the program of the processes.
    ///   - onResult: Called on the thread when there is a result.
    /// - Throws: ``CameraError``.
    init(_ options: CameraSession.Options, onResult: @escaping @Sendable () -> Void) throws(CameraError) {
        let process = try Self.process(.frames, options.wantedStarts, options)
        let decoder: DecoderProcess
        do throws(CameraError) {
            decoder = try Self.process(.previews, ["\(options.pictureWidth)"], options)
        } catch {
            process.end()
            throw error
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
                    let picture = decoder.preview(of: compressed)
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
            decoder.end()
        }
        guard let thread else {
            process.end()
            decoder.end()
            throw .noThread
        }
        (self.shared, self.thread, self.process, self.decoder) = (shared, thread, process, decoder)
    }

    private static func process(
        _ purpose: PictureProcess.Purpose,
        _ text: [String],
        _ options: CameraSession.Options
    ) throws(CameraError) -> DecoderProcess {
        do throws(PictureError) {
            return try DecoderProcess(purpose, beginningWith: text, program: options.program)
        } catch {
            throw .picture(error)
        }
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
        decoder.kill()
        thread.stop()
    }
}
