// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridDBus

/// An advert that is being sent.
public final class ActiveAdvert: Sendable {
    private let link: BlueZAdapter
    private let registeredAdverts: RegisteredAdverts
    private let path: String
    private let observation: BusConnection.Observation
    /// The reason why the advert is no longer sent; the value is `nil` after `withdraw`.
    private let ending: OneShot<RadioError?>
    private let isWithdrawing = OneShot<Void>()
    private let isWithdrawn = OneShot<Void>()

    private init(
        _ link: BlueZAdapter,
        _ registeredAdverts: RegisteredAdverts,
        _ observation: BusConnection.Observation,
        _ ending: OneShot<RadioError?>
    ) {
        self.link = link
        self.registeredAdverts = registeredAdverts
        path = registeredAdverts.newPath()
        self.observation = observation
        self.ending = ending
    }

    /// Registers `advert` with bluetoothd and returns when bluetoothd has accepted it.
    ///
    /// - Throws: `RadioError` or `CancellationError`.
    static func start(
        _ advert: Advert,
        psm: L2CAPPSM?,
        on link: BlueZAdapter,
        registeredAdverts: RegisteredAdverts,
        retrying: @Sendable (RadioError) -> Void
    ) async throws -> ActiveAdvert {
        let ending = OneShot<RadioError?>()
        let observation = try await link.observe { event in
            if let failure = link.failure(in: event) { ending.set(failure) }
        }
        let advertising = ActiveAdvert(link, registeredAdverts, observation, ending)
        do {
            try await link.untilAccepted(within: BlueZ.advertisingPatience, retrying) { _ throws(BusError) in
                try await advertising.register(advert, psm)
            }
        } catch {
            await advertising.withdraw()
            throw error
        }
        return advertising
    }

    /// Registers the advert with an interval, and again without it if bluetoothd may not support intervals.
    private func register(_ advert: Advert, _ psm: L2CAPPSM?, withInterval: Bool = true) async throws(BusError) {
        let ending = ending
        let object = AdvertObject(advert, psm: psm, withInterval: withInterval) {
            ending.set(.failed("bluetoothd released the advert"))
        }
        registeredAdverts.put(object, at: path)
        let arguments: [BusValue] = [.objectPath(path), .properties([:])]
        do throws(BusError) {
            try await link.call(BlueZ.advertisingManager, "RegisterAdvertisement", arguments)
        } catch {
            guard withInterval, let name = error.name, Self.intervalErrors.contains(name) else { throw error }
            try await register(advert, psm, withInterval: false)
        }
    }

    /// The errors with which bluetoothd may reject an interval.
    private static let intervalErrors = [
        "org.bluez.Error.Failed", "org.bluez.Error.InvalidArguments", "org.bluez.Error.InvalidParams",
        "org.bluez.Error.NotSupported",
    ]

    /// Stops sending the advert and returns when bluetoothd has unregistered it.
    ///
    /// This method is idempotent and also works in a canceled task. If bluetoothd does not answer within three seconds,
    /// the method returns. bluetoothd then removes the advert when the bus connection ends.
    public func withdraw() async {
        guard isWithdrawing.set(()) else { return await isWithdrawn.waitIgnoringCancellation() }
        link.connection.stopObserving(observation)
        await link.cleanUp(BlueZ.advertisingManager, "UnregisterAdvertisement", [.objectPath(path)])
        registeredAdverts.put(nil, at: path)
        ending.set(nil)
        isWithdrawn.set(())
    }

    /// Waits until the advert is no longer sent.
    ///
    /// - Returns: The reason, or `nil` after `withdraw` or if the task is canceled.
    public func waitUntilGone() async -> RadioError? {
        guard let failure = await ending.wait() ?? nil else { return nil }
        return await link.cause(behind: failure)
    }
}
