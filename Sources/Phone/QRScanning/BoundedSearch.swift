// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

extension CodeSearch {
    /// A reason why a search ended without a result.
    package enum Failure: Error, Hashable, Sendable {
        /// The picture cannot be decoded.
        case picture(PictureError)
        /// The search timed out.
        case timedOut
        /// The task was canceled.
        case cancelled
    }

    /// Decodes a picture and searches it for codes in a process of its own (``PictureProcess``), for at most `limit`.
    ///
    /// - Parameters:
    ///   - bytes: The picture's file.
    ///   - start: The ASCII characters, at most 255, with which wanted codes begin, in either case.
    ///   - limit: Time limit; afterwards, or if the task is canceled, the process is killed.
    ///   - program: A program that calls ``PictureProcess/runIfRequested()`` first; by default the running one.
    package static func codes(
        inPicture bytes: [UInt8],
        beginningWith start: String,
        limit: Duration,
        program: String = "/proc/self/exe"
    ) async throws(Failure) -> Finding {
        do throws(PictureError) {
            try GrayPicture.checkFormat(bytes)
        } catch {
            throw .picture(error)
        }
        let process: DecoderProcess
        do throws(PictureError) {
            process = try DecoderProcess(.file, beginningWith: [start], program: program)
        } catch {
            throw .picture(error)
        }
        let (stream, continuation) = AsyncStream.makeStream(of: Result<Finding, Failure>.self)
        DedicatedThread.startOrRunHere {
            let result = process.search(file: bytes)
            process.end()
            continuation.yield(result.mapError { .picture($0) })
        }
        let timer = Task {
            try? await Task.sleep(for: limit)
            continuation.yield(.failure(.timedOut))
        }
        defer {
            timer.cancel()
            // Ends the conversation, and so the thread.
            process.kill()
        }
        for await result in stream { return try result.get() }
        throw .cancelled
    }

    /// Decodes a picture and searches it: first on white, then on black if it may be transparent, because a code for
    /// dark pages has light modules without a background.
    static func codes(
        inFile bytes: [UInt8],
        where isWanted: (ScannedText) -> Bool
    ) throws(PictureError) -> Finding {
        var showsOthers = false
        for background in GrayPicture.Background.allCases {
            let (picture, mayBeTransparent) = try GrayPicture.decode(bytes, on: background)
            let finding = try CodeSearch().codes(in: picture, views: PictureView.all(of: picture), where: isWanted)
            guard finding.wanted.isEmpty, mayBeTransparent else { return finding }
            showsOthers = showsOthers || finding.showsOthers
        }
        return Finding(wanted: [], showsOthers: showsOthers)
    }
}
