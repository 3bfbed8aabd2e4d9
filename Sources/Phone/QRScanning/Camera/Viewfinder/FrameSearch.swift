// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

/// A search in one frame after the other, on a thread of its own and in a process of their own.
final class FrameSearch: Sendable {
    private struct Shared: Sendable {
        var frame: CameraFrame?
        var result: Result<CodeSearch.Finding, PictureError>?
        var isBusy = false
    }

    private let shared: Locked<Shared>
    private let thread: StoppableThread
    private let process: DecoderProcess

    /// Starts the thread and the process.
    ///
    /// - Parameters:
    ///   - options: The codes that are wanted, and the program of the process.
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
                let frame = shared.withLock { shared in
                    defer { shared.frame = nil }
                    return shared.frame
                }
                guard let frame else { continue }
                let result = process.search(frame)
                shared.withLock { $0.result = result }
                onResult()
            }
            process.end()
        }
        guard let thread else {
            process.end()
            throw .noThread
        }
        (self.shared, self.thread, self.process) = (shared, thread, process)
    }

    /// True if a frame can be searched.
    var isIdle: Bool { shared.withLock { !$0.isBusy } }

    /// Begins to search a frame; the search before it has ended.
    func begin(_ frame: CameraFrame) {
        shared.withLock { shared in
            shared.frame = frame
            shared.isBusy = true
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

    /// Ends the process and the thread, and waits for both.
    func end() {
        process.kill()
        thread.stop()
    }
}
