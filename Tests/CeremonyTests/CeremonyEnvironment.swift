// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import HybridVirtualBlueZ
import IntegrationTestSupport
import Synchronization
import TestSupport
import Testing

/// Everything that a ceremony needs: a private bus with a virtual radio, a relay process, a relying party, and a folder
/// for all that is written.
///
/// It is removed when the body of ``run(_:_:)`` returns. If something failed, the folder stays, and the error names it.
struct CeremonyEnvironment: Sendable {
    /// The tunnel domain of the relay.
    static let domain = 266
    /// The host of the tunnel domain.
    static let host = TunnelDomain(id: UInt16(domain))?.host ?? ""
    /// The origin of the relying party.
    static let origin = "https://example.com"

    let folder: String
    let radio: TestRadio
    let relay: RelayProgram
    let counterparts: CounterpartLauncher

    /// Runs `body` in a new environment.
    static func run(
        _ settings: AirSettings = AirSettings(firstSeen: .milliseconds(20)),
        _ body: @Sendable (CeremonyEnvironment) async throws -> Void
    ) async throws {
        let folder = try TestFolder()
        let evidence = Evidence()
        do {
            try await TestRadio.run(settings) { radio in
                try await makeCertificates(in: folder.path)
                try await TestUser.writeProgram(in: folder.path)
                let certificate = ["--tls-cert", "\(folder.path)/relay.pem", "--tls-key", "\(folder.path)/relay.key"]
                let relay = try await RelayProgram.start(certificate + ["--contact-host", host], in: folder.path)
                let environment = CeremonyEnvironment(folder: folder.path, radio: radio, relay: relay)
                do {
                    try await Evidence.$current.withValue(evidence) { try await body(environment) }
                } catch {
                    try? await environment.counterparts.close()
                    throw error
                }
                try await environment.counterparts.close()
                relay.program.send(SIGINT)
                _ = try await relay.program.ending(within: .seconds(60))
            }
        } catch {
            throw Failed(folder: folder.path, cause: error)
        }
        guard !evidence.isNeeded else { throw Failed(folder: folder.path, cause: nil) }
        try folder.remove()
    }

    private init(folder: String, radio: TestRadio, relay: RelayProgram) {
        self.folder = folder
        self.radio = radio
        self.relay = relay
        let variables = Self.variables(folder: folder, radio: radio, ["PYTHONDONTWRITEBYTECODE": "1"])
        counterparts = CounterpartLauncher(folder: folder, environment: variables)
    }

    /// The failure of a test, with the location of the evidence.
    struct Failed: Error, CustomStringConvertible {
        let folder: String
        /// The error of the test, or `nil` if expectations failed.
        let cause: (any Error)?
        var description: String { "\(cause.map { "\($0)\n" } ?? "")evidence is in \(folder)" }
    }

    /// The control of the virtual radio.
    var air: AirControl { radio.control }

    /// The flags with which client and authenticator reach the relay.
    var network: [String] { trust + connectTo(Self.host, relay.port) }

    /// The flags with which programs trust the environment's certificate authority.
    var trust: [String] { ["--cacert", "\(folder)/ca.pem"] }

    /// Returns the environment variables of a program, with a home directory of its own.
    func variables(_ additions: [String: String] = [:]) -> [String: String] {
        Self.variables(folder: folder, radio: radio, additions)
    }

    private static func variables(
        folder: String,
        radio: TestRadio,
        _ additions: [String: String]
    ) -> [String: String] {
        SpawnedProcess.environment.merging([
            "DBUS_SYSTEM_BUS_ADDRESS": radio.bus.address, "HOME": folder, "XDG_CONFIG_HOME": folder + "/config",
            "XDG_STATE_HOME": folder + "/state", "XDG_DATA_HOME": folder + "/data",
        ]) { $1 }.merging(additions) { $1 }
    }

    /// Starts a program in the environment.
    func start(
        _ program: String,
        _ arguments: [String],
        variables: [String: String] = [:],
        input: String? = nil,
        output: String? = nil
    ) throws -> RunningProgram {
        try RunningProgram(
            program,
            arguments,
            in: folder,
            environment: self.variables(variables),
            input: input,
            output: output
        )
    }

    /// Waits until no advert is on the air.
    func untilNoAdverts(within limit: Duration = .seconds(60)) async throws {
        try await Waiting.until("the end of all adverts", within: limit) { try await air.activeAdverts().isEmpty }
    }

    private static func makeCertificates(in folder: String) async throws {
        let script = """
            set -e; cd "$1"
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 2 \
              -subj "/CN=test authority" -addext keyUsage=critical,keyCertSign
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout relay.key -out relay.csr \
              -subj "/CN=relay"
            printf 'subjectAltName=DNS:%s\\nextendedKeyUsage=serverAuth\\n' "$2" > relay.ext
            openssl x509 -req -in relay.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile relay.ext \
              -out relay.pem
            """
        guard try await SpawnedProcess(["/bin/sh", "-c", script, "sh", folder, host]).end() == 0 else {
            throw RunningProgram.TimedOut(description: "openssl made no certificates")
        }
    }
}

/// Returns the flags that redirect connections for `host` to a port of this machine.
func connectTo(_ host: String, _ port: Int) -> [String] { ["--connect-to", "\(host):443:127.0.0.1:\(port)"] }

/// One environment for all tests of a suite, because creating a vault and a passkey takes seconds.
struct SharedEnvironment: SuiteTrait, TestScoping {
    @TaskLocal fileprivate static var current: CeremonyEnvironment?

    /// Runs once before the first test.
    let preparation: @Sendable (CeremonyEnvironment) async throws -> Void

    init(preparation: @escaping @Sendable (CeremonyEnvironment) async throws -> Void = { _ in }) {
        self.preparation = preparation
    }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await CeremonyEnvironment.run { environment in
            try await preparation(environment)
            try await Self.$current.withValue(environment) { try await function() }
        }
    }
}

extension CeremonyEnvironment {
    /// The environment of the suite, which needs the trait ``SharedEnvironment``.
    static func shared() throws -> CeremonyEnvironment {
        try #require(SharedEnvironment.current, "the suite has no shared environment")
    }
}

/// A record of failed expectations; the folder of the environment stays if there is one.
private final class Evidence: Sendable {
    /// The record of the environment in which the task runs.
    @TaskLocal static var current: Evidence?

    private let hasFailures = Atomic(false)

    var isNeeded: Bool { hasFailures.load(ordering: .relaxed) }

    func keep() { hasFailures.store(true, ordering: .relaxed) }
}

extension Trait where Self == IssueHandlingTrait {
    /// Keeps the folder of a ceremony environment after a failed expectation.
    static var keepsEvidence: Self {
        .compactMapIssues { issue in
            Evidence.current?.keep()
            return issue
        }
    }
}
