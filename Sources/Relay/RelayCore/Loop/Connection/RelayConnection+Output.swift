// SPDX-License-Identifier: Apache-2.0

internal import CHybridLinux
internal import Glibc
internal import NIOCore

// Output to this end's socket.
extension RelayConnection {
    /// Number of bytes that the socket has not accepted.
    var pendingOutput: Int { output.count - outputStart }

    func write(_ bytes: [UInt8]) { write(bytes.span.bytes) }

    /// Writes bytes after earlier output, and keeps those that the socket does not take.
    func write(_ bytes: RawSpan) {
        // The descriptor may belong to another connection by now.
        if case .closed = phase { return }
        do throws(ConnectionFailure) {
            let sent = output.isEmpty ? try send(bytes) : 0
            guard sent < bytes.byteCount else { return }
            output.append(copying: bytes.extracting(sent..<bytes.byteCount))
        } catch {
            close()
        }
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

    /// Writes kept output after the socket has become writable.
    func writeOutput() {
        if case .closed = phase { return }
        do throws(ConnectionFailure) {
            if pendingOutput > 0 {
                // A local copy, so that nothing that a write causes can change the array meanwhile.
                let pending = output
                let sent = try send(pending.span.bytes.extracting(outputStart..<pending.count))
                outputStart += sent
                // The peer has acknowledged earlier bytes. It cannot be pinged before it has taken all of them.
                if sent > 0 { hasReceived = true }
            }
        } catch {
            return close()
        }
        trimOutput()
        if pendingOutput == 0 {
            if isOutputLast { shutDownOutput() } else { answerPing() }
        }
        if case .paired(let other) = phase, other.watchedEvents & EPOLLIN.rawValue == 0 { other.update() }
    }

    /// Releases memory that is no longer needed.
    private func trimOutput() {
        if outputStart == output.count {
            (output, outputStart) = ([], 0)
        } else if outputStart > output.count / 2 {
            (output, outputStart) = (Array(output[outputStart...]), 0)
        }
    }

    /// Writes the last bytes, shuts down the socket's output and waits for the peer to close.
    ///
    /// The last bytes, close_notify and FIN share a packet, which is cheaper for both ends.
    func finish(_ lastBytes: [UInt8]) {
        if case .closed = phase { return }
        if listener != nil { stopListening() }
        contactRequest = nil
        phase = .closing
        deadline = loop.now + limits.closeTimeout
        loop.checkSoon(self)
        (pendingInput, earlyFrames, pendingPong) = ([], [], nil)
        isOutputLast = true
        if let tls { tls.isOutputLast = !tls.isInEarlyData }
        write(lastBytes)
        if case .closing = phase, pendingOutput == 0 { shutDownOutput() }
        update()
    }

    /// Ends the output with close_notify and FIN, once the handshake is complete and the socket takes them.
    private func shutDownOutput() {
        if let tls {
            guard !tls.isInEarlyData else { return }
            do throws(ConnectionFailure) {
                isTLSBlocked = try !tls.sendCloseNotify()
            } catch {
                return close()
            }
            guard !isTLSBlocked else { return }
            // Input is dropped from now on, so it need not be decrypted.
            self.tls = nil
        }
        shutdown(descriptor, CInt(SHUT_WR))
    }
}
