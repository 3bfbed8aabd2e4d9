// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

extension CodeSearch {
    /// Why a search ended without an answer.
    public enum Failure: Error, Hashable, Sendable {
        /// The bytes are no picture.
        case picture(PictureError)
        /// The picture was made to keep the reader busy, or the machine is.
        case tookTooLong
        /// The task was cancelled.
        case cancelled
    }

    /// Decodes a picture and looks for codes, on a thread of its own and no longer than `limit`.
    ///
    /// Neither decoders nor zbar can be interrupted. After time-out and cancellation the thread is left to itself: it
    /// ends after the look it is at, and nobody hears of it.
    public static func codes(
        inPicture bytes: [UInt8],
        limit: Duration,
        where isWanted: @escaping @Sendable (ScannedText) -> Bool
    ) async throws(Failure) -> Finding {
        let isOver = StopFlag()
        let (stream, continuation) = AsyncStream.makeStream(of: Result<Finding, Failure>.self)
        DedicatedThread.startOrRunHere {
            continuation.yield(
                Result { () throws(Failure) in
                    do throws(PictureError) {
                        let picture = try GreyPicture(decoding: bytes)
                        return try CodeSearch().codes(
                            in: picture,
                            looks: PictureView.all(of: picture),
                            while: { !isOver.isRaised },
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
            continuation.yield(.failure(.tookTooLong))
        }
        defer {
            timer.cancel()
            isOver.raise()
        }
        for await result in stream { return try result.get() }
        throw .cancelled
    }
}
