// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Whether a relay holds messages up.
///
/// Messages go in pairs, the second a moment behind the first, as a phone sends its part of the handshake and what
/// follows. Nagle's algorithm holds the second back until the first is acknowledged, and this end takes its time
/// with that, as every client does. See ``MessageDelays`` for what is made of the times.
extension CheckRun {
    /// Long enough for the relay to pass the first message on before the second comes; much less than a stall.
    private static let pause = TimeAmount.milliseconds(3)
    /// Where this machine slept so much longer, the first message is acknowledged before the second is sent.
    private static let longestPause = TimeAmount.milliseconds(10)

    func roundTrip(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await sharedTunnel(by: deadline)
        var delays = MessageDelays(opening: openingTime)
        // A far relay gets as many pairs as fit into half of the time, so that the other half is there for one that
        // answers late.
        let end = NIODeadline.now() + TimeAmount(options.timeout / 2)
        do throws(ProbeError) {
            repeat {
                delays.toPhone.append(try await pair(from: tunnel.client, to: tunnel.phone, by: deadline))
                delays.toClient.append(try await pair(from: tunnel.phone, to: tunnel.client, by: deadline))
            } while delays.wantsMore && .now() < end
        } catch {
            guard error == .timedOut else { throw error }
            dropShared()
            return .skipped("not measured: nothing within \(options.timeout.words)")
        }
        return delays.outcome
    }

    /// Sends two messages; `nil` if this machine did not send them closely enough.
    private func pair(
        from sender: ProbeSocket,
        to receiver: ProbeSocket,
        by deadline: NIODeadline
    ) async throws(ProbeError) -> MessageDelays.Pair? {
        let message = Self.sample(50, seed: 2)
        await receiver.delayAcknowledgements()
        let (first, second) = try await sender.sendTwice(
            ProbeFrame(opcode: .binary, payload: message).bytes(),
            ProbeFrame(opcode: .binary, payload: message).bytes(),
            apart: Self.pause,
            by: deadline
        )
        var times: [TimeAmount] = []
        for sent in [first, second] {
            let (event, arrival) = try await receiver.nextTimedEvent(by: deadline)
            if let difference = difference(event, message) { throw .malformed(difference) }
            times.append(arrival - sent)
        }
        guard second - first <= Self.longestPause else { return nil }
        return MessageDelays.Pair(first: times[0], second: times[1])
    }
}

extension [MessageDelays.Pair] {
    fileprivate mutating func append(_ pair: MessageDelays.Pair?) {
        if let pair { append(pair) }
    }
}
