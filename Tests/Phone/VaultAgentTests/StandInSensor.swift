// SPDX-License-Identifier: Apache-2.0

import HybridDBus
import HybridThreads

@testable import HybridVaultAgent

/// A scripted fprintd on a private bus, for cases that a real one does not produce; the acceptance tests use a real one.
final class StandInSensor: Sendable {
    static let device = "/net/reactivated/Fprint/Device/0"

    private struct State {
        var fingers = ["right-index-finger"]
        var calls: [String] = []
        var results: [String] = []
    }

    let connection: BusConnection
    private let state: Locked<State>

    private init(_ connection: BusConnection, _ state: Locked<State>) {
        self.connection = connection
        self.state = state
    }

    /// The names of the calls of the device so far.
    var calls: [String] { state.withLock { $0.calls } }

    /// True while the device is claimed.
    var isClaimed: Bool { calls.count { $0 == "Claim" } > calls.count { $0 == "Release" } }

    /// Replaces the enrolled fingers.
    func enroll(_ fingers: [String]) { state.withLock { $0.fingers = fingers } }

    /// Sets the results of the next verifications, one for each start; without one, the sensor waits.
    func answer(_ results: [String]) { state.withLock { $0.results = results } }

    /// Sends a signal of the device over any connection.
    static func emit(_ result: String, over connection: BusConnection) {
        connection.emit(device, FingerprintSensor.deviceInterface, "VerifyStatus", [.string(result), .bool(true)])
    }

    /// Owns fprintd's name on a bus.
    static func start(on address: BusAddress) async throws -> StandInSensor {
        let state = Locked(State())
        let (messages, sink) = AsyncStream.makeStream(of: BusMessage.self)
        let connection = try await BusConnection.connect(to: address) { message in
            sink.yield(message)
            return .later
        }
        _ = try await connection.requestName(FingerprintSensor.name)
        Task {
            for await message in messages {
                let (reply, result) = state.withLock { Self.reply(to: message, &$0) }
                connection.reply(to: message, with: reply)
                if let result { emit(result, over: connection) }
            }
        }
        return StandInSensor(connection, state)
    }

    private static func reply(to message: BusMessage, _ state: inout State) -> (BusReply, String?) {
        guard message.interface == FingerprintSensor.deviceInterface else {
            return (message.member == "GetDefaultDevice" ? .values([.objectPath(device)]) : .unknownMethod, nil)
        }
        state.calls.append(message.member)
        switch message.member {
        case "ListEnrolledFingers": return (.values([.strings(state.fingers)]), nil)
        case "VerifyStart": return (.values([]), state.results.isEmpty ? nil : state.results.removeFirst())
        default: return (.values([]), nil)
        }
    }
}
