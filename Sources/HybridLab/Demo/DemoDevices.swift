// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDBus
internal import HybridDataChannel
internal import HybridNetwork
internal import HybridPhoneLinks
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridVirtualBlueZ
internal import HybridWebAuthn

/// The two devices of the demo: a client and the authenticator of `hybrid-auth` with a scripted user.
struct DemoDevices: Sendable {
    private let store: MemoryCredentialStore
    private let relay: LabRelay
    private let bus: BusAddress
    private let narration: DemoNarration

    init(_ environment: LabEnvironment, _ narration: DemoNarration) throws {
        store = try MemoryCredentialStore(pin: .lab)
        relay = environment.relay
        bus = environment.bus.busAddress
        self.narration = narration
    }

    /// Runs one ceremony, in which the phone scans the client's QR code, and returns the response for the website.
    func answer(_ options: [UInt8], of origin: String) async throws -> [UInt8] {
        try await answer(options, of: origin, linking: nil).response
    }

    /// Runs one ceremony with a code, in which the phone offers a link.
    ///
    /// - Returns: The response for the website, and the client's part of the link.
    func answerAndLink(
        _ options: [UInt8],
        of origin: String,
        _ links: LabLinks
    ) async throws -> (response: [UInt8], link: StoredLink) {
        let (response, offered) = try await answer(options, of: origin, linking: links)
        guard let offered else { throw CommandFailure("the phone offered no link", status: .software) }
        narration.step("client", "verifies that the phone holds its key, asks its user, and stores the link")
        return (response, offered)
    }

    private func answer(
        _ options: [UInt8],
        of origin: String,
        linking links: LabLinks?
    ) async throws -> (response: [UInt8], link: StoredLink?) {
        let ceremony = try Ceremony(PublicKeyOptions(json: options), origin: Origin(origin))
        let (codes, screen) = AsyncStream.makeStream(of: String.self)
        let linking = links.map { _ in LinkOfferPolicy() }
        let result = try await client(linking) { session in
            try await withThrowingTaskGroup(of: ClientResult?.self) { group in
                group.addTask {
                    for await text in codes {
                        try await scan(text, links)
                        break
                    }
                    return nil
                }
                group.addTask {
                    try await session.perform(ceremony.ctapRequest) { event in
                        narration.client(event)
                        if case .codeReady(let offer) = event { screen.yield(offer.text) }
                    }
                }
                var answer: ClientResult?
                while let next = try await group.next() { answer = next ?? answer }
                return answer
            }
        }
        guard let result, result.response.status == .success else { throw Self.rejected }
        return (try ceremony.responseJSON(body: result.response.body, phone: result.info), result.offeredLink?.link)
    }

    /// Runs one ceremony without a code: the relay wakes the phone, and its user taps on the notification.
    ///
    /// The number of the ceremony is that of its request: the phone accepts each only once.
    func answer(
        _ options: [UInt8],
        of origin: String,
        with link: StoredLink,
        _ number: Int,
        _ links: LabLinks
    ) async throws -> [UInt8] {
        let ceremony = try Ceremony(PublicKeyOptions(json: options), origin: Origin(origin))
        let request = ceremony.ctapRequest
        let (sessions, served) = AsyncStream.makeStream(of: Void.self)
        let result = try await client(nil) { session in
            try await withThrowingTaskGroup(of: ClientResult?.self) { group in
                group.addTask {
                    try await listen(links) { served.yield() }
                    return nil
                }
                group.addTask {
                    try await session.contact(
                        link,
                        ContactClaims(number: UInt64(number), time: WallClock.realtime.now(), requester: .program),
                        request,
                        for: { _ throws(Never) in request },
                        events: narration.client
                    )
                }
                defer { group.cancelAll() }
                for try await case let result? in group {
                    // The phone's session ends after the client's.
                    for await _ in sessions { break }
                    return result as ClientResult?
                }
                return nil
            }
        }
        guard let result, result.response.status == .success else { throw Self.rejected }
        return try ceremony.responseJSON(body: result.response.body, phone: result.info)
    }

    private static let rejected = CommandFailure("the phone rejected the request", status: .software)

    private func client(
        _ linking: LinkOfferPolicy?,
        _ body: (ClientSession) async throws -> ClientResult?
    ) async throws -> ClientResult? {
        let radio = try await BluetoothRadio.open(adapter: AdapterName("hci0"), for: .scanner, on: bus)
        return try await withCleanup {
            await radio.close()
        } of: {
            try await body(ClientSession(radio: radio, network: relay.network, linking: linking))
        }
    }

    /// Waits for wake-ups until the task is canceled.
    private func listen(_ links: LabLinks, served: @escaping @Sendable () -> Void) async throws {
        try await links.listen(relay.network) { question in
            narration.step("phone", "shows a notification: \(SafeText(quoting: question.label)) asks to sign in")
            narration.step("script", "taps on it; the phone has used neither Bluetooth nor the tunnel before that")
            return .approved
        } perform: { wakeUp, identity in
            do {
                try await phone { session in
                    _ = try await session.serveLinked(
                        wakeUp,
                        identity: identity,
                        info: Authenticator.info,
                        handlers: handlers(events: narration.linkedPhone)
                    )
                }
            } catch {
                narration.step("phone", "fails: \((error as? any ExplainedFailure)?.sentence ?? "\(error)")")
            }
            served()
        } wakeUp: { event in
            if case .ignored(_, let reason) = event { narration.step("phone", "ignores a wake-up: \(reason)") }
        } listener: { event in
            if case .listening(_, let host) = event {
                narration.step("phone", "proves its contact ID to \(host), and waits there")
            }
        }
    }

    private func phone(_ body: (AuthenticatorSession) async throws -> Void) async throws {
        let radio = try await BluetoothRadio.open(adapter: AdapterName("hci1"), for: .advertiser, on: bus)
        try await withCleanup {
            await radio.close()
        } of: {
            try await body(
                AuthenticatorSession(radio: radio, relay: RelayEndpoint(domain: relay.domain, network: relay.network))
            )
        }
    }

    /// Scans a QR code with the phone and serves the client that shows it.
    private func scan(_ text: String, _ links: LabLinks?) async throws {
        let offer = try QROffer(parsing: text)
        narration.step("phone", "scans the code: a public key and a secret that is never sent over a network")
        let link = links?.newLink(at: relay.domain)
        try await phone { session in
            _ = try await session.serve(
                offer,
                linking: link.flatMap { links?.offer($0) },
                info: Authenticator.info,
                handlers: handlers { event in
                    if case .linkOffered = event, let link { try? links?.save(link, label: "work laptop") }
                    narration.phone(event)
                }
            )
        }
    }

    /// Returns the handlers of a session with a new authenticator, whose user follows the script.
    private func handlers(
        events: @escaping @Sendable (AuthenticatorEvent) -> Void
    ) -> AuthenticatorSession.Handlers {
        let user = ScriptedUser(pin: .lab) { [narration] text in narration.step("script", text) }
        let authenticator = Authenticator(store: store, user: user)
        return AuthenticatorSession.Handlers(
            events: events,
            answer: { await authenticator.answer($0) },
            sent: { await authenticator.responseSent() },
            // An in-memory store does not fail.
            delivered: { try? await authenticator.responseDelivered() }
        )
    }
}
