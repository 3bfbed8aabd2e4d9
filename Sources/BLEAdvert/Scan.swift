// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridDBus
internal import HybridThreads

/// A scan in progress.
///
/// The scan extracts adverts from bluetoothd's signals about devices and forwards those that pass the filter.
final class Scan: Sendable {
    /// Data that identifies a repeated advert.
    private struct Sighting: Hashable {
        let device: String
        let uuid: UInt16
        let data: [UInt8]
    }

    /// The minimum time after which the same bytes of the same device are forwarded again.
    private static let minimumInterval = Duration.seconds(1)
    /// The maximum number of stored sightings.
    ///
    /// An attacker who repeats a wanted advert must not exhaust the memory.
    private static let maximumSightings = 1024

    let adverts: AdvertSequence

    private let link: BlueZAdapter
    private let isWanted: @Sendable (ReceivedAdvert) -> Bool
    private let sink: AsyncStream<Result<ReceivedAdvert, RadioError>>.Continuation
    private let sightings = Locked<[Sighting: ContinuousClock.Instant]>([:])
    /// The adapter's property `Discovering`, as far as signals have reported it.
    private let isDiscovering = AwaitableState(true)

    private init(link: BlueZAdapter, for wanted: @escaping @Sendable (ReceivedAdvert) -> Bool) {
        self.link = link
        isWanted = wanted
        let (stream, sink) = AsyncStream.makeStream(
            of: Result<ReceivedAdvert, RadioError>.self,
            bufferingPolicy: .bufferingNewest(AdvertSequence.backlog)
        )
        adverts = AdvertSequence(stream: stream)
        self.sink = sink
    }

    /// Runs `body` with a scan that ends before this function returns or throws.
    static func run<R: Sendable>(
        on link: BlueZAdapter,
        for wanted: @escaping @Sendable (ReceivedAdvert) -> Bool,
        retrying: @Sendable (RadioError) -> Void,
        isolation: isolated (any Actor)?,
        _ body: (AdvertSequence) async throws -> R
    ) async throws -> R {
        let scan = Scan(link: link, for: wanted)
        let observation = try await link.observe(link.deviceRules) { scan.handle($0) }
        do {
            try await scan.start(retrying)
            let result = try await scan.whileDiscovering(isolation: isolation, body)
            await scan.stop(observation)
            return result
        } catch {
            let cause = await link.cause(behind: error)
            await scan.stop(observation)
            throw cause
        }
    }

    private func start(_ retrying: @Sendable (RadioError) -> Void) async throws {
        // There is no UUID filter, because BlueZ would match only UUIDs in service lists and lose adverts.
        // DuplicateData requests a signal for every received advert, not only when the data has changed.
        let filter = BusValue.properties(["Transport": .string("le"), "DuplicateData": .bool(true)])
        try await link.untilAccepted(within: BlueZ.discoveryPatience, retrying) { isRetry throws(BusError) in
            if isRetry { await forgetDiscovery() }
            try await link.call(BlueZ.adapter, "SetDiscoveryFilter", [filter])
            try await startDiscovery()
        }
        do throws(BusError) {
            try await readKnownDevices()
        } catch {
            throw await link.explain(error)
        }
    }

    /// Starts discovery.
    ///
    /// If two programs start discovery at the same time, bluetoothd 5.66 answers only one of them, although it scans
    /// for both. Therefore a timeout is not an error if bluetoothd is discovering.
    private func startDiscovery() async throws(BusError) {
        do throws(BusError) {
            try await link.call(BlueZ.adapter, "StartDiscovery")
        } catch {
            guard error == .timedOut, (try? await link.adapterFlag("Discovering")) == true else { throw error }
        }
    }

    /// Ends a discovery that bluetoothd may still keep for this client although it has failed.
    ///
    /// Until then, bluetoothd refuses to start another one.
    private func forgetDiscovery() async { await link.cleanUp(BlueZ.adapter, "StopDiscovery") }

    /// Runs `body`, and starts discovery again if it ends meanwhile.
    private func whileDiscovering<R: Sendable>(
        isolation: isolated (any Actor)?,
        _ body: (AdvertSequence) async throws -> R
    ) async throws -> R {
        async let _: Void = keepDiscovering()
        return try await body(adverts)
    }

