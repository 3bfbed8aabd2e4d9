// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridSession
internal import HybridSystemBus
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
        let ceremony = try Ceremony(PublicKeyOptions(json: options), origin: Origin(origin))
        let radio = try await BluetoothRadio.open(adapter: AdapterName("hci0"), for: .scanner, on: bus)
        let session = ClientSession(radio: radio, network: relay.network)
        let (codes, screen) = AsyncStream.makeStream(of: String.self)
        let result = try await withThrowingTaskGroup(of: ClientResult?.self) { group in
            group.addTask {
                for await text in codes {
                    try await scan(text)
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
        await radio.close()
        guard let result, result.response.status == .success else {
            throw CommandFailure("the phone rejected the request", status: .software)
        }
        return try ceremony.responseJSON(body: result.response.body, phone: result.info)
    }

    /// Scans a QR code with the phone and serves the client that shows it.
    private func scan(_ text: String) async throws {
        let offer = try QROffer(parsing: text)
        narration.step("phone", "scans the code: a public key and a secret that is never sent over a network")
        let radio = try await BluetoothRadio.open(adapter: AdapterName("hci1"), for: .advertiser, on: bus)
        let user = ScriptedUser(pin: .lab) { [narration] text in narration.step("script", text) }
        let authenticator = Authenticator(store: store, user: user)
        let endpoint = RelayEndpoint(domain: relay.domain, network: relay.network)
        _ = try await withCleanup {
            await radio.close()
        } of: {
            try await AuthenticatorSession(radio: radio, relay: endpoint).serve(
                offer,
                info: Authenticator.info,
                events: narration.phone,
                answer: { await authenticator.answer($0) },
                // An in-memory store does not fail.
                sent: { await authenticator.responseSent() },
                delivered: { try? await authenticator.responseDelivered() }
            )
        }
    }
}
