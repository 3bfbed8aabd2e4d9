// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridAuthenticator
import HybridCommandSupport
import HybridDBus
import HybridThreads
import HybridVirtualBlueZ
import TestSupport
import Testing

@testable import HybridVaultAgent

@Suite("The vault agent", .timeLimit(.minutes(5)))
struct VaultAgentTests {
    private static let fingers = ["right-index-finger"]

    private let vault: VaultID
    private let key: StoreKey

    init() throws {
        vault = try #require(VaultID("000102030405060708090a0b0c0d0e0f"))
        key = try #require(Array(UInt8(100)..<132).withUnsafeBytes { StoreKey(bytes: $0) })
    }

    /// Runs `body` with an agent that holds the key, its sensor and its bus.
    private func withAgent(
        at now: @escaping @Sendable () -> BootTime = { .now },
        _ body: @Sendable @escaping (VaultAgentClient, StandInSensor, BusAddress) async throws -> Void
    ) async throws {
        let (vault, key) = (vault, key)
        try await TestFolder.with { folder in
            try await PrivateBus.run { bus in
                let sensor = try await StandInSensor.start(on: bus.busAddress)
                let socket = try ServiceSocket(path: folder.path + "/agent")
                // No test passes because a verification ends by itself.
                let agent = VaultAgent(
                    survivesSuspend: false,
                    bus: bus.busAddress,
                    matchTimeout: .seconds(86_400),
                    now: now
                ) { _ in }
                let running = Task { try await agent.run(on: socket) {} }
                let client = VaultAgentClient(path: folder.path + "/agent")
                do {
                    try await client.hold(key, of: vault, isTest: true, fingers: Self.fingers)
                    try await body(client, sensor, bus.busAddress)
                } catch {
                    Issue.record(error)
                }
                running.cancel()
                try await running.value
                #expect(!sensor.isClaimed, "released at the end of the agent")
                socket.remove()
                await sensor.connection.close()
            }
        }
    }

    private func bytes(_ key: StoreKey) -> [UInt8] { key.withUnsafeBytes { Array($0) } }

