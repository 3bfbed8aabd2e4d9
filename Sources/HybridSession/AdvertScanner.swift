// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridThreads

/// Listens for one phone's advert for as long as it takes, also over a time without Bluetooth.
final class AdvertScanner: Sendable {
    private struct State {
        var hasListened = false
        var lost: RadioError?
    }

    private let radio: BluetoothRadio
    private let state = Locked(State())

    init(_ radio: BluetoothRadio) { self.radio = radio }

    /// Why it hears nothing now, if that is so.
    var deafness: RadioError? { state.withLock { $0.lost } }

    /// An advert that was meant for us.
    struct Answer: Sendable {
        let eid: EID
        /// The way to who sent it, or why there is none; `nil` if it names no channel, or none was offered.
        let route: Result<L2CAPRoute, L2CAPError>?
    }

    /// Returns the first advert that opens under the key.
    ///
    /// - Parameters:
    ///   - key: the key of the code that is shown.
    ///   - offersL2CAP: whether the code offers a channel by radio.
    ///   - listening: called each time that the radio listens; `true` the first time.
    ///   - lost: called each time that it does so no more.
    /// - Throws: `RadioError` if Bluetooth fails in a way that does not pass, or at once; `CancellationError`.
    func listen(
        for key: EIDKey,
        offersL2CAP: Bool,
        listening: @escaping @Sendable (_ isFirst: Bool) -> Void,
        lost report: @Sendable (RadioError) -> Void
    ) async throws -> Answer {
        let heard: @Sendable () -> Void = { [self] in
            listening(
                state.withLock { state in
                    defer { state = State(hasListened: true) }
                    return !state.hasListened
                }
            )
        }
        var present = radio
        while true {
            do {
                let answer = try await Self.listen(to: present, for: key, offersL2CAP, listening: heard)
                await close(present)
                return answer
            } catch let error as RadioError where error.mayPass && state.withLock({ $0.hasListened }) {
                state.withLock { $0.lost = error }
                report(error)
                await close(present)
                present = try await present.reopened()
            } catch {
                await close(present)
                throw error
            }
        }
    }

    /// The radio that was given is its owner's to close.
    private func close(_ radio: BluetoothRadio) async {
        if radio !== self.radio { await radio.close() }
    }

    private static func listen(
        to radio: BluetoothRadio,
        for key: EIDKey,
        _ offersL2CAP: Bool,
        listening: @escaping @Sendable () -> Void
    ) async throws -> Answer {
        // Tried where it comes in, so that a flood of foreign adverts can't push the right one out of a queue.
        let isOurs: @Sendable (ReceivedAdvert) -> Bool = { EID.open($0.advert, with: key) != nil }
        return try await radio.withScan(for: isOurs) { adverts in
            listening()
            for try await heard in adverts {
                guard let eid = EID.open(heard.advert, with: key) else { continue }
                guard offersL2CAP, let psm = AdvertSuffix(reading: heard.suffix).psm else {
                    return Answer(eid: eid, route: nil)
                }
                do throws(L2CAPError) {
                    return Answer(eid: eid, route: .success(try await radio.route(to: heard, psm: psm)))
                } catch {
                    return Answer(eid: eid, route: .failure(error))
                }
            }
            // The adverts of a cancelled task end, too.
            try Task.checkCancellation()
            throw RadioError.bluetoothServiceGone
        }
    }
}
