// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridRelayCore
internal import HybridSession
internal import HybridSystemBus
internal import HybridVirtualBlueZ
internal import HybridWebAuthn
internal import Logging
internal import NIOCore

/// `hybrid-lab demo`: a registration and a sign-in on this computer, explained step by step.
///
/// Everything is real except for the radio, which is virtual, and the phone's user, which is a script. Client and phone
/// use a QR code, an advert, TLS, a relay and a Noise handshake, as two devices would.
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show a complete registration and sign-in on this computer, explained step by step."
    )

    private static let origin = "https://shop.example"

    @Flag(help: "Do not show the QR codes.")
    var noQr = false

    func run() async throws {
        let ending = await withTerminationSignals { try await perform() }
        if ending.signal != nil { throw CommandFailure("interrupted", status: .interrupted) }
        do {
            try ending.result.get()
        } catch let failure as CommandFailure {
            throw failure
        } catch let failure as any ExplainedFailure {
            throw CommandFailure(failure.sentence, status: .software)
        } catch {
            throw CommandFailure("the demo failed: \(error)", status: .software)
        }
    }

    private func perform() async throws {
        let started = ContinuousClock.now
        let narration = DemoNarration(showsCodes: !noQr)
        narration.title("A registration and a sign-in across two devices, both simulated by this computer.")
        try await LabEnvironment.run { environment in
            narration.step(
                "radio",
                "VIRTUAL RADIO: no proximity proof. A private D-Bus bus simulates bluetoothd with two adapters"
            )
            narration.step(
                "relay",
                "\(environment.relay.domain.host) (tunnel domain \(environment.relay.domain.id)) listens on 127.0.0.1:"
                    + "\(environment.relay.port) with a certificate of a throwaway authority"
            )
            try await ceremonies(on: environment.bus.busAddress, environment.relay, narration)
        }
        narration.summary(elapsed: ContinuousClock.now - started)
        guard narration.isComplete else { throw CommandFailure.outputNotWritten }
    }

    private func ceremonies(on bus: BusAddress, _ relay: LabRelay, _ narration: DemoNarration) async throws {
        let store = try MemoryCredentialStore(pin: .lab)
        let phone = DemoPhone(store: store, relay: relay, bus: bus, narration: narration)
        var site = DemoRelyingParty(origin: Self.origin)

        narration.title("Registration at \(Self.origin)")
        let created = try await ceremony(site.creationOptions(), phone, relay, bus, narration)
        let account = try site.verifyRegistration(created)
        narration.step(
            "site",
            "verifies origin, challenge, RP ID hash and user verification; stores the public key (\(account))"
        )

        narration.title("Sign-in at \(Self.origin), without a user name")
        let signed = try await ceremony(site.requestOptions(), phone, relay, bus, narration)
        let handle = try site.verifySignIn(signed)
        narration.step("site", "verifies the signature with the registered key; \(handle) is signed in")
    }

    /// Runs one ceremony: the client shows a code, the phone scans it, the client gets a response for the site.
    private func ceremony(
        _ options: [UInt8],
        _ phone: DemoPhone,
        _ relay: LabRelay,
        _ bus: BusAddress,
        _ narration: DemoNarration
    ) async throws -> [UInt8] {
        let ceremony = try Ceremony(PublicKeyOptions(json: options), origin: Origin(Self.origin))
        let radio = try await BluetoothRadio.open(adapter: AdapterName("hci0"), for: .scanner, on: bus)
        let session = ClientSession(radio: radio, network: relay.network)
        let (codes, screen) = AsyncStream.makeStream(of: String.self)
        let result = try await withThrowingTaskGroup(of: ClientResult?.self) { group in
            group.addTask {
                for await text in codes {
                    try await phone.scan(text)
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
}