    /// Starts discovery again whenever it stops for longer than bluetoothd's own pauses, until the task is canceled.
    ///
    /// The end of the radio itself is reported by other signals.
    private func keepDiscovering() async {
        while !Task.isCancelled {
            await isDiscovering.wait { !$0 }
            if isDiscovering.read({ $0 }) { continue }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await Task.sleep(for: BlueZ.longestPause) }
                group.addTask { [self] in
                    while !Task.isCancelled, isDiscovering.read({ !$0 }) { await isDiscovering.wait { $0 } }
                }
                await group.next()
                group.cancelAll()
            }
            guard !Task.isCancelled, isDiscovering.read({ !$0 }) else { continue }
            // After a refusal that may pass, further attempts follow soon; after another failure, after the next pause.
            try? await link.untilAccepted(within: BlueZ.discoveryPatience, Self.ignore) { _ throws(BusError) in
                if isDiscovering.read({ $0 }) { return }
                await forgetDiscovery()
                if Task.isCancelled { return }
                try await startDiscovery()
            }
        }
    }

    private static let ignore: @Sendable (RadioError) -> Void = { _ in }

    /// Reads the devices that bluetoothd knew before the subscription.
    ///
    /// Adverts that were also received by a signal are dropped.
    private func readKnownDevices() async throws(BusError) {
        let objects: [BusValue]
        do throws(BusError) {
            objects = try await link.connection.call(
                link.owner,
                "/",
                BusNames.objectManager,
                "GetManagedObjects",
                reading: BlueZ.scanProperties
            )
        } catch {
            // There are too many devices for one message. Signals report those that are still sending.
            guard case .malformed = error else { throw error }
            return
        }
        for (path, object) in objects.first?.fields ?? [:] {
            handle(object.fields?[BlueZ.device]?.fields, of: path)
        }
    }

    private func stop(_ observation: BusConnection.Observation) async {
        link.connection.stopObserving(observation)
        sink.finish()
        await link.cleanUp(BlueZ.adapter, "StopDiscovery")
        // bluetoothd 5.82 keeps the filter and remembers the client that has set it. When that client disconnects,
        // bluetoothd ends the discovery of all clients. An empty filter is not kept.
        await link.cleanUp(BlueZ.adapter, "SetDiscoveryFilter", [.properties([:])])
    }

    private func handle(_ event: BusConnection.Event) {
        if let failure = link.failure(in: event) {
            sink.yield(.failure(failure))
            sink.finish()
            return
        }
        guard case .signal(let signal) = event, signal.sender == link.owner, signal.body.count >= 2 else { return }
        if signal.isSignal(BusNames.objectManager, "InterfacesAdded"), let path = signal.body[0].text {
            handle(signal.body[1].fields?[BlueZ.device]?.fields, of: path)
        } else if signal.isSignal(BusNames.properties, "PropertiesChanged"), signal.body[0].text == BlueZ.device {
            handle(signal.body[1].fields, of: signal.path)
        } else if signal.isSignal(BusNames.properties, "PropertiesChanged"), signal.path == link.adapter.path,
            signal.body[0].text == BlueZ.adapter, let flag = signal.body[1].fields?["Discovering"]?.flag
        {
            isDiscovering.change { $0 = flag }
        }
    }

    private func handle(_ properties: [String: BusValue]?, of device: String) {
        // If another client scans on another adapter, that adapter's devices may be reported as well.
        guard let properties, device.hasPrefix(link.adapter.path + "/") else { return }
        for advert in ReceivedAdvert.all(in: properties, of: device)
        where isWanted(advert) && isDue(advert) {
            sink.yield(.success(advert))
        }
    }

    private func isDue(_ received: ReceivedAdvert) -> Bool {
        let sighting = Sighting(
            device: received.device,
            uuid: received.serviceUUID.rawValue,
            data: received.advert.bytes + received.suffix
        )
        let now = ContinuousClock.now
        return sightings.withLock { sightings in
            if let last = sightings[sighting], now - last < Self.minimumInterval { return false }
            if sightings.count >= Self.maximumSightings {
                sightings = sightings.filter { now - $0.value < Self.minimumInterval }
                if sightings.count >= Self.maximumSightings { sightings = [:] }
            }
            sightings[sighting] = now
            return true
        }
    }
}

/// A sequence of the adverts that a scan receives and that pass its filter.
///
/// The sequence ends if the radio fails or the task is canceled. Only one task may iterate, and only inside the body of
/// `BluetoothRadio.withScan`. If more than 64 adverts are waiting, the oldest are dropped; phones repeat their adverts.
public struct AdvertSequence: AsyncSequence, Sendable {
    /// A received advert.
    public typealias Element = ReceivedAdvert
    /// The reason why the radio stopped.
    public typealias Failure = RadioError

    static let backlog = 64

    let stream: AsyncStream<Result<ReceivedAdvert, RadioError>>

    /// The iterator of the sequence.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var base: AsyncStream<Result<ReceivedAdvert, RadioError>>.AsyncIterator

        /// The next advert; `nil` when the scan has ended or the task is canceled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(RadioError) -> ReceivedAdvert? {
            try await base.next(isolation: actor)?.get()
        }
    }

    /// Creates an iterator.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: stream.makeAsyncIterator())
    }
}
