// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridSystemBus
internal import HybridThreads

/// A scan under way: turns what bluetoothd says of devices into adverts, and passes on those that are wanted.
final class Scan: Sendable {
    /// One device's data, so that what has just been passed on is not passed on again at once.
    private struct Sighting: Hashable {
        let device: String
        let uuid: UInt16
        let data: [UInt8]
    }

    /// The same bytes of the same device are passed on once in this time.
    private static let repetition = Duration.seconds(1)
    /// Most sightings remembered; somebody who sends on what is wanted must not fill the memory.
    private static let memory = 1024

    let adverts: AdvertSequence

    private let link: BlueZLink
    private let isWanted: @Sendable (ReceivedAdvert) -> Bool
    private let sink: AsyncStream<Result<ReceivedAdvert, RadioError>>.Continuation
    private let sightings = Locked<[Sighting: ContinuousClock.Instant]>([:])

    private init(link: BlueZLink, for wanted: @escaping @Sendable (ReceivedAdvert) -> Bool) {
        self.link = link
        isWanted = wanted
        let (stream, sink) = AsyncStream.makeStream(
            of: Result<ReceivedAdvert, RadioError>.self,
            bufferingPolicy: .bufferingNewest(AdvertSequence.backlog)
        )
        adverts = AdvertSequence(stream: stream)
        self.sink = sink
    }

    /// Runs `body` with a scan that ends before this returns or throws.
    static func run<R: Sendable>(
        on link: BlueZLink,
        for wanted: @escaping @Sendable (ReceivedAdvert) -> Bool,
        isolation: isolated (any Actor)?,
        _ body: (AdvertSequence) async throws -> R
    ) async throws -> R {
        let scan = Scan(link: link, for: wanted)
        let observation: BusConnection.Observation
        do throws(BusError) {
            observation = try await link.connection.observe(link.troubleRules + link.deviceRules) { scan.take($0) }
        } catch {
            throw await link.explain(error)
        }
        do {
            try await scan.start()
            let result = try await body(scan.adverts)
            await scan.stop(observation)
            return result
        } catch {
            let cause = await link.cause(behind: error)
            await scan.stop(observation)
            throw cause
        }
    }

    private func start() async throws {
        do throws(BusError) {
            // No UUID filter: BlueZ loses adverts with it, and knows them only by service data. DuplicateData asks
            // for a signal with every advert heard, not only when something changed.
            let filter = BusValue.properties(["Transport": .string("le"), "DuplicateData": .bool(true)])
            try await link.call(BlueZ.adapter, "SetDiscoveryFilter", [filter])
            try await startDiscovery()
            try await takeKnown()
        } catch {
            throw await link.explain(error)
        }
    }

    /// Starts discovery.
    ///
    /// Of two programs that ask bluetoothd 5.66 for it at the same instant, one gets no answer, although it scans for
    /// both then: so who waited for nothing looks whether it does.
    private func startDiscovery() async throws(BusError) {
        do throws(BusError) {
            try await link.call(BlueZ.adapter, "StartDiscovery")
        } catch {
            guard error == .timedOut, await isDiscovering() else { throw error }
        }
    }

    private func isDiscovering() async -> Bool {
        let answer = try? await link.connection.call(
            link.owner,
            link.adapter.path,
            BusNames.properties,
            "Get",
            [.string(BlueZ.adapter), .string("Discovering")],
            timeout: BlueZ.patience
        )
        return answer?.first?.flag == true
    }

    /// Takes the devices that bluetoothd knew before we subscribed; what comes twice is dropped.
    private func takeKnown() async throws(BusError) {
        let objects: [BusValue]
        do throws(BusError) {
            objects = try await link.connection.call(
                link.owner,
                "/",
                BusNames.objectManager,
                "GetManagedObjects",
                reading: BlueZ.hearing
            )
        } catch .malformed {
            // More strangers than are read at one time: whoever still sends is told of again.
            return
        }
        for (path, object) in objects.first?.fields ?? [:] {
            take(object.fields?[BlueZ.device]?.fields, of: path)
        }
    }

    private func stop(_ observation: BusConnection.Observation) async {
        link.connection.stopObserving(observation)
        sink.finish()
        await link.cleanUp(BlueZ.adapter, "StopDiscovery")
        // bluetoothd 5.82 keeps the filter, and with it whoever set it: when they leave the bus, it ends everybody's
        // discovery, for it takes theirs for the last one. No filter is kept by an empty one.
        await link.cleanUp(BlueZ.adapter, "SetDiscoveryFilter", [.properties([:])])
    }

    private func take(_ event: BusConnection.Event) {
        if let trouble = link.trouble(in: event) {
            sink.yield(.failure(trouble))
            sink.finish()
            return
        }
        guard case .signal(let signal) = event, signal.sender == link.owner, signal.body.count >= 2 else { return }
        if signal.isSignal(BusNames.objectManager, "InterfacesAdded"), let path = signal.body[0].text {
            take(signal.body[1].fields?[BlueZ.device]?.fields, of: path)
        } else if signal.isSignal(BusNames.properties, "PropertiesChanged"), signal.body[0].text == BlueZ.device {
            take(signal.body[1].fields, of: signal.path)
        }
    }

    private func take(_ properties: [String: BusValue]?, of device: String) {
        // Another adapter's devices may be told of as well: somebody else scans there.
        guard let properties, device.hasPrefix(link.adapter.path + "/") else { return }
        for heard in ReceivedAdvert.all(in: properties, of: ScannedDevice(path: device))
        where isWanted(heard) && isDue(heard, from: device) {
            sink.yield(.success(heard))
        }
    }

    private func isDue(_ heard: ReceivedAdvert, from device: String) -> Bool {
        let sighting = Sighting(
            device: device,
            uuid: heard.serviceUUID.rawValue,
            data: heard.advert.bytes + heard.suffix
        )
        let now = ContinuousClock.now
        return sightings.withLock { sightings in
            if let last = sightings[sighting], now - last < Self.repetition { return false }
            if sightings.count >= Self.memory {
                sightings = sightings.filter { now - $0.value < Self.repetition }
                if sightings.count >= Self.memory { sightings = [:] }
            }
            sightings[sighting] = now
            return true
        }
    }
}
