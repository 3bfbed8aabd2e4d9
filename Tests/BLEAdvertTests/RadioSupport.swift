// SPDX-License-Identifier: Apache-2.0

import HybridBLEAdvert
import HybridCaBLE
import HybridDBus
import HybridPrimitives
import HybridThreads
import HybridVirtualBlueZ
import IntegrationTestSupport
import Testing

extension TestRadio {
    /// Runs `body` with a radio and closes it afterwards.
    func radio<R: Sendable>(
        _ role: BluetoothRadio.Role,
        _ adapter: String? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (BluetoothRadio) async throws -> R
    ) async throws -> R {
        let radio = try await open(role, adapter)
        return try await withCleanup {
            await radio.close()
        } of: {
            try await body(radio)
        }
    }

    func open(_ role: BluetoothRadio.Role, _ adapter: String? = nil) async throws(RadioError) -> BluetoothRadio {
        try await BluetoothRadio.open(
            adapter: adapter.flatMap { AdapterName($0) },
            for: role,
            on: bus.busAddress
        )
    }

    /// Expects that exactly these adverts are being sent.
    func expectActive(_ adverts: [Advert], _ location: SourceLocation = #_sourceLocation) async throws {
        let active = try await control.activeAdverts()
        #expect(active == adverts.map { Hex.encode($0.bytes) }.sorted(), sourceLocation: location)
    }

    /// Waits until exactly these adverts are being sent.
    func untilActive(_ adverts: [Advert]) async throws {
        let wanted = adverts.map { Hex.encode($0.bytes) }.sorted()
        try await eventually { try await control.activeAdverts() == wanted }
    }
}

/// An expected state was not reached.
struct NotReached: Error {}

/// Waits until `condition` holds, at most a minute.
func eventually(
    isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while try await !condition() {
        guard ContinuousClock.now < end else { throw NotReached() }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// The refusals after which a call was repeated.
final class Refusals: Sendable {
    private let errors = Locked<[RadioError]>([])

    /// All refusals so far.
    var all: [RadioError] { errors.withLock { $0 } }

    @Sendable func add(_ error: RadioError) { errors.withLock { $0.append(error) } }
}

/// Returns an advert of 20 equal bytes.
func advert(_ byte: UInt8) throws -> Advert {
    guard let advert = Advert(bytes: [UInt8](repeating: byte, count: Advert.length)) else { throw NotReached() }
    return advert
}

extension AdvertSequence {
    /// Returns all adverts up to and including `last`.
    func received(until last: Advert) async throws -> [ReceivedAdvert] {
        var all: [ReceivedAdvert] = []
        for try await received in self {
            all.append(received)
            if received.advert == last { return all }
        }
        throw NotReached()
    }
}

/// Returns the `RadioError` that `body` throws.
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
