// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridSystemBus
internal import HybridThreads

/// An advert that is being sent.
public final class ActiveAdvert: Sendable {
    private let link: BlueZLink
    private let registeredAdverts: RegisteredAdverts
    private let path: String
    private let observation: BusConnection.Observation
    /// Set when the advert is no longer sent; contains `nil` if `withdraw` ended it.
    private let ending: OneShot<RadioError?>
    private let withdrawal = OneShot<Bool>()
    private let isWithdrawing = Locked(false)

    private init(
        link: BlueZLink,
        registeredAdverts: RegisteredAdverts,
        path: String,
        observation: BusConnection.Observation,
        ending: OneShot<RadioError?>
    ) {
        self.link = link
        self.registeredAdverts = registeredAdverts
        self.path = path
        self.observation = observation
        self.ending = ending
    }

    /// Starts to send `advert` and returns when bluetoothd has accepted it.
    ///
    /// - Throws: `RadioError` or `CancellationError`.
    static func start(
        _ advert: Advert,
        psm: L2CAPPSM?,
        on link: BlueZLink,
        registeredAdverts: RegisteredAdverts
    ) async throws -> ActiveAdvert {
        let ending = OneShot<RadioError?>()
        let observation: BusConnection.Observation
        do throws(BusError) {
            observation = try await link.connection.observe(link.failureRules) { event in
                if let failure = link.failure(in: event) { ending.set(failure) }
            }
        } catch {
            throw await link.explain(error)
        }
        let path = registeredAdverts.newPath()
        let advertising = ActiveAdvert(
            link: link,
            registeredAdverts: registeredAdverts,
            path: path,
            observation: observation,
            ending: ending
        )
        do throws(BusError) {
            try await advertising.register(advert, psm)
        } catch {
            let cause = await link.explain(error)
            await advertising.withdraw()
            throw cause
        }
        return advertising
    }

    /// Registers with the wanted interval, and again without it if bluetoothd may not support intervals.
    private func register(_ advert: Advert, _ psm: L2CAPPSM?) async throws(BusError) {
        do throws(BusError) {
            try await register(advert, psm, withInterval: true)
        } catch {
            guard Self.mayConcernInterval(error.name) else { throw error }
            try await register(advert, psm, withInterval: false)
        }
    }

    private func register(_ advert: Advert, _ psm: L2CAPPSM?, withInterval: Bool) async throws(BusError) {
        let ending = ending
        let object = AdvertObject(advert, psm: psm, withInterval: withInterval) {
            ending.set(.failed("bluetoothd released the advert"))
        }
        registeredAdverts.put(object, at: path)
        let arguments: [BusValue] = [.objectPath(path), .properties([:])]
        try await link.call(BlueZ.advertisingManager, "RegisterAdvertisement", arguments)
    }

    private static func mayConcernInterval(_ error: String) -> Bool {
        [
            "org.bluez.Error.Failed", "org.bluez.Error.InvalidArguments", "org.bluez.Error.InvalidParams",
            "org.bluez.Error.NotSupported",
        ].contains(error)
    }

    /// Stops sending the advert and returns when bluetoothd has done so.
    ///
    /// Idempotent.
    ///
    /// Also works in a cancelled task. If bluetoothd does not answer within three seconds, the end of the bus
    /// connection stops the advert: bluetoothd drops all adverts of a client that disconnects.
    public func withdraw() async {
        let isFirst = isWithdrawing.withLock { isWithdrawing in
            defer { isWithdrawing = true }
            return !isWithdrawing
        }
        guard isFirst else { return await withdrawal.waitIgnoringCancellation() }
        link.connection.stopObserving(observation)
        await link.cleanUp(BlueZ.advertisingManager, "UnregisterAdvertisement", [.objectPath(path)])
        registeredAdverts.put(nil, at: path)
        ending.set(nil)
        withdrawal.set(true)
    }

    /// Waits until the advert is no longer sent.
    ///
    /// - Returns: The reason, or `nil` after `withdraw` or if the task is cancelled.
    public func waitUntilGone() async -> RadioError? {
        guard let failure = await ending.wait() ?? nil else { return nil }
        return await link.cause(behind: failure)
    }
}
