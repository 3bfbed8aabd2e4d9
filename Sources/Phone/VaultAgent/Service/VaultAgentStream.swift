// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridPrimitives
internal import HybridThreads

/// Frames on a connected socket; its methods block, except those that are asynchronous.
///
/// Every wait ends at a deadline or with ``Waker/wake()``.
struct VaultAgentStream: Sendable {
    let descriptor: CInt
    let waker: Waker

    /// Reads type and body of the next frame.
    ///
    /// - Throws: ``FingerprintFailure/malformed`` for a length out of range; ``FingerprintFailure/cancelled`` at the end
    ///   of the connection, at the deadline, or when woken.
    func read(before deadline: ContinuousClock.Instant) throws(FingerprintFailure) -> SecretBytes {
        let header = try read(VaultAgentFrame.headerLength, before: deadline)
        let length = Int(header.memory[0]) << 8 | Int(header.memory[1])
        guard (1...VaultAgentFrame.maximumLength).contains(length) else { throw .malformed }
        return try read(length, before: deadline)
    }

    private func read(_ count: Int, before deadline: ContinuousClock.Instant) throws(FingerprintFailure) -> SecretBytes
    {
        let bytes = SecretBytes(count: count)
        var filled = 0
        while filled < count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: bytes.memory[filled...])
            let received = recv(descriptor, rest.baseAddress, rest.count, CInt(MSG_DONTWAIT))
            if received > 0 {
                filled += received
            } else if received < 0, errno == EINTR {
                continue
            } else {
                guard received < 0, errno == EAGAIN, waits(before: deadline) else { throw .cancelled }
            }
        }
        return bytes
    }

    /// Sends a frame; returns false if the peer is gone or does not read.
    @discardableResult
    func send(_ frame: SecretBytes) -> Bool {
        // The buffer of a local socket has room for all frames of a connection.
        let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
        return Glibc.send(descriptor, frame.memory.baseAddress, frame.memory.count, flags) == frame.memory.count
    }

    /// Waits on a thread of its own until the peer closes the connection or sends more; cancellation ends the wait.
    func waitForPeer() async {
        await withTaskCancellationHandler {
            _ = await DedicatedThread.run(otherwise: false) {
                // A day is longer than any verification.
                waits(before: .now + .seconds(86_400))
            }
        } onCancel: {
            waker.wake()
        }
    }

    /// Waits for bytes or the end of the connection; returns false at the deadline or when woken.
    private func waits(before deadline: ContinuousClock.Instant) -> Bool {
        while true {
            let left = deadline - .now
            guard left > .zero else { return false }
            let milliseconds = Int32(min(left, .seconds(60)) / .milliseconds(1)) + 1
            var polled = [
                pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&polled, 2, milliseconds) >= 0 || errno == EINTR else { return false }
            if polled[0].revents != 0 { return false }
            if polled[1].revents != 0 { return true }
        }
    }
}
