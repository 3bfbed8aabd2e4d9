// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridSystemBus
internal import HybridThreads

/// An advert on the air.
public final class ActiveAdvert: Sendable {
    private let link: BlueZLink
    private let shelf: RegisteredAdverts
    private let path: String
    private let observation: BusConnection.Observation
    /// Set when the advert is off the air; `nil` inside if we took it off.
    private let ending: OneShot<RadioError?>
    private let withdrawal = OneShot<Bool>()
    private let isWithdrawing = Locked(false)

    private init(
        link: BlueZLink,
        shelf: RegisteredAdverts,
        path: String,
        observation: BusConnection.Observation,
        ending: OneShot<RadioError?>
    ) {
        self.link = link
        self.shelf = shelf
        self.path = path
        self.observation = observation
        self.ending = ending
    }

    /// Puts `advert` on the air and returns once bluetoothd has taken it.
    ///
    /// - Throws: `RadioError` or `CancellationError`.
    static func start(
        _ advert: Advert,
        psm: L2CAPPSM?,
        on link: BlueZLink,
        shelf: RegisteredAdverts
    ) async throws -> ActiveAdvert {
        let ending = OneShot<RadioError?>()
        let observation: BusConnection.Observation
        do throws(BusError) {
            observation = try await link.connection.observe(link.troubleRules) { event in
                if let trouble = link.trouble(in: event) { ending.set(trouble) }
            }
        } catch {
            throw await link.explain(error)
        }
        let path = shelf.newPath()
        let live = ActiveAdvert(link: link, shelf: shelf, path: path, observation: observation, ending: ending)
        do throws(BusError) {
            try await live.register(advert, psm)
        } catch {
            let cause = await link.explain(error)
            await live.withdraw()
            throw cause
        }
        return live
    }

    /// Registers with the interval we want, and again without if that is what bluetoothd cannot do.
    private func register(_ advert: Advert, _ psm: L2CAPPSM?) async throws(BusError) {
        do throws(BusError) {
            try await register(advert, psm, withInterval: true)
        } catch .refused(name: let name, message: _) where Self.mayBeTheInterval(name) {
            try await register(advert, psm, withInterval: false)
        }
    }

    private func register(_ advert: Advert, _ psm: L2CAPPSM?, withInterval: Bool) async throws(BusError) {
        let ending = ending
        let object = AdvertObject(advert, psm: psm, withInterval: withInterval) {
            ending.set(.failed("bluetoothd released the advert"))
        }
        shelf.put(object, at: path)
        let arguments: [BusValue] = [.objectPath(path), .properties([:])]
        try await link.call(BlueZ.advertisingManager, "RegisterAdvertisement", arguments)
    }

    private static func mayBeTheInterval(_ error: String) -> Bool {
        [
            "org.bluez.Error.Failed", "org.bluez.Error.InvalidArguments", "org.bluez.Error.InvalidParams",
            "org.bluez.Error.NotSupported",
        ].contains(error)
    }

    /// Takes the advert off the air and returns when bluetoothd has done so; again is harmless.
    ///
    /// Also works in a cancelled task. If bluetoothd does not answer within three seconds it is left to the end
    /// of the bus connection, at which bluetoothd drops every advert of ours.
    public func withdraw() async {
        let isFirst = isWithdrawing.withLock { isWithdrawing in
            defer { isWithdrawing = true }
            return !isWithdrawing
        }
        guard isFirst else { return await withdrawal.waitWhateverHappens() }
        link.connection.stopObserving(observation)
        await link.cleanUp(BlueZ.advertisingManager, "UnregisterAdvertisement", [.objectPath(path)])
        shelf.put(nil, at: path)
        ending.set(nil)
        withdrawal.set(true)
    }

    /// Waits until the advert is off the air.
    ///
    /// - Returns: why, if we did not do it ourselves; `nil` after `withdraw` or when the task is cancelled.
    public func waitUntilGone() async -> RadioError? {
        guard let trouble = await ending.wait() ?? nil else { return nil }
        return await link.cause(behind: trouble)
    }
}