    @Test("A match releases the key, and the device is stopped and released")
    func match() async throws {
        try await withAgent { client, sensor, _ in
            sensor.answer(["verify-no-match", "verify-match"])
            let events = Locked<[FingerprintSensor.Event]>([])
            let released = try await client.release(vault) { event in events.withLock { $0.append(event) } }
            #expect(bytes(released) == bytes(key))
            #expect(events.withLock { $0 } == [.waiting, .miss, .waiting])
            #expect(
                Array(sensor.calls.dropFirst()) == [
                    "Claim", "ListEnrolledFingers", "VerifyStart", "VerifyStop", "VerifyStart", "VerifyStop", "Release",
                ]
            )
        }
    }

    @Test("A match from another program on the bus does not count")
    func foreignSender() async throws {
        try await withAgent { client, sensor, bus in
            let thief = try await BusConnection.connect(to: bus)
            let waiting = Signal()
            let releasing = Task { try await client.release(vault) { _ in waiting.fire() } }
            await waiting.wait()
            for name in try await names(on: bus) { direct("verify-match", to: name, over: thief) }
            StandInSensor.emit("verify-match", over: thief)
            // Once the bus has answered a later call, it has delivered the forged signals.
            _ = try await thief.owner(of: FingerprintSensor.name)
            StandInSensor.emit("verify-unknown-error", over: sensor.connection)
            await #expect(throws: FingerprintFailure.sensorError) { try await releasing.value }
            await thief.close()
        }
    }

    /// Returns the unique names on a bus.
    private func names(on bus: BusAddress) async throws -> [String] {
        let connection = try await BusConnection.connect(to: bus)
        let reply = try await connection.call(BusNames.daemon, BusNames.daemonPath, BusNames.daemon, "ListNames")
        await connection.close()
        guard case .array(_, let names)? = reply.first else { return [] }
        return names.compactMap(\.text).filter { $0.hasPrefix(":") }
    }

    /// Sends a call with the contents of a signal; only fprintd's own signals may count.
    private func direct(_ result: String, to name: String, over connection: BusConnection) {
        let body = [BusValue.string(result), .bool(true)]
        connection.send(name, StandInSensor.device, FingerprintSensor.deviceInterface, "VerifyStatus", body)
    }

    @Test("A client that leaves cancels the verification, and the device is released")
    func cancelled() async throws {
        try await withAgent { client, sensor, _ in
            let waiting = Signal()
            let releasing = Task { try await client.release(vault) { _ in waiting.fire() } }
            await waiting.wait()
            await #expect(throws: FingerprintFailure.busy) { try await client.release(vault) { _ in } }
            releasing.cancel()
            await #expect(throws: FingerprintFailure.cancelled) { try await releasing.value }
            try await Waiting.until("the device to be released") { !sensor.isClaimed }
            #expect(Array(sensor.calls.suffix(2)) == ["VerifyStop", "Release"])
            sensor.answer(["verify-match"])
            // The agent is busy until it has the sensor's reply.
            try await Waiting.until("the end of the request") {
                do {
                    _ = try await client.release(vault) { _ in }
                    return true
                } catch FingerprintFailure.busy {
                    return false
                }
            }
        }
    }

    @Test("Other fingers than at the PIN discard the key, without a verification")
    func fingersChanged() async throws {
        try await withAgent { client, sensor, _ in
            sensor.enroll(["left-thumb"] + Self.fingers)
            await #expect(throws: FingerprintFailure.fingersChanged) { try await client.release(vault) { _ in } }
            #expect(!sensor.calls.contains("VerifyStart") && !sensor.isClaimed)
            let status = try await client.status()
            #expect(status.held.isEmpty)
            await #expect(throws: FingerprintFailure.fingersChanged) {
                try await client.hold(key, of: vault, isTest: true, fingers: Self.fingers)
            }
        }
    }

    @Test("The key of a real vault is not held on another bus than the system's")
    func realVault() async throws {
        try await withAgent { client, _, _ in
            let real = try #require(VaultID("ff0102030405060708090a0b0c0d0e0f"))
            await #expect(throws: FingerprintFailure.busUnverified) {
                try await client.hold(key, of: real, isTest: false, fingers: Self.fingers)
            }
            #expect(try await client.status().held.map(\.vault) == [vault])
            await #expect(throws: FingerprintFailure.noKey) { try await client.release(real) { _ in } }
        }
    }

    @Test("The third miss in a row ends the request and discards the key, also in a second request")
    func misses() async throws {
        try await withAgent { client, sensor, _ in
            sensor.answer(["verify-no-match", "verify-no-match", "verify-unknown-error"])
            await #expect(throws: FingerprintFailure.sensorError) { try await client.release(vault) { _ in } }
            let status = try await client.status()
            #expect(status.misses == 2)
            sensor.answer(["verify-no-match", "verify-match"])
            await #expect(throws: FingerprintFailure.tooManyMisses) { try await client.release(vault) { _ in } }
            await #expect(throws: FingerprintFailure.tooManyMisses) { try await client.release(vault) { _ in } }
            #expect(!sensor.isClaimed)
        }
    }

    @Test("The number of connections is bounded, and there is room again when they end")
    func connections() async throws {
        try await withAgent { client, _, _ in
            let open = Locked<[CInt]>([])
            // A connection without a request ends by itself, so more than the maximum may be needed.
            try await Waiting.until("a connection to be refused") {
                if open.withLock({ $0.count }) < 4 * VaultAgent.maximumConnections {
                    let descriptor = try connect(to: try #require(client.path))
                    open.withLock { $0.append(descriptor) }
                }
                return (try? await client.status()) == nil
            }
            for descriptor in open.withLock({ $0 }) { close(descriptor) }
            try await Waiting.until("room for a connection") { (try? await client.status()) != nil }
        }
    }

    /// Returns a connection to the agent, over which nothing is sent.
    private func connect(to path: String) throws -> CInt {
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = try #require(UnixAddress(path: path))
        try #require(address.withAddress { Glibc.connect(descriptor, $0, $1) } == 0)
        return descriptor
    }

    @Test("The PIN is needed after 12 hours")
    func lifetime() async throws {
        let hours = Locked(1.0)
        try await withAgent {
            let seconds = hours.withLock { $0 } * 3600
            return BootTime(total: seconds, awake: seconds)
        } _: { client, sensor, _ in
            hours.withLock { $0 = 12.9 }
            sensor.answer(["verify-match"])
            _ = try await client.release(vault) { _ in }
            hours.withLock { $0 = 13 }
            await #expect(throws: FingerprintFailure.expired) { try await client.release(vault) { _ in } }
        }
    }

    @Test("logind reports a suspend and the end of the last session; other programs do not")
    func logind() async throws {
        try await withAgent { client, _, bus in
            for (member, body, failure) in [
                ("PrepareForSleep", [BusValue.bool(true)], FingerprintFailure.suspended),
                ("SessionRemoved", [.string("1"), .objectPath("/")], .loggedOut),
            ] {
                try await client.hold(key, of: vault, isTest: true, fingers: Self.fingers)
                let logind = try await BusConnection.connect(to: bus)
                logind.emit(Logind.path, Logind.manager, member, body)
                _ = try await logind.owner(of: Logind.name)
                let status = try await client.status()
                let isOwner = try await logind.requestName(Logind.name)
                #expect(status.held.count == 1 && isOwner)
                // Signals before the subscription are lost.
                try await Waiting.until("the key to be discarded") {
                    logind.emit(Logind.path, Logind.manager, member, body)
                    return (try? await client.status().held.isEmpty) == true
                }
                await #expect(throws: failure) { try await client.release(vault) { _ in } }
                await logind.close()
            }
        }
    }

    @Test("A fprintd that ends during a verification fails it")
    func disconnected() async throws {
        try await withAgent { client, sensor, _ in
            let waiting = Signal()
            let releasing = Task { try await client.release(vault) { _ in waiting.fire() } }
            await waiting.wait()
            try await sensor.connection.releaseName(FingerprintSensor.name)
            await #expect(throws: FingerprintFailure.disconnected) { try await releasing.value }
        }
    }

    @Test("Without an agent, there is one sentence")
    func missing() async throws {
        try await TestFolder.with { folder in
            let client = VaultAgentClient(path: folder.path + "/none")
            await #expect(throws: FingerprintFailure.agentMissing) { try await client.status() }
            await #expect(throws: FingerprintFailure.agentMissing) {
                try await VaultAgentClient(environment: [:]).status()
            }
        }
    }
}
