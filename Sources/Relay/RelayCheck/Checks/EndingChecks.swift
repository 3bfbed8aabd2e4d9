// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import NIOCore

/// Checks of the end of a tunnel: closed, disconnected, or ended by a violation of the protocol.
extension CheckRun {
    typealias End = any KeyPath<ProbeTunnel, ProbeSocket> & Sendable

    /// Closes one end with code 1000, which the other end must receive.
    func close(from: End, to: End) async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await sharedTunnel()
        shared = nil
        try await tunnel[keyPath: from].send(.close, [0x03, 0xE8], by: deadline)
        let event = try await tunnel[keyPath: to].nextEvent(by: deadline)
        return event == .close(1000) ? .ok(event.name) : .differs(event.name)
    }

    func cut(_ end: End, reportedTo other: End, within time: Duration) async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await tunnel()
        await tunnel[keyPath: end].reset()
        let start = NIODeadline.now()
        let observed: String
        do throws(ProbeError) {
            guard let event = try await tunnel[keyPath: other].eventIfAny(by: start + TimeAmount(time)) else {
                return .differs("nothing within \(time.words)")
            }
            guard case .close = event else { return .differs(event.name) }
            observed = event.name
        } catch {
            guard case .disconnected = error else { throw error }
            observed = "the connection ended"
        }
        return .ok("\(observed) after \((NIODeadline.now() - start).milliseconds)")
    }

    /// Sends bytes that an authenticator must not send, to which the relay should respond with a close code.
    func violation(_ bytes: [UInt8], closedWith code: UInt16) async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await tunnel()
        try await tunnel.phone.send(bytes, by: deadline)
        return try await refusal(code, in: tunnel)
    }

    func oversizedMessage() async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await tunnel()
        let message = [UInt8](repeating: 0x5A, count: Limits.messageBytes + 1)
        let wire = ProbeFrame(opcode: .binary, payload: message).bytes()
        // The frame's header alone reveals the length. Bytes that arrive after the relay has closed the connection
        // would reset it, and its close frame would be lost. So the rest is sent only if the relay does not react.
        let headOnly = 4 << 10
        let pause = TimeAmount(options.reactionTimeout(of: .oversizedMessage) / 4)
        try await tunnel.phone.send(Array(wire[..<headOnly]), by: deadline)
        if let event = try await tunnel.phone.eventIfAny(by: min(deadline, .now() + pause)) {
            return event == .close(1009) ? .ok(event.name) : .differs(event.name)
        }
        try await tunnel.phone.send(Array(wire[headOnly...]), by: deadline)
        return try await refusal(1009, in: tunnel)
    }

    /// Returns the outcome for a violation: the authenticator's close code, unless the relay forwarded the data.
    private func refusal(_ code: UInt16, in tunnel: ProbeTunnel) async throws(ProbeError) -> CheckOutcome {
        do throws(ProbeError) {
            let event = try await tunnel.client.nextEvent(by: deadline)
            switch event {
            case .message, .text: return .differs("it was forwarded as \(event.name)")
            case .pong: return .differs(event.name)
            case .close: break
            }
        } catch {
            // The client's connection may have ended without a close frame, or not at all. Only the authenticator's end
            // matters.
            switch error {
            case .disconnected, .timedOut: break
            default: throw error
            }
        }
        let event = try await tunnel.phone.nextEvent(by: max(deadline, .now() + .milliseconds(100)))
        return event == .close(code) ? .ok(event.name) : .differs(event.name)
    }
}
