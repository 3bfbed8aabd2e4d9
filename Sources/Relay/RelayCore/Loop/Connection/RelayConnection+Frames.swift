// SPDX-License-Identifier: Apache-2.0

// Frames from this end to the other one, and control frames.
extension RelayConnection {
    /// Processes the frames in a part of the loop's plaintext buffer, and keeps an incomplete one.
    func readFrames(of webSocket: WebSocketEnd, from start: Int = LoopBuffers.headroom, upTo end: Int) {
        let buffer = UnsafeMutableRawBufferPointer(rebasing: loop.buffers.plaintext[..<end])
        var bytes = buffer.mutableBytes
        var position = start
        do throws(FrameViolation) {
            while isOpen,
                let event = try webSocket.frames.next(in: &bytes, from: &position, buffering: bufferedPayload)
            {
                webSocket.handle(event, bytes.bytes, on: self)
            }
        } catch {
            if let tunnelEnd { endTunnel(.violated(by: tunnelEnd.side, error)) }
            // If another event loop has already ended the tunnel, its message is still on the way.
            if isOpen { return closeTunnel(error.closeCode) }
        }
        guard isOpen else { return }
        socket.keepInput(bytes.bytes.extracting(position..<end), until: webSocket.frames.neededBytes)
        answerPing(of: webSocket)
    }

    /// Maximum length of a payload that is buffered until its frame is complete.
    var bufferedPayload: Int {
        budget.isHigh ? MemoryPressure.bufferedPayload : FrameReader.bufferedPayload
    }

    /// Connects a waiting end with the other one, which receives the early frames.
    func pair(with other: RelayConnection) {
        announcePhone()
        guard case .tunnel(let end) = role, end.other == nil else { return }
        end.pair(with: other)
        if end.recordActivity() { loop.checkSoon(self) }
        let frames = end.takeEarlyFrames(from: budget)
        if !frames.isEmpty { other.deliver(frames.span.bytes, cost: end.sentCost) }
        update()
    }

    /// Writes frames from the other end.
    func deliver(_ frames: RawSpan, cost: Int) {
        guard case .tunnel(let end) = role else { return }
        if end.recordDelivery(cost: cost) { loop.checkSoon(self) }
        write(frames)
        update()
    }

    /// Answers the latest ping if all output has been written.
    ///
    /// So no answers are queued for an end that does not read.
    func answerPing(of end: WebSocketEnd) {
        guard let payload = end.pendingPong, isOpen, end.remainingPongs > 0, socket.pendingOutput == 0 else { return }
        end.pendingPong = nil
        end.remainingPongs -= 1
        write(ServerFrame.pong(payload))
    }

    /// Ends the tunnel, which closes both ends.
    func endTunnel(_ reason: TunnelEndReason) {
        guard let tunnelEnd else { return }
        loop.carryOut(loop.context.registry.end(tunnelEnd.key, reason))
    }
}
