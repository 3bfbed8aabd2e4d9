// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Checks of messages in a tunnel to which both ends are connected.
extension CheckRun {
    /// Returns bytes that reveal a shift, a swap or a missing part.
    static func sample(_ count: Int, seed: Int) -> [UInt8] {
        // Up to a megabyte, so without a call for each byte, which takes seconds if it is not optimized.
        [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
            while initialized < count {
                let value = (initialized &+ seed &* 101) &* 37 &+ (initialized >> 8)
                bytes[initialized] = UInt8(truncatingIfNeeded: value)
                initialized += 1
            }
        }
    }

    /// Returns a description of the difference, or `nil` if the message arrived unchanged.
    func difference(_ event: ProbeEvent, _ sent: [UInt8]) -> String? {
        guard event != .message(sent) else { return nil }
        if case .message(let received) = event, received.count == sent.count {
            return "\(sent.count) bytes, but different ones"
        }
        return "\(event.name) instead of \(sent.count) bytes"
    }

    func messages(_ sizes: [Int]) async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await sharedTunnel()
        for size in sizes {
            for (name, from, to) in [
                ("client to phone", tunnel.client, tunnel.phone), ("phone to client", tunnel.phone, tunnel.client),
            ] {
                let message = Self.sample(size, seed: size)
                try await from.send(.binary, message, by: deadline)
                guard let event = try await to.eventIfAny(by: deadline) else {
                    return .differs("\(size) bytes, \(name): nothing within \(options.timeout.words)")
                }
                if let difference = difference(event, message) { return .differs("\(name): \(difference)") }
            }
        }
        return .ok("\(sizes.map(String.init).joined(separator: ", ")) bytes")
    }

    func messagesOrder() async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await sharedTunnel()
        let batch = (0..<20).map { Self.sample(10 + 97 * ($0 % 7), seed: $0) }
        let wire = batch.flatMap { ProbeFrame(opcode: .binary, payload: $0).bytes() }
        try await tunnel.client.send(wire, by: deadline)
        try await tunnel.phone.send(wire, by: deadline)
        for (name, end) in [("client to phone", tunnel.phone), ("phone to client", tunnel.client)] {
            for (index, message) in batch.enumerated() {
                if let difference = difference(try await end.nextEvent(by: deadline), message) {
                    return .differs("\(name), message \(index + 1): \(difference)")
                }
            }
        }
        return .ok("20 each way")
    }

    func earlyMessages() async throws(ProbeError) -> CheckOutcome {
        let phone = try await phone()
        let batch = (0..<10).map { Self.sample(64, seed: $0) }
        do throws(ProbeError) {
            for message in batch { try await phone.socket.send(.binary, message, by: deadline) }
            // A pong proves that the relay has read the messages. If the relay does not answer pings, it gets one
            // second.
            try await phone.socket.send(.ping, [], by: deadline)
            let event = try await phone.socket.nextEvent(by: min(deadline, .now() + .seconds(1)))
            if case .close = event { return .differs("\(event.name) to the phone before its client joined") }
        } catch {
            if case .disconnected = error {
                return .differs("the phone's connection was closed before its client joined")
            }
            guard error == .timedOut else { throw error }
        }
        let tunnel: ProbeTunnel
        do throws(ProbeError) {
            tunnel = try await join(phone)
        } catch {
            guard case .noTunnel(let why) = error else { throw error }
            return .differs("the client could not join: \(why)")
        }
        let last = NIODeadline.now() + TimeAmount(options.reactionTimeout(of: .earlyMessages))
        for (index, message) in batch.enumerated() {
            guard let event = try await tunnel.client.eventIfAny(by: last) else {
                return .differs("\(index) of \(batch.count) arrived")
            }
            if let difference = difference(event, message) { return .differs("message \(index + 1): \(difference)") }
        }
        shared = tunnel
        return .ok("\(batch.count) arrived")
    }

    func ping() async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await sharedTunnel()
        let payload = Self.sample(20, seed: 1)
        let last = NIODeadline.now() + TimeAmount(options.reactionTimeout(of: .ping))
        for (name, end) in [("phone", tunnel.phone), ("client", tunnel.client)] {
            try await end.send(.ping, payload, by: deadline)
            let event = try await end.nextEvent(by: last)
            guard event == .pong(payload) else { return .differs("\(event.name) to the \(name)") }
        }
        return .ok("to phone and client")
    }
}
