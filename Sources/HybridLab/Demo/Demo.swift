// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
public import HybridPrimitives
internal import HybridRelayCore
internal import HybridSession
internal import HybridSystemBus
internal import HybridVirtualBlueZ
internal import HybridWebAuthn
internal import Logging
internal import NIOCore

/// `hybrid-lab demo`: a registration and a sign-in on this machine, explained as they happen.
///
/// Everything is real but two things: the radio is virtual, and the phone's user is a script. Client and phone
/// meet through a QR text, an advert, TLS, a relay and a Noise handshake, as they would on two devices.
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "A complete registration and sign-in on this machine, explained as it happens."
    )

    private static let origin = "https://shop.example"

    @Flag(help: "Leave the QR codes out.")
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
        let story = DemoNarration(showsCodes: !noQr)
        story.title("A registration and a sign-in across two devices, both played by this machine.")
        try await LabEnvironment.run { rig in
            story.step(
                "air",
                "VIRTUAL RADIO: no proximity proof. A private D-Bus bus plays bluetoothd with two adapters"
            )
            story.step(
                "relay",
                "\(rig.relay.domain.host) (tunnel domain \(rig.relay.domain.id)) listens on 127.0.0.1:"
                    + "\(rig.relay.port), its certificate signed by a throwaway authority"
            )
            try await ceremonies(on: rig.bus.busAddress, rig.relay, story)
        }
        story.summary(elapsed: ContinuousClock.now - started)
        guard story.isTold else { throw CommandFailure.outputLost }
    }

    private func ceremonies(on bus: BusAddress, _ relay: LabRelay, _ story: DemoNarration) async throws {
        let store = try MemoryCredentialStore(pin: .lab)
        let phone = DemoPhone(store: store, relay: relay, bus: bus, story: story)
        var site = DemoRelyingParty(origin: Self.origin)

        story.title("Registration at \(Self.origin)")
        let created = try await ceremony(site.creationOptions(), phone, relay, bus, story)
        let account = try site.verifyRegistration(created)
        story.step("site", "verified: origin, challenge, RP ID hash, user verified; keeps the public key (\(account))")

        story.title("Sign-in at \(Self.origin), without a user name")
        let signed = try await ceremony(site.requestOptions(), phone, relay, bus, story)
        let handle = try site.verifySignIn(signed)
        story.step("site", "verified: the signature by the key registered before; signed in as \(handle)")
    }

    /// One ceremony: the desktop shows a code, the phone reads it, the desktop gets an answer for the site.
    private func ceremony(
        _ options: [UInt8],
        _ phone: DemoPhone,
        _ relay: LabRelay,
        _ bus: BusAddress,
        _ story: DemoNarration
    ) async throws -> [UInt8] {
        let ceremony = try Ceremony(PublicKeyOptions(json: options), origin: Origin(Self.origin))
        let radio = try await BluetoothRadio.open(adapter: AdapterName("hci0"), for: .scanner, on: bus)
        let session = ClientSession(radio: radio, route: relay.route)
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
                    story.desktop(event)
                    if case .drawn(let offer) = event { screen.yield(offer.text) }
                }
            }
            var answer: ClientResult?
            while let next = try await group.next() { answer = next ?? answer }
            return answer
        }
        await radio.close()
        guard let result, result.response.status == .success else {
            throw CommandFailure("the phone refused", status: .software)
        }
        return try ceremony.responseJSON(body: result.response.body, phone: result.info)
    }
}
