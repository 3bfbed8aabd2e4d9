// SPDX-License-Identifier: Apache-2.0

// Frames from this end to the other one, and control frames.
extension RelayConnection {
    /// True if the connection is one end of a tunnel that has not ended, or listens.
    var isOpen: Bool {
        switch phase {
        case .waiting, .listening, .paired: true
        case .proxyHeader, .head, .moving, .contacting, .closing, .closed: false
        }
    }

    /// Processes the frames in a part of the loop's plaintext buffer, and keeps an incomplete one.
    func readFrames(from start: Int, upTo end: Int) {
        let buffer = UnsafeMutableRawBufferPointer(rebasing: loop.buffers.plaintext[..<end])
        var bytes = buffer.mutableBytes
        var position = start
        do throws(FrameViolation) {
            while isOpen, let event = try frames.next(in: &bytes, from: &position, buffering: bufferedPayload) {
                handle(event, bytes.bytes)
            }
        } catch {
            if let tunnel { endTunnel(.violated(by: tunnel.side, error)) }
            // If another event loop has already ended the tunnel, its message is still on the way.
            if isOpen { return closeTunnel(error.closeCode) }
        }
        guard isOpen else { return }
        keepInput(bytes.bytes.extracting(position..<end), until: frames.neededBytes)
        answerPing()
    }

    /// Maximum length of a payload that is buffered until its frame is complete.
    var bufferedPayload: Int {
        loop.context.registry.budget.isHigh ? MemoryPressure.bufferedPayload : FrameReader.bufferedPayload
    }

    /// Forwards the beginning of a frame that was buffered while the budget had room.
    func forwardIncompleteFrame() {
        let end = LoopBuffers.headroom + pendingInput.count
        loop.buffers.reservePlaintext(end)
        loadPendingInput()
        readFrames(from: LoopBuffers.headroom, upTo: end)
    }

    private func handle(_ event: FrameEvent, _ bytes: RawSpan) {
        guard let tunnel else { return handleListening(event, bytes) }
        sentCost += event.cost
        guard sentCost + receivedCost <= limits.tunnelBytes else { return endTunnel(.exhausted) }
        switch event {
        case .data(let range, let cost): forward(bytes.extracting(range), cost: cost)
        case .ping(let payload): pendingPong = Array(copying: bytes.extracting(payload))
        case .pong: break
        case .close(let code):
            if case .waiting = phase {
                endTunnel(.abandoned)
            } else {
                endTunnel(.closed(by: tunnel.side, code: code))
            }
            if isOpen { closeTunnel(code) }
        }
    }

    private func forward(_ frames: RawSpan, cost: Int) {
        recordActivity()
        if case .paired(let other) = phase {
            other.deliver(frames, cost: cost)
        } else {
            earlyFrames.append(copying: frames)
        }
    }

    /// Connects a waiting end with the other one, which receives the early frames.
    func pair(with other: RelayConnection) {
        if contactRequest != nil { announcePhone() }
        guard case .waiting = phase else { return }
        phase = .paired(other)
        recordActivity()
        if !earlyFrames.isEmpty {
            let frames = earlyFrames
            earlyFrames = []
            other.deliver(frames.span.bytes, cost: sentCost)
        }
        update()
    }

    /// Writes frames from the other end.
    private func deliver(_ frames: RawSpan, cost: Int) {
        guard case .paired = phase else { return }
        recordActivity()
        receivedCost += cost
        write(frames)
        update()
    }

    /// Answers the latest ping if all output has been written.
    ///
    /// So no answers are queued for an end that does not read.
    func answerPing() {
        guard isOpen, remainingPongs > 0, output.isEmpty, let payload = pendingPong else { return }
        pendingPong = nil
        remainingPongs -= 1
        write(ServerFrame.pong(payload))
    }

    /// Ends the tunnel, which closes both ends.
    func endTunnel(_ reason: TunnelEndReason) {
        guard let tunnel else { return }
        loop.carryOut(loop.context.registry.end(tunnel.key, reason))
    }

    private func recordActivity() {
        guard !hasCarriedData else { return }
        hasCarriedData = true
        loop.checkSoon(self)
    }

    /// Returns the tunnel's key if it carried data since the last call.
    ///
    /// Only the phone reports it.
    func takeActivity() -> TunnelKey? {
        guard hasCarriedData, let tunnel, tunnel.side == .phone else { return nil }
        hasCarriedData = false
        return tunnel.key
    }
}
