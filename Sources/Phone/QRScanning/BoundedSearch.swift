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

    /// Decodes a picture and searches it for codes on a dedicated thread, for at most `limit`.
    ///
    /// Neither the decoders nor zbar can be interrupted. After a timeout or cancellation, the thread ends when its
    /// current step is complete, and its result is dropped.
    package static func codes(
        inPicture bytes: [UInt8],
        limit: Duration,
        where isWanted: @escaping @Sendable (ScannedText) -> Bool
    ) async throws(Failure) -> Finding {
        let isOver = Locked(false)
        let (stream, continuation) = AsyncStream.makeStream(of: Result<Finding, Failure>.self)
        DedicatedThread.startOrRunHere {
            continuation.yield(
                Result { () throws(Failure) in
                    do throws(PictureError) {
                        let picture = try GrayPicture(decoding: bytes)
                        return try CodeSearch().codes(
                            in: picture,
                            views: PictureView.all(of: picture),
                            while: { !isOver.withLock { $0 } },
                            where: isWanted
                        )
                    } catch {
                        throw .picture(error)
                    }
                }
            )
        }
        let timer = Task {
            try? await Task.sleep(for: limit)
            continuation.yield(.failure(.timedOut))
        }
        defer {
            timer.cancel()
            isOver.withLock { $0 = true }
        }
        for await result in stream { return try result.get() }
        throw .cancelled
    }
}
