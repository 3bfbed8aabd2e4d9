// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridSession
internal import HybridSystemBus

/// The phone of the demo: the product's authenticator with a script for its user.
struct DemoPhone: Sendable {
    let store: MemoryCredentialStore
    let relay: LabRelay
    let bus: BusAddress
    let story: DemoNarration

    /// Reads a code and serves whoever shows it.
    func scan(_ text: String) async throws {
        let offer = try QROffer(parsing: text)
        story.step("phone", "scans the code: a public key and a secret that never goes over a network")
        let radio = try await BluetoothRadio.open(adapter: AdapterName("hci1"), for: .advertiser, on: bus)
        let authenticator = Authenticator(
            store: store,
            user: ScriptedUser(pin: .lab) { [story] text in story.step("script", text) }
        )
        let session = AuthenticatorSession(radio: radio, location: relay.route.location(of: relay.domain))
        do {
            _ = try await session.serve(
                offer,
                info: Authenticator.info,
                events: story.phone,
                answer: { await authenticator.answer($0) },
                // Memory does not fail.
                sent: { await authenticator.sent() },
                delivered: { try? await authenticator.delivered() }
            )
        } catch {
            await radio.close()
            throw error
        }
        await radio.close()
    }
}
