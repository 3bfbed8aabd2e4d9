// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridPrimitives
internal import HybridThreads

/// A running ``PictureProcess``, as the program that has started it sees it.
///
/// Its output may be hostile, because a picture may have taken it over.
final class DecoderProcess: Sendable {
    private let child: ChildProcess
    private let socket: CInt

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - purpose: The pictures that it searches.
    ///   - starts: The ASCII characters with which wanted codes begin, in either case; together at most 255.
    ///   - program: A program that calls ``PictureProcess/runIfRequested()`` first.
    init(_ purpose: PictureProcess.Purpose, beginningWith starts: [String], program: String) throws(PictureError) {
        guard let (ours, its) = SocketPair.make() else { throw .noProcess("no file descriptors left") }
        do throws(ChildProcess.SpawnError) {
            defer { close(its) }
            child = try .spawn(
                [program, purpose.rawValue],
                input: .descriptor(its),
                output: .descriptor(its),
                error: .null
            )
        } catch {
            close(ours)
            throw .noProcess(error.reason)
        }
        socket = ours
        // It fits the buffer of the socket. If the process is gone already, its reply is missing.
        let text = starts.joined(separator: "\n").utf8.prefix(255)
        _ = ([UInt8(text.count)] + text).withUnsafeBytes(send)
    }

    /// Kills the process, which ends a conversation.
    func kill() { child.send(SIGKILL) }

    /// Ends the process and waits for that; called once, by the thread of the conversation.
    func end() {
        close(socket)
        kill()
        child.waitBlocking()
    }

    /// Sends a picture's file, after which nothing follows, and returns the result.
    func search(file: [UInt8]) -> Result<CodeSearch.Finding, PictureError> {
        guard file.withUnsafeBytes(send) else { return .failure(.decoderFailed) }
        shutdown(socket, CInt(SHUT_WR))
        let reply = SecretBytes(count: PictureReply.maximumLength + 1)
        let length = receive(into: reply.memory)
        return result(reply, length)
    }

    /// Sends a frame and returns the result.
    func search(_ frame: CameraFrame) -> Result<CodeSearch.Finding, PictureError> {
        reply(to: frame, atMost: PictureReply.maximumLength, PictureReply.result)
    }

    /// Sends a compressed frame and returns its picture for a viewfinder.
    func preview(of frame: CameraFrame) -> Result<ViewfinderPicture, PictureError> {
        reply(to: frame, atMost: PreviewReply.maximumLength, PreviewReply.result)
    }

    private func reply<Value>(
        to frame: CameraFrame,
        atMost limit: Int,
        _ parse: (UnsafeRawBufferPointer) -> Result<Value, PictureError>?
    ) -> Result<Value, PictureError> {
        let isSent = frame.header.bytes.withUnsafeBytes(send) && frame.withBytes(send)
        var count = [UInt8](repeating: 0, count: 4)
        guard isSent, count.withUnsafeMutableBytes(receive) == count.count else { return .failure(.decoderFailed) }
        let length = count.reduce(0) { $0 << 8 | Int($1) }
        guard (1...limit).contains(length) else { return .failure(.decoderFailed) }
        let reply = SecretBytes(count: length)
        guard receive(into: reply.memory) == length else { return .failure(.decoderFailed) }
        return parse(UnsafeRawBufferPointer(reply.memory)) ?? .failure(.decoderFailed)
    }

    private func result(_ reply: SecretBytes, _ length: Int) -> Result<CodeSearch.Finding, PictureError> {
        PictureReply.result(UnsafeRawBufferPointer(rebasing: reply.memory[..<length])) ?? .failure(.decoderFailed)
    }

    /// Sends all bytes; returns false if the process is gone.
    private func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.send(
                socket,
                UnsafeRawBufferPointer(rebasing: rest).baseAddress,
                rest.count,
                CInt(MSG_NOSIGNAL)
            )
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Fills the memory, or less if the process ends; returns the number of bytes.
    private func receive(into memory: UnsafeMutableRawBufferPointer) -> Int {
        var length = 0
        while length < memory.count {
            let free = UnsafeMutableRawBufferPointer(rebasing: memory[length...])
            let count = recv(socket, free.baseAddress, free.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            length += count
        }
        return length
    }
}
