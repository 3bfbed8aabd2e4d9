// SPDX-License-Identifier: Apache-2.0

internal import CHybridLinux
internal import Glibc

/// A connection's socket with its TLS session, its incomplete input and its unwritten output.
///
/// It transports bytes in both directions, and knows no requests, frames and tunnels. None of its methods calls back to
/// the connection.
struct BufferedSocket: ~Copyable {
    let descriptor: CInt
    /// The TLS session; `nil` without TLS, and after the end of the output.
    private(set) var tls: TLSConnection?
    /// Received bytes of something whose end has not arrived.
    private(set) var pendingInput: [UInt8] = []
    /// Number of bytes that `pendingInput` must have before it is processed again.
    var neededBytes = 0
    /// Bytes that the socket has not accepted, from `outputStart` on.
    private var output: [UInt8] = []
    private var outputStart = 0
    /// Number of bytes that count toward the budget.
    private(set) var bufferedBytes = 0
    /// The events for which the socket is registered.
    private(set) var watchedEvents = EPOLLIN.rawValue
    /// True if TLS must write before it can continue.
    var isTLSBlocked = false
    /// True if the peer has closed its side while the connection was not read.
    var hasPeerFinished = false
    /// True if nothing more is written after the output.
    private(set) var isOutputLast = false

    /// Creates the state of a connected, non-blocking socket.
    init(_ descriptor: CInt) { self.descriptor = descriptor }

    /// Starts TLS.
    mutating func startTLS(_ context: TLSServerContext, _ buffers: LoopBuffers) throws(ConnectionFailure) {
        tls = try TLSConnection(context, descriptor: descriptor, buffers: buffers)
    }

    /// Continues on another event loop, which has registered the socket for input.
    mutating func attach(to buffers: LoopBuffers) {
        tls?.rebind(to: buffers)
        watchedEvents = EPOLLIN.rawValue
    }

    /// True if the handshake is not complete, and early data was accepted.
    var isInEarlyData: Bool { tls?.isInEarlyData == true }

    // MARK: Input

    /// Returns the part of the loop's plaintext buffer after the place of the pending input.
    func roomForPlaintext(in buffers: LoopBuffers) -> UnsafeMutableRawBufferPointer {
        let start = LoopBuffers.headroom + pendingInput.count
        buffers.reservePlaintext(start + LoopBuffers.readSize)
        return UnsafeMutableRawBufferPointer(rebasing: buffers.plaintext[start..<(start + LoopBuffers.readSize)])
    }

    /// Moves the pending input to its place in the loop's buffer.
    mutating func loadPendingInput(into buffers: LoopBuffers) {
        guard !pendingInput.isEmpty else { return }
        let end = LoopBuffers.headroom + pendingInput.count
        UnsafeMutableRawBufferPointer(rebasing: buffers.plaintext[LoopBuffers.headroom..<end])
            .copyBytes(from: pendingInput)
        pendingInput = []
    }

    /// Keeps bytes until at least `count` are there.
    mutating func keepInput(_ bytes: RawSpan, until count: Int) {
        neededBytes = count
        if bytes.byteCount > 0 { pendingInput = Array(copying: bytes) }
    }

    /// Keeps bytes after the pending input.
    mutating func appendInput(_ bytes: UnsafeRawBufferPointer) { pendingInput.append(contentsOf: bytes) }

    // MARK: Output

    /// Number of bytes that the socket has not accepted.
    var pendingOutput: Int { output.count - outputStart }

    /// Writes bytes after earlier output, and keeps those that the socket does not take.
    mutating func write(_ bytes: RawSpan) throws(ConnectionFailure) {
        let sent = output.isEmpty ? try send(bytes) : 0
        guard sent < bytes.byteCount else { return }
        output.append(copying: bytes.extracting(sent..<bytes.byteCount))
    }

    /// Writes pending output after the socket has become writable, and returns the number of bytes that it took.
    mutating func writePending() throws(ConnectionFailure) -> Int {
        let sent = pendingOutput > 0 ? try send(output.span.bytes.extracting(outputStart..<output.count)) : 0
        outputStart += sent
        // Releases memory that is no longer needed.
        if outputStart == output.count {
            (output, outputStart) = ([], 0)
        } else if outputStart > output.count / 2 {
            (output, outputStart) = (Array(output[outputStart...]), 0)
        }
        return sent
    }

    /// Returns the number of bytes that the socket takes.
    private func send(_ bytes: RawSpan) throws(ConnectionFailure) -> Int {
        var sent = 0
        while sent < bytes.byteCount {
            let count = try bytes.extracting(sent..<bytes.byteCount).withUnsafeBytes {
                bytes throws(ConnectionFailure) in
                if let tls { return try tls.write(bytes) }
                guard let count = Socket.send(bytes, to: descriptor, isContinued: isOutputLast) else { throw .socket }
                return count
            }
            guard count > 0 else { break }
            sent += count
        }
        return sent
    }

    /// Drops the input, and makes the next bytes the last of the output.
    mutating func beginLastOutput() {
        pendingInput = []
        isOutputLast = true
        if let tls { tls.isOutputLast = !tls.isInEarlyData }
    }

    /// Ends the output with close_notify and FIN, once the handshake is complete and the socket takes them.
    mutating func shutDownOutput() throws(ConnectionFailure) {
        if let tls {
            guard !tls.isInEarlyData else { return }
            isTLSBlocked = try !tls.sendCloseNotify()
            guard !isTLSBlocked else { return }
            // Input is dropped from now on, so it need not be decrypted.
            self.tls = nil
        }
        shutdown(descriptor, CInt(SHUT_WR))
    }

    /// Sends close_notify if nothing precedes it, and releases the session and the bytes; the descriptor stays open.
    mutating func release() {
        if !isOutputLast, pendingOutput == 0 { _ = try? tls?.sendCloseNotify() }
        tls = nil
        (pendingInput, output, outputStart) = ([], [], 0)
    }

    // MARK: Events and budget

    /// Returns true if the events of interest have changed, so that the socket has to be registered again.
    mutating func updateEvents(isPaused: Bool) -> Bool {
        var wanted = EPOLLIN.rawValue
        if isPaused { wanted = hasPeerFinished ? 0 : EPOLLRDHUP.rawValue }
        if pendingOutput > 0 || isTLSBlocked { wanted |= EPOLLOUT.rawValue }
        guard wanted != watchedEvents else { return false }
        watchedEvents = wanted
        return true
    }

    /// True if the socket is registered for input.
    var isWatched: Bool { watchedEvents & EPOLLIN.rawValue != 0 }

    /// Amount of memory for something whose end has not arrived, in bytes.
    var incompleteBytes: Int { pendingInput.capacity + (tls?.heldBytes ?? 0) }

    /// Updates the number of bytes that count toward the budget, and returns its change.
    mutating func countBytes() -> Int {
        let bytes = incompleteBytes + output.capacity
        defer { bufferedBytes = bytes }
        return bytes - bufferedBytes
    }
}
