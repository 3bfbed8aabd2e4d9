// SPDX-License-Identifier: Apache-2.0

internal import CHybridLinux
internal import Glibc

// Input from this end's socket, through TLS, up to the role that it is for.
extension RelayConnection {
    /// Reads the socket, unless it is paused and the peer has left.
    func handleInput(_ events: UInt32) {
        let isUnwatched = !socket.isWatched
        switch role {
        case .proxyHeader, .head, .contacting: if isUnwatched { close() } else { readSocket() }
        case .tunnel where !isPaired:
            // The rest could reach no other end.
            if isUnwatched { close() } else { readSocket() }
        case .tunnel where isPaused:
            // After a reset, the socket would report it continuously. After FIN, the rest is read later.
            if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { close() }
        case .tunnel, .moving, .listening, .closing, .closed: readSocket()
        }
    }

    /// Reads the socket once and processes what has arrived.
    private func readSocket() {
        switch role {
        case .closed, .moving, .contacting: break
        case .closing:
            guard let tls = socket.tls, tls.isInEarlyData else { return dropInput() }
            receiveCiphertext(tls)
        case .proxyHeader: receivePlaintext()
        // The peer has left in the middle of the handshake, without having read what it was sent.
        case .head where socket.isTLSBlocked: close()
        case .head, .tunnel, .listening:
            guard let tls = socket.tls else { return receivePlaintext() }
            receiveCiphertext(tls)
        }
    }

    private func receiveCiphertext(_ tls: TLSConnection) {
        switch tls.receive(upTo: readSize) {
        case .bytes(let count): if mayReceive(count) { processCiphertext(tls) } else { close() }
        case .nothing: break
        case .end, .failed: close()
        }
    }

    private func receivePlaintext() {
        let room = socket.roomForPlaintext(in: loop.buffers)
        switch Socket.receive(socket.descriptor, into: UnsafeMutableRawBufferPointer(rebasing: room[..<readSize])) {
        case .bytes(let count): receive(count)
        case .nothing: break
        case .end, .failed: close()
        }
    }

    /// Maximum number of bytes in the next read of the socket.
    private var readSize: Int { hasMemory ? LoopBuffers.readSize : MemoryPressure.readSize }

    /// Processes kept ciphertext, if there is any.
    func processKeptCiphertext() {
        guard let tls = socket.tls, isReading || isClosingInEarlyData else { return }
        tls.restore()
        processCiphertext(tls)
    }

    /// Continues the handshake and processes all complete records.
    private func processCiphertext(_ tls: TLSConnection) {
        defer { tls.keepRest() }
        do throws(ConnectionFailure) {
            if !tls.isEstablished {
                if !tls.isInEarlyData { socket.isTLSBlocked = try tls.handshake() }
                if tls.isInEarlyData { try processEarlyData(tls) }
                guard tls.isEstablished else { return }
            }
            while isReading {
                switch try tls.read(into: socket.roomForPlaintext(in: loop.buffers)) {
                case .bytes(let count): receive(count)
                case .nothing: return
                case .end: return close()
                }
            }
        } catch {
            close()
        }
    }

    /// Processes bytes that have been read to the room for plaintext.
    func receive(_ count: Int) {
        let end = LoopBuffers.headroom + socket.pendingInput.count + count
        guard loadPendingInput(with: count) else { return }
        switch role {
        case .proxyHeader: readProxyHeader(upTo: end)
        case .head: readHead(upTo: end)
        case .tunnel(let tunnelEnd): readNewFrames(of: tunnelEnd, upTo: end)
        case .listening(let phone): readNewFrames(of: phone, upTo: end)
        case .moving, .contacting, .closing, .closed: break
        }
    }

    private func readNewFrames(of webSocket: WebSocketEnd, upTo end: Int) {
        webSocket.hasReceived = true
        readFrames(of: webSocket, upTo: end)
    }

    /// Moves the pending input to its place before new bytes; returns false if more are needed, and keeps all of them.
    ///
    /// So something of many bytes that arrives in small pieces is not copied back and forth for each of them. Under memory
    /// pressure, a frame is forwarded earlier. A request is not parsed earlier.
    private func loadPendingInput(with count: Int) -> Bool {
        let pending = socket.pendingInput.count
        guard pending > 0 else { return true }
        var needed = socket.neededBytes
        if !role.isHead { needed = min(needed, bufferedPayload + FrameHeader.maximumLength) }
        guard pending + count >= needed else {
            webSocket?.hasReceived = true
            let start = LoopBuffers.headroom + pending
            let new = loop.buffers.plaintext[start..<(start + count)]
            socket.appendInput(UnsafeRawBufferPointer(rebasing: new))
            return false
        }
        socket.loadPendingInput(into: loop.buffers)
        return true
    }

    /// Processes pending input as frames, although it has not grown.
    func readPendingFrames() {
        guard let webSocket, !socket.pendingInput.isEmpty else { return }
        let end = LoopBuffers.headroom + socket.pendingInput.count
        loop.buffers.reservePlaintext(end)
        socket.loadPendingInput(into: loop.buffers)
        readFrames(of: webSocket, upTo: end)
    }

    /// Processes the frames and the ciphertext that were received before a move, or with a held request.
    func processPendingInput() {
        readPendingFrames()
        processKeptCiphertext()
    }

    /// Reads and drops input; after a refusal, only a limited amount.
    private func dropInput() {
        switch Socket.receive(socket.descriptor, into: loop.buffers.ciphertext) {
        case .bytes(let count): if !mayReceive(count) { close() }
        case .nothing: break
        case .end, .failed: close()
        }
    }

    /// Counts received bytes; returns false if they are too many after a refusal.
    private func mayReceive(_ count: Int) -> Bool {
        guard case .closing(let end, let rest) = role else { return true }
        role = .closing(end, remainingDrop: rest - count)
        return count < rest
    }
}
