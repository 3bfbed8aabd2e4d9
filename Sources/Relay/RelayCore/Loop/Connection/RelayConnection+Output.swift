// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

// Output to this end's socket.
extension RelayConnection {
    func write(_ bytes: [UInt8]) { write(bytes.span.bytes) }

    /// Writes bytes after earlier output, and keeps those that the socket does not take.
    func write(_ bytes: RawSpan) {
        // The descriptor may belong to another connection by now.
        if case .closed = role { return }
        do throws(ConnectionFailure) { try socket.write(bytes) } catch { close() }
    }

    /// Writes pending output after the socket has become writable.
    func writeOutput() {
        if case .closed = role { return }
        do throws(ConnectionFailure) {
            // The peer has acknowledged earlier bytes. It cannot be pinged before it has taken all of them.
            if try socket.writePending() > 0 { webSocket?.hasReceived = true }
        } catch {
            return close()
        }
        if socket.pendingOutput == 0 {
            if socket.isOutputLast { shutDownOutput() } else if let webSocket { answerPing(of: webSocket) }
        }
        if case .tunnel(let end) = role, let other = end.other, !other.socket.isWatched { other.update() }
    }

    /// Writes the last bytes, shuts down the socket's output and waits for the peer to close.
    ///
    /// The last bytes, close_notify and FIN share a packet, which is cheaper for both ends.
    ///
    /// - Parameters:
    ///   - lastBytes: The close frame or refusal.
    ///   - limit: Number of bytes that the peer may still send.
    func finish(_ lastBytes: [UInt8], dropping limit: Int = .max) {
        if case .closed = role { return }
        role = .closing(leaveRole(), remainingDrop: limit)
        deadline = loop.now + limits.closeTimeout
        loop.checkSoon(self)
        socket.beginLastOutput()
        write(lastBytes)
        if case .closing = role, socket.pendingOutput == 0 { shutDownOutput() }
        update()
    }

    private func shutDownOutput() {
        do throws(ConnectionFailure) { try socket.shutDownOutput() } catch { close() }
    }
}
