// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridPrimitives
internal import HybridThreads

/// A scanner that waits for an advert that one key decrypts, even if Bluetooth becomes unavailable meanwhile.
final class AdvertScanner: Sendable {
    private struct State {
        var hasScanned = false
        var error: RadioError?
    }

    private let radio: BluetoothRadio
    private let state = Locked(State())

    init(_ radio: BluetoothRadio) { self.radio = radio }

    /// The reason why the radio is not scanning; `nil` while it is scanning.
    var currentError: RadioError? { state.withLock { $0.error } }

    /// An advert that the key decrypted.
    struct Match: Sendable {
        let eid: EID
        /// The L2CAP route to the sender, or the reason why it is unusable; `nil` if no route was offered or
        /// advertised.
        let route: Result<L2CAPRoute, L2CAPError>?
    }

    /// The adverts that belong to a ceremony.
    struct Target: Sendable {
        /// The key that decrypts them.
        let key: EIDKey
        /// The origin of the key.
        let ceremony: EID.Ceremony
        /// True if a PSM in the advert may be used.
        let acceptsL2CAP: Bool
    }

    /// Returns the first advert of a ceremony.
    ///
    /// - Parameters:
    ///   - target: The adverts of the ceremony.
    ///   - scanning: Called each time the radio starts to scan; the argument is true the first time.
    ///   - lost: Called each time Bluetooth becomes unavailable or busy.
    /// - Throws: `RadioError` if Bluetooth fails permanently, or before the first scan unless it is only busy;
    ///   `CancellationError`.
    func scan(
        for target: Target,
        scanning: @escaping @Sendable (_ isFirst: Bool) -> Void,
        lost: @escaping @Sendable (RadioError) -> Void
    ) async throws -> Match {
        let failed: @Sendable (RadioError) -> Void = { [self] error in
            let isNew = state.withLock { state in
                defer { state.error = error }
                return state.error != error
            }
            if isNew { lost(error) }
        }
        let started: @Sendable () -> Void = { [self] in
            let isFirst = state.withLock { state in
                defer { state = State(hasScanned: true) }
                return !state.hasScanned
            }
            scanning(isFirst)
        }
        var current = radio
        while true {
            let match: Match? = try await withCleanup { [current] in
                // The caller closes the first radio.
                if current !== radio { await current.close() }
            } of: {
                do {
                    return try await Self.scan(with: current, for: target, retrying: failed, scanning: started)
                } catch let error as RadioError where isWorthWaiting(error) {
                    failed(error)
                    return nil
                }
            }
            if let match { return match }
            current = try await current.reopened()
        }
    }

    /// Returns true if the radio may become usable within the time limit.
    private func isWorthWaiting(_ error: RadioError) -> Bool {
        error.isTemporary && (error.isBusy || state.withLock { $0.hasScanned })
    }

    private static func scan(
        with radio: BluetoothRadio,
        for target: Target,
        retrying: @Sendable (RadioError) -> Void,
        scanning: @escaping @Sendable () -> Void
    ) async throws -> Match {
        // Adverts are filtered on arrival, so a flood of unrelated adverts cannot displace the right one from the
        // queue.
        let isOurs: @Sendable (ReceivedAdvert) -> Bool = {
            EID.open($0.advert, with: target.key, for: target.ceremony) != nil
        }
        return try await radio.withScan(for: isOurs, retrying: retrying) { adverts in
            scanning()
            for try await received in adverts {
                guard let eid = EID.open(received.advert, with: target.key, for: target.ceremony) else { continue }
                guard target.acceptsL2CAP, let psm = AdvertSuffix(reading: received.suffix).psm else {
                    return Match(eid: eid, route: nil)
                }
                do throws(L2CAPError) {
                    return Match(eid: eid, route: .success(try await radio.route(to: received, psm: psm)))
                } catch {
                    return Match(eid: eid, route: .failure(error))
                }
            }
            // The sequence also ends when the task is canceled.
            try Task.checkCancellation()
            throw RadioError.bluetoothServiceGone
        }
    }
}
