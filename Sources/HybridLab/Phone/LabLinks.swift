// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridNetwork
internal import HybridPhoneLinks
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridThreads

/// The links of the lab's phone with clients, in a folder, and the wait for their wake-ups.
///
/// The code that creates, verifies and stores links is that of `hybrid-auth`. Only the user is simulated.
struct LabLinks: Sendable {
    /// The name of this phone, which clients list.
    static let phoneName = "Lab phone"

    private let store: PhoneLinkStore
    private let identity: PhoneIdentity

    /// Opens the links of a folder, which is created if it is missing.
    ///
    /// - Throws: ``CommandFailure``.
    init(path: String) throws(CommandFailure) {
        store = try PhoneLinkStore(path: path)
        identity = try store.identity()
    }

    /// Returns a new link for a client, which is stored once it has been sent.
    func newLink(at domain: TunnelDomain) -> PhoneLink { PhoneLink(at: domain) }

    /// Returns the offer of a link.
    func offer(_ link: PhoneLink) -> LinkOffer { LinkOffer(link, from: identity, name: Self.phoneName) }

    /// Stores a link.
    ///
    /// - Parameter label: The user's name for the client.
    /// - Throws: ``CommandFailure`` if the folder cannot be written or is full.
    func save(_ link: PhoneLink, label: String) throws(CommandFailure) {
        guard let record = StoredPhoneLink(link, label: label, created: WallClock.realtime.now()) else { return }
        try store.add(record)
    }

    /// Waits for wake-ups until the task is canceled.
    ///
    /// - Parameters:
    ///   - network: The settings for the connections to relays.
    ///   - ask: Returns the answer of the simulated user.
    ///   - perform: Performs the ceremony after the user's tap.
    ///   - wakeUp: Called with each event of a wake-up.
    ///   - listener: Called with each event of a connection.
    /// - Throws: ``CommandFailure`` if the folder cannot be read.
    func listen(
        _ network: NetworkConfiguration,
        ask: @escaping @Sendable (WakeUpQuestion) async -> WakeUpAnswer,
        perform: @escaping @Sendable (ApprovedWakeUp, PhoneIdentity) async -> Void,
        wakeUp: @escaping @Sendable (WakeUpHandler.Event) -> Void,
        listener: @escaping @Sendable (LinkListeners.Event) -> Void
    ) async throws {
        let identity = identity
        let handler = WakeUpHandler(
            store: store,
            ask: ask,
            perform: { approved, _ in await perform(approved, identity) },
            report: wakeUp
        )
        try await LinkListeners(
            store: store,
            handler: handler,
            destination: { domain in
                LinkListeners.Destination(relay: RelayEndpoint(domain: domain, network: network), bearerToken: nil)
            },
            report: listener
        ).run()
    }
}
