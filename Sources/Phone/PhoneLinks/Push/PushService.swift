// SPDX-License-Identifier: Apache-2.0

package import HybridCaBLE
internal import HybridCommandSupport
package import HybridDBus
internal import HybridDataChannel
package import HybridPrimitives
internal import HybridThreads

/// The wake-ups that reach this device through a push service (UnifiedPush), without a connection to a relay.
///
/// The service keeps one subscription in reserve for the next link, passes push messages to the ``WakeUpHandler``, and
/// notices subscriptions that end. It ends when nothing is left to do, if the bus starts it again for a message.
package struct PushService: Sendable {
    /// An event for the log.
    package enum Event: Sendable {
        /// A subscription is ready for the next link.
        case ready(host: String)
        /// No subscription could be prepared, or one could not be ended; reported once for each cause.
        case failed(any ExplainedFailure)
        /// A subscription has ended, so its computer can't wake this device any more.
        case ended(label: String)
        /// The subscription of a forgotten link has ended.
        case unsubscribed(label: String)
        /// A push message was ignored; the text is the reason.
        case ignored(reason: String)
        /// A link cannot be used; the text is a sentence.
        case unusable(String)
    }

    /// The time without work after which the service ends.
    static let idleTime = Duration.seconds(60)
    /// The time limit for a relay to seal a subscription, from the connection on.
    ///
    /// It exceeds the sum of the limits of all steps, which is 160 s: connection 10, request 15, proof of the key 15,
    /// registration 30, address 60, and the relay's limit for the proof 30.
    static let sealingLimit = Duration.seconds(180)
    /// The remaining lifetime in seconds below which a subscription is not offered to a computer.
    package static let minimumLifetime: UInt64 = 30 * 86_400

    let store: PhoneLinkStore
    let handler: WakeUpHandler
    let domain: TunnelDomain?
    let distributor: String?
    let deviceName: String
    let address: BusAddress
    let idleTime: Duration
    let sealingLimit: Duration
    let clock: WallClock
    let destination: @Sendable (TunnelDomain) throws -> LinkListeners.Destination
    let report: @Sendable (Event) -> Void

    /// Creates a service.
    ///
    /// - Parameters:
    ///   - store: The links.
    ///   - handler: The decisions about wake-ups.
    ///   - domain: The relay for the next link; `nil` if none is chosen, so that nothing is kept in reserve.
    ///   - distributor: The bus name of the distributor, or its last part; `nil` for the only one.
    ///   - deviceName: The name under which computers will list this device.
    ///   - address: The session bus.
    ///   - idleTime: The time without work after which the service ends.
    ///   - sealingLimit: The time limit for a relay to seal a subscription.
    ///   - clock: The clock.
    ///   - destination: Returns the network settings and the token for a relay.
    ///   - report: Called with each event.
    package init(
        store: PhoneLinkStore,
        handler: WakeUpHandler,
        domain: TunnelDomain?,
        distributor: String?,
        deviceName: String,
        address: BusAddress,
        idleTime: Duration = Self.idleTime,
        sealingLimit: Duration = Self.sealingLimit,
        clock: WallClock = .realtime,
        destination: @escaping @Sendable (TunnelDomain) throws -> LinkListeners.Destination,
        report: @escaping @Sendable (Event) -> Void
    ) {
        (self.store, self.handler, self.domain, self.distributor) = (store, handler, domain, distributor)
        (self.deviceName, self.address, self.clock) = (deviceName, address, clock)
        (self.idleTime, self.sealingLimit) = (idleTime, sealingLimit)
        (self.destination, self.report) = (destination, report)
    }

    /// Handles push messages until nothing is left to do, or until the task is canceled.
    ///
    /// The service never ends by itself if a link needs a connection, or if the bus would not start it again. If no
    /// subscription can be prepared, it may end after several attempts.
    ///
    /// - Parameter started: Called when this program has its name on the session bus.
    /// - Throws: ``PushFailure``, `CommandFailure` if the store cannot be read, `CancellationError`.
    package func run(started: @Sendable () -> Void = {}) async throws {
        let (contents, reserve) = (try store.contents(), try store.reserve())
        let registrations = (contents.links + contents.revocations).map(\.push) + [reserve?.registration]
        let distributors = Set(registrations.compactMap { $0?.distributor })
        try await PushConnector.with(on: address, hearing: distributors) { connector in
            started()
            let run = PushRun(service: self, connector: connector)
            async let _: Void = run.reportStrangers()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await run.handleCalls() }
                group.addTask { try await run.maintain() }
                group.addTask { try await run.waitUntilIdle() }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    /// Ends the subscription of a forgotten link, once.
    ///
    /// - Throws: ``PushFailure``, `CancellationError`.
    package static func unsubscribe(_ registration: PushRegistration, on address: BusAddress?) async throws {
        try await withConnection(to: address) { try await PushConnector.unregister(registration, over: $0) }
    }

    /// Returns the bus name of the distributor that the service would use; starts no program.
    ///
    /// - Parameters:
    ///   - chosen: The full bus name, or its last part; `nil` if the user has chosen none.
    ///   - address: The session bus.
    /// - Throws: ``PushFailure``, `CancellationError`.
    package static func distributor(_ chosen: String?, on address: BusAddress?) async throws -> String {
        try await withConnection(to: address) { try await PushConnector.distributor(chosen, over: $0) }
    }

    private static func withConnection<Result: Sendable>(
        to address: BusAddress?,
        _ body: (BusConnection) async throws -> Result
    ) async throws -> Result {
        guard let address else { throw PushFailure.noSessionBus }
        let connection: BusConnection
        do throws(BusError) {
            connection = try await BusConnection.connect(to: address)
        } catch {
            throw PushFailure(error)
        }
        return try await withCleanup {
            await connection.close()
        } of: {
            try await body(connection)
        }
    }
}
