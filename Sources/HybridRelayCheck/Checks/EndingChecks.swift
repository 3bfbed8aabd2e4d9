// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import NIOCore

/// How tunnels end, in order or because an end breaks the rules.
extension CheckRun {
    typealias End = any KeyPath<ProbeTunnel, ProbeSocket> & Sendable

    func close(from: End, to: End, by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await sharedTunnel(by: deadline)
        dropShared()
        try await tunnel[keyPath: from].sendClose(1000, by: deadline)
        let event = try await tunnel[keyPath: to].nextEvent(by: deadline)
        return event == .close(1000) ? .ok(event.name) : .differs(event.name)
    }

    func cut(
        _ end: End,
        telling other: End,
        within time: Duration,
        by deadline: NIODeadline
    ) async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await tunnel(by: deadline)
        await tunnel[keyPath: end].cut()
        let start = NIODeadline.now()
        let heard: String
        do throws(ProbeError) {
            let event = try await tunnel[keyPath: other].nextEvent(by: start + TimeAmount(time))
            guard case .close = event else { return .differs(event.name) }
            heard = event.name
        } catch {
            switch error {
            case .timedOut: return .differs("nothing within \(time.words)")
            case .hungUp: heard = "the connection ended"
            default: throw error
            }
        }
        return .ok("\(heard) after \((NIODeadline.now() - start).milliseconds)")
    }

    func textMessage(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await tunnel(by: deadline)
        try await tunnel.phone.send(ProbeFrame(opcode: .text, payload: Array("text".utf8)).bytes(), by: deadline)
        return try await refusal(1003, in: tunnel, by: deadline)
    }

    func unmaskedFrame(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await tunnel(by: deadline)
        try await tunnel.phone.send(ProbeFrame(opcode: .binary, payload: [1]).bytes(masked: false), by: deadline)
        return try await refusal(1002, in: tunnel, by: deadline)
    }

    func oversizedMessage(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await tunnel(by: deadline)
        let message = [UInt8](repeating: 0x5A, count: Limits.messageBytes + 1)
        let wire = ProbeFrame(opcode: .binary, payload: message).bytes()
        // A relay can tell from the head alone. Bytes that come after it has hung up would reset the connection
        // and take its close frame with them, so it gets the rest only if it says nothing.
        let headOnly = 4 << 10
        let look = TimeAmount(options.patience(of: .oversizedMessage) / 4)
        try await tunnel.phone.send(Array(wire[..<headOnly]), by: deadline)
        do throws(ProbeError) {
            let event = try await tunnel.phone.nextEvent(by: min(deadline, .now() + look))
            return event == .close(1009) ? .ok(event.name) : .differs(event.name)
        } catch {
            guard error == .timedOut else { throw error }
        }
        try await tunnel.phone.send(Array(wire[headOnly...]), by: deadline)
        return try await refusal(1009, in: tunnel, by: deadline)
    }

    /// What the phone is told for what it sent; the client shows whether that was passed on instead.
    private func refusal(
        _ code: UInt16,
        in tunnel: ProbeTunnel,
        by deadline: NIODeadline
    ) async throws(ProbeError) -> CheckOutcome {
        do throws(ProbeError) {
            let event = try await tunnel.client.nextEvent(by: deadline)
            switch event {
            case .message, .text: return .differs("it was passed on as \(event.name)")
            case .pong: return .differs(event.name)
            case .close: break
            }
        } catch {
            // The client's connection may have ended, or not, without a word; the phone's counts.
            switch error {
            case .hungUp, .timedOut: break
            default: throw error
            }
        }
        let event = try await tunnel.phone.nextEvent(by: max(deadline, .now() + .milliseconds(100)))
        return event == .close(code) ? .ok(event.name) : .differs(event.name)
    }
}
