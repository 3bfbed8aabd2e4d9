// SPDX-License-Identifier: Apache-2.0

import HybridBLEAdvert
import HybridCaBLE
import HybridSystemBus
import HybridVirtualBlueZ
import Testing

/// A private bus with a virtual bluetoothd, of one test alone.
struct Bench: Sendable {
    let bus: PrivateBus
    let connection: BusConnection
    let control: AirControl

    /// Much quicker than a real radio.
    static let quick = AirSettings(
        firstSeen: .milliseconds(10),
        refresh: .milliseconds(100),
        linger: .milliseconds(100)
    )

    static func run<R: Sendable>(
        _ settings: AirSettings = quick,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (Bench) async throws -> R
    ) async throws -> R {
        try await onBus { bus in
            try await VirtualBlueZ.serve(on: bus.busAddress, settings) {
                let connection = try await BusConnection.connect(to: bus.busAddress)
                let bench = Bench(bus: bus, connection: connection, control: AirControl(connection))
                do {
                    let result = try await body(bench)
                    await connection.close()
                    return result
                } catch {
                    await connection.close()
                    throw error
                }
            }
        }
    }

    /// A private bus with nobody on it.
    static func onBus<R: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (PrivateBus) async throws -> R
    ) async throws -> R {
        let bus = try await PrivateBus.start()
        do {
            let result = try await body(bus)
            await bus.close()
            return result
        } catch {
            await bus.close()
            throw error
        }
    }

    /// A radio that is closed after `body`.
    func radio<R: Sendable>(
        _ role: BluetoothRadio.Role,
        _ adapter: String? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (BluetoothRadio) async throws -> R
    ) async throws -> R {
        let radio = try await open(role, adapter)
        do {
            let result = try await body(radio)
            await radio.close()
            return result
        } catch {
            await radio.close()
            throw error
        }
    }

    func open(_ role: BluetoothRadio.Role, _ adapter: String? = nil) async throws(RadioError) -> BluetoothRadio {
        try await BluetoothRadio.open(
            adapter: adapter.flatMap { AdapterName($0) },
            for: role,
            on: bus.busAddress
        )
    }

    /// Expects exactly these adverts on the air, now.
    func expectActive(_ adverts: [Advert], _ location: SourceLocation = #_sourceLocation) async throws {
        let active = try await control.activeAdverts()
        #expect(active == adverts.map { hex($0.bytes) }.sorted(), sourceLocation: location)
    }

    /// Polls until exactly these adverts are on the air.
    func untilActive(_ adverts: [Advert]) async throws {
        let wanted = adverts.map { hex($0.bytes) }.sorted()
        try await eventually { try await control.activeAdverts() == wanted }
    }
}

/// A state that should have come did not.
struct NeverCame: Error {}

/// Polls until `condition` holds, at most a minute.
func eventually(
    isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while try await !condition() {
        guard ContinuousClock.now < end else { throw NeverCame() }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// An advert of 20 times the same byte.
func advert(_ byte: UInt8) throws -> Advert {
    guard let advert = Advert(bytes: [UInt8](repeating: byte, count: Advert.length)) else { throw NeverCame() }
    return advert
}

func hex(_ bytes: [UInt8]) -> String {
    bytes.map { byte in
        let text = String(byte, radix: 16)
        return text.utf8.count == 1 ? "0" + text : text
    }.joined()
}

extension AdvertSequence {
    /// All that is heard up to and with `last`.
    func heard(until last: Advert) async throws -> [ReceivedAdvert] {
        var all: [ReceivedAdvert] = []
        for try await heard in self {
            all.append(heard)
            if heard.advert == last { return all }
        }
        throw NeverCame()
    }
}

/// What `body` throws, as a `RadioError`.
func radioError(
    isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Void
) async -> RadioError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? RadioError
    }
}
