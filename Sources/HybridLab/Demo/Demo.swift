// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives

/// The command `hybrid-lab demo`, which performs a registration and a sign-in and explains each step.
///
/// Only the radio and the phone's user are simulated. Client and phone use a QR code, an advert, TLS, a relay and a
/// Noise handshake, as two separate devices would.
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show a complete registration and sign-in on this computer, explained step by step."
    )

    private static let origin = "https://shop.example"

    @Flag(help: "Do not show the QR codes.")
    var noQr = false

    func run() async throws {
        let command = self
        do {
            try await untilSignal { try await command.perform() }
        } catch  where !(error is CommandFailure) {
            let sentence = (error as? any ExplainedFailure)?.sentence ?? "the demo failed: \(error)"
            throw CommandFailure(sentence, status: .software)
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
            try await ceremonies(of: DemoDevices(environment, narration), narration)
        }
        narration.summary(elapsed: ContinuousClock.now - started)
        guard narration.isComplete else { throw CommandFailure.outputNotWritten }
    }

    private func ceremonies(of devices: DemoDevices, _ narration: DemoNarration) async throws {
        var site = DemoRelyingParty(origin: Self.origin)

        narration.title("Registration at \(Self.origin)")
        let created = try await devices.answer(site.creationOptions(), of: Self.origin)
        let account = try site.verifyRegistration(created)
        narration.step(
            "site",
            "verifies origin, challenge, RP ID hash and user verification; stores the public key (\(account))"
        )

        narration.title("Sign-in at \(Self.origin), without a user name")
        let signed = try await devices.answer(site.requestOptions(), of: Self.origin)
        let handle = try site.verifySignIn(signed)
        narration.step("site", "verifies the signature with the registered key; \(handle) is signed in")
    }
}
