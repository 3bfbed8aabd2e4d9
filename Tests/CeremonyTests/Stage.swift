// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import HybridSystemBus
import HybridVirtualBlueZ
import TestSupport

/// Everything around a ceremony: a private bus with a virtual radio, a relay process, a folder for what is written.
///
/// All of it is gone when the body returns; where something failed meanwhile, the folder stays and is named.
struct Stage: Sendable {
    static let domain = 266

    let folder: String
    let bus: PrivateBus
    let air: AirControl
    let relay: RunningProgram
    let relayPort: Int

    /// Sets the stage and runs `body` on it.
    static func set(
        _ settings: AirSettings = AirSettings(firstSeen: .milliseconds(20)),
        _ body: @Sendable (Stage) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/hybrid-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let evidence = Evidence()
        let bus = try await PrivateBus.start()
        do {
            try await VirtualBlueZ.serve(on: bus.busAddress, settings) {
                let connection = try await BusConnection.connect(to: bus.busAddress)
                try await makeCertificates(in: folder)
                try await Person.writeProgram(in: folder)
                let relay = try startRelay(in: folder)
                let line = try await relay.line { $0.contains("listening on") }
                let stage = Stage(
                    folder: folder,
                    bus: bus,
                    air: AirControl(connection),
                    relay: relay,
                    relayPort: line.split(separator: ":").last.flatMap { Int($0) } ?? 0
                )
                try await Evidence.$ofStage.withValue(evidence) { try await body(stage) }
                relay.send(SIGINT)
                _ = try await relay.ending(within: .seconds(60))
                await connection.close()
            }
        } catch {
            await bus.close()
            throw Failed(folder: folder, cause: error)
        }
        await bus.close()
        guard !evidence.isWanted else { throw Failed(folder: folder, cause: nil) }
        try FileManager.default.removeItem(atPath: folder)
    }

    /// What went wrong, and where the evidence lies.
    struct Failed: Error, CustomStringConvertible {
        let folder: String
        /// What was thrown; `nil` if expectations failed.
        let cause: (any Error)?
        var description: String { "\(cause.map { "\($0)\n" } ?? "")evidence is in \(folder)" }
    }

    private static func startRelay(in folder: String) throws -> RunningProgram {
        try RunningProgram(
            "hybrid-relay",
            [
                "serve", "--listen", "127.0.0.1:0", "--tls-cert", "\(folder)/relay.pem", "--tls-key",
                "\(folder)/relay.key",
                // A busy machine's programs may take their time for a head.
                "--head-timeout", "60",
            ],
            in: folder,
            environment: ProcessInfo.processInfo.environment
        )
    }

    /// The host that belongs to the stage's tunnel domain.
    static let host = TunnelDomain(id: UInt16(domain))?.host ?? ""

    /// How both programs reach the relay.
    var network: [String] {
        ["--cacert", "\(folder)/ca.pem", "--connect-to", "\(Self.host):443:127.0.0.1:\(relayPort)"]
    }

    /// The variables of a program on this stage, with a home of its own.
    func environment(_ additions: [String: String] = [:]) -> [String: String] {
        var environment = ProcessInfo.processInfo.environment
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = bus.address
        environment["HOME"] = folder
        environment["XDG_CONFIG_HOME"] = folder + "/config"
        environment["XDG_STATE_HOME"] = folder + "/state"
        environment["XDG_DATA_HOME"] = folder + "/data"
        environment.merge(additions) { $1 }
        return environment
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
        let openssl = try SpawnedProcess(
            ["/bin/sh", "-c", script, "sh", folder, host],
            environment: ProcessInfo.processInfo.environment
        )
        guard try await openssl.end() == 0 else {
            throw RunningProgram.TimedOut(description: "openssl made no certificates")
        }
    }
}
