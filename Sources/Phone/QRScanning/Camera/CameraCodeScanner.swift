// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

/// A scanner that reads frames until one shows a code.
package enum CameraCodeScanner {
    /// A reason why a scan ended without a code.
    package enum Failure: Error, Hashable, Sendable {
        /// The source cannot provide frames.
        case camera(CameraError)
        /// No code was found in time.
        case timedOut
        /// The task was canceled.
        case cancelled
    }

    /// Number of consecutive damaged frames that end a scan.
    static let maximumDamagedFrames = 10

    private enum Event: Sendable {
        case hint(CameraHint)
        case ended(Result<ScannedText, Failure>)
    }

    /// Opens a source of frames on a dedicated thread, and scans them in a process of their own (``PictureProcess``).
    ///
    /// - Parameters:
    ///   - open: Opens the source. It is called on the dedicated thread, which closes the source soon after this
    ///     function has returned.
    ///   - limit: The time limit, which includes opening.
    ///   - start: The ASCII characters, at most 255, with which matching codes begin, in either case.
    ///   - isWanted: Returns true for a matching code.
    ///   - program: A program that calls ``PictureProcess/runIfRequested()`` first; by default the running one.
    ///   - hint: Called with a hint for the user when it changes.
    package static func firstCode<Source: FrameSource & ~Copyable>(
        from open: @escaping @Sendable () throws(CameraError) -> Source,
        limit: Duration,
        beginningWith start: String,
        where isWanted: @escaping @Sendable (ScannedText) -> Bool = { _ in true },
        program: String = "/proc/self/exe",
        hint: @Sendable (CameraHint) -> Void
    ) async throws(Failure) -> ScannedText {
        let isOver = Locked(false)
        let process: DecoderProcess
        do throws(PictureError) {
            process = try DecoderProcess(.frames, beginningWith: [start], program: program)
        } catch {
            throw .camera(.picture(error))
        }
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
        DedicatedThread.startOrRunHere {
            defer { process.end() }
            do throws(CameraError) {
                var source = try open()
                let code = try scan(&source, by: process, until: isOver, where: isWanted) {
                    continuation.yield(.hint($0))
                }
                if let code { continuation.yield(.ended(.success(code))) }
            } catch {
                continuation.yield(.ended(.failure(.camera(error))))
            }
        }
        let timer = Task {
            try? await Task.sleep(for: limit)
            continuation.yield(.ended(.failure(.timedOut)))
        }
        defer {
            timer.cancel()
            isOver.withLock { $0 = true }
            process.kill()
        }
        for await event in stream {
            switch event {
            case .hint(let new): hint(new)
            case .ended(let result): return try result.get()
            }
        }
        throw .cancelled
    }

    /// Scans frames until one shows a single matching code; returns `nil` if `isOver` is set first.
    private static func scan<Source: FrameSource & ~Copyable>(
        _ source: inout Source,
        by process: DecoderProcess,
        until isOver: Locked<Bool>,
        where isWanted: (ScannedText) -> Bool,
        hint: (CameraHint) -> Void
    ) throws(CameraError) -> ScannedText? {
        var hints = HintFilter()
        var damaged = 0
        while !isOver.withLock({ $0 }) {
            guard let frame = try source.nextFrame() else { continue }
            let finding: CodeSearch.Finding
            do throws(PictureError) {
                finding = try process.search(frame).get().filtered(isWanted)
            } catch {
                // Cameras on USB lose parts of a frame at times.
                damaged += 1
                guard error.isDamage, damaged < maximumDamagedFrames else { throw .picture(error) }
                continue
            }
            damaged = 0
            if finding.wanted.count == 1 { return finding.wanted.first }
            if let new = hints.next(finding) { hint(new) }
        }
        return nil
    }
}

extension GrayPicture {
    /// True if at most 1 percent of the pixels are brighter than those of a covered lens.
    var isDark: Bool {
        withPixels { pixels in
            let step = max(1, pixels.count / 10_000)
            let bright = stride(from: 0, to: pixels.count, by: step).count { pixels[$0] > 40 }
            return bright * 100 <= (pixels.count + step - 1) / step
        }
    }
}
