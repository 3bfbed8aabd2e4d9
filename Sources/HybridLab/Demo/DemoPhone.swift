// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridSession
internal import HybridSystemBus

/// The phone of the demo: the authenticator of `hybrid-auth` with a scripted user.
struct DemoPhone: Sendable {
    let store: MemoryCredentialStore
    let relay: LabRelay
    let bus: BusAddress
    let narration: DemoNarration

    /// Reads a code and serves the client that shows it.
    func scan(_ text: String) async throws {
        let offer = try QROffer(parsing: text)
        narration.step("phone", "scans the code: a public key and a secret that is never sent over a network")
        let radio = try await BluetoothRadio.open(adapter: AdapterName("hci1"), for: .advertiser, on: bus)
        let authenticator = Authenticator(
            store: store,
            user: ScriptedUser(pin: .lab) { [narration] text in narration.step("script", text) }
        )
        let session = AuthenticatorSession(
            radio: radio,
            relay: RelayEndpoint(domain: relay.domain, network: relay.network)
        )
        _ = try await withCleanup {
            await radio.close()
        } of: {
            try await session.serve(
                offer,
                info: Authenticator.info,
                events: narration.phone,
                answer: { await authenticator.answer($0) },
                // A store in memory does not fail.
                sent: { await authenticator.responseSent() },
                delivered: { try? await authenticator.responseDelivered() }
            )
        }
    }
}
