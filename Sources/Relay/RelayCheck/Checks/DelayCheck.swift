// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The check that detects relays that delay messages.
///
/// Messages are sent in pairs, the second shortly after the first, as an authenticator sends its handshake message and
/// the next one. Nagle's algorithm holds the second back until the first is acknowledged, and this end delays
/// acknowledgments, as clients do. ``MessageDelays`` evaluates the times.
extension CheckRun {
    /// Pause that lets the relay forward the first message before the second arrives; much shorter than a stall.
    private static let pause = TimeAmount.milliseconds(3)
    /// Maximum actual pause; after a longer one, the first message is acknowledged before the second is sent.
    private static let longestPause = TimeAmount.milliseconds(10)

    func roundTrip() async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await sharedTunnel()
        var delays = MessageDelays(opening: openingTime)
        // A distant relay receives as many pairs as fit into half of the time; the other half is for a late message.
        let end = NIODeadline.now() + TimeAmount(options.timeout / 2)
        do throws(ProbeError) {
            repeat {
                if let pair = try await pair(from: tunnel.client, to: tunnel.phone) { delays.toPhone.append(pair) }
                if let pair = try await pair(from: tunnel.phone, to: tunnel.client) { delays.toClient.append(pair) }
            } while delays.wantsMore && .now() < end
        } catch {
            guard error == .timedOut else { throw error }
            shared = nil
            return .skipped("not measured: nothing within \(options.timeout.words)")
        }
        return delays.outcome
    }

    /// Sends two messages; returns `nil` if this computer sent them too far apart.
    private func pair(
        from sender: ProbeSocket,
        to receiver: ProbeSocket
    ) async throws(ProbeError) -> MessageDelays.Pair? {
        let message = Self.sample(50, seed: 2)
        await receiver.delayAcknowledgements()
        let frame = ProbeFrame(opcode: .binary, payload: message)
        let (first, second) = try await sender.send(frame, twiceApart: Self.pause, by: deadline)
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
