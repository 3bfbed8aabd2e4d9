// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridPrimitives
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
        guard let (ours, its) = SocketPair.make() else { throw .picture(.noProcess("no file descriptors left")) }
        let child: ChildProcess
        do throws(ChildProcess.SpawnError) {
            defer { close(its) }
            child = try .spawn(
                [program, PictureProcess.argument],
                input: .descriptor(its),
                output: .descriptor(its),
                error: .null
            )
        } catch {
            close(ours)
            throw .picture(.noProcess(error.reason))
        }
        let (stream, continuation) = AsyncStream.makeStream(of: Result<Finding, Failure>.self)
        DedicatedThread.startOrRunHere {
            let reply = converse(ours, Array(start.utf8), bytes)
            close(ours)
            child.send(SIGKILL)
            child.waitBlocking()
            continuation.yield((reply ?? .failure(.decoderFailed)).mapError { .picture($0) })
        }
        let timer = Task {
            try? await Task.sleep(for: limit)
            continuation.yield(.failure(.timedOut))
        }
        defer {
            timer.cancel()
            // Ends the conversation, and so the thread.
            child.send(SIGKILL)
        }
        for await result in stream { return try result.get() }
        throw .cancelled
    }

    /// Sends a picture and returns the reply; `nil` if it is malformed or missing.
    private static func converse(
        _ socket: CInt,
        _ start: [UInt8],
        _ picture: [UInt8]
    ) -> Result<Finding, PictureError>? {
        for part in [[UInt8(truncatingIfNeeded: start.count)] + start, picture] {
            var rest = part[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return nil }
                rest = rest.dropFirst(count)
            }
        }
        shutdown(socket, CInt(SHUT_WR))
        let reply = SecretBytes(count: PictureReply.maximumLength + 1)
        var length = 0
        while length < reply.memory.count {
            let free = UnsafeMutableRawBufferPointer(rebasing: reply.memory[length...])
            let count = recv(socket, free.baseAddress, free.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            length += count
        }
        return PictureReply.result(UnsafeRawBufferPointer(rebasing: reply.memory[..<length]))
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
