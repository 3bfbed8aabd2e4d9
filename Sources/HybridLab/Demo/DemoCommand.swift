// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram

/// The command `hybrid-lab demo`, which performs a registration and a sign-in and explains each step.
///
/// Only the radio and the phone's user are simulated. Client and phone use a QR code, an advert, TLS, a relay and a
/// Noise handshake, as two separate devices would.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Show a complete registration and sign-in on this computer, explained step by step."
    )

    private static let origin = "https://shop.example"

    @Flag(help: "Do not show the QR codes.")
    var noQr = false

    @Flag(help: "Also link the phone, and sign in three times without a code.")
    var linked = false

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
                    + "\(environment.relay.port) with a certificate from a throwaway authority"
            )
            let devices = try DemoDevices(environment, narration)
            guard linked else { return try await ceremonies(of: devices, narration) }
            try await withTemporaryFolder { folder in
                try await linkedCeremonies(of: devices, LabLinks(path: "\(folder)/phone"), narration)
            }
        }
        narration.summary(elapsed: ContinuousClock.now - started, linked: linked)
        guard narration.isComplete else { throw CommandFailure.outputNotWritten }
    }

    private func register(
        at site: inout DemoRelyingParty,
        with devices: DemoDevices,
        _ narration: DemoNarration
    ) async throws {
        narration.title("Registration at \(Self.origin)")
        let created = try await devices.answer(site.creationOptions(), of: Self.origin)
        let account = try await site.verifyRegistration(created)
        narration.step(
            "site",
            "verifies origin, challenge, RP ID hash and user verification; stores the public key (\(account))"
        )
    }

    /// Links the phone in a sign-in with a code, and signs in without one.
    private func linkedCeremonies(
        of devices: DemoDevices,
        _ links: LabLinks,
        _ narration: DemoNarration
    ) async throws {
        var site = try DemoRelyingParty(origin: Self.origin)
        try await register(at: &site, with: devices, narration)

        narration.title("Sign-in at \(Self.origin), in which the phone is linked")
        let (signed, link) = try await devices.answerAndLink(
            site.requestOptions(namesPasskey: true),
            of: Self.origin,
            links
        )
        _ = try site.verifySignIn(signed)
        narration.step("site", "verifies the signature")
        for number in 1...3 {
            narration.title("Sign-in \(number) without a code")
            let options = site.requestOptions(namesPasskey: true)
            let answer = try await devices.answer(options, of: Self.origin, with: link, number, links)
            let handle = try site.verifySignIn(answer)
            narration.step("site", "verifies the signature with the registered key; \(handle) is signed in")
        }
    }

    private func ceremonies(of devices: DemoDevices, _ narration: DemoNarration) async throws {
        var site = try DemoRelyingParty(origin: Self.origin)
        try await register(at: &site, with: devices, narration)

        narration.title("Sign-in at \(Self.origin), without a user name")
        let signed = try await devices.answer(site.requestOptions(), of: Self.origin)
        let handle = try site.verifySignIn(signed)
        narration.step("site", "verifies the signature with the registered key; \(handle) is signed in")
    }
}
