// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVault
internal import HybridVaultAgent

/// `vault finger`: a fingerprint in place of the second PIN.
struct VaultFingerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "finger",
        abstract: "Let a fingerprint replace the PIN after the first one.",
        subcommands: [VaultFingerEnable.self, VaultFingerDisable.self, VaultFingerStatus.self]
    )

    /// The vault agent of this user.
    static var agent: VaultAgentClient { VaultAgentClient(environment: ProcessEnvironment.variables) }
}

/// `vault finger enable`: allows fingerprints, and records the enrolled fingers.
struct VaultFingerEnable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Allow fingerprints in place of the PIN on this device.",
        discussion: """
            The fingers that are enrolled now are recorded. If they change, the PIN is needed until this command is \
            run again. Every finger that is enrolled for this user opens the vault, so enroll only your own.
            """
    )

    @OptionGroup var options: VaultOptions
    @OptionGroup var output: ResultOutput

    func run() async throws {
        _ = try options.location.open()
        let agent = VaultFingerCommand.agent
        let sensor: FingerprintSensorStatus
        do throws(FingerprintFailure) {
            _ = try await agent.status()
            sensor = await FingerprintSensor.status()
            if let failure = sensor.failure { throw failure }
        } catch {
            throw CommandFailure(error)
        }
        try await options.runUnlocked(to: .finger) { unlocked in
            guard let id = VaultID(unlocked.vault.id) else { return }
            let isAllowed = try options.location.open().allowsFingerprint
            try await unlocked.vault.allowFingerprint(enrolled: sensor.fingers)
            do {
                guard let (key, fingers) = try await unlocked.vault.keyForFingerprint() else { return }
                try await agent.hold(key, of: id, isTest: unlocked.vault.isTest, fingers: fingers)
            } catch let failure as FingerprintFailure {
                // A first enable that cannot work leaves nothing behind.
                if !isAllowed { try options.location.open().forbidFingerprint() }
                throw CommandFailure(failure)
            }
            try output.show(
                [("finger", .boolean(true)), ("fingers", .array(sensor.fingers.map { .string($0) }))],
                "a fingerprint replaces the PIN of this vault from now on: \(sensor.fingers.joined(separator: ", "))",
                "it guards against other people at this computer, not against programs of this user"
            )
        }
    }
}

/// `vault finger disable`: forbids fingerprints.
struct VaultFingerDisable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Ask for the PIN for each request again."
    )

    @OptionGroup var location: VaultLocationOptions
    @OptionGroup var output: ResultOutput

    func run() async throws {
        let vault = try location.open()
        let wasAllowed = vault.allowsFingerprint
        try vault.forbidFingerprint()
        if let id = VaultID(vault.id) {
            do throws(FingerprintFailure) {
                try await VaultFingerCommand.agent.forget(id)
            } catch {
                // Without an agent, no key is held.
                guard error == .agentMissing else { throw CommandFailure(error) }
            }
        }
        try output.show(
            [("finger", .boolean(false))],
            wasAllowed ? "each request needs the PIN again" : "fingerprints were not in use for this vault"
        )
    }
}

/// `vault finger status`: shows what a fingerprint needs, without a prompt.
struct VaultFingerStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state of fingerprints, without a prompt."
    )

    @OptionGroup var location: VaultLocationOptions

    @Flag(help: "One JSON object on standard output.")
    var json = false

    func run() async throws {
        let status = try location.opening(Vault.status)
        let sensor = await FingerprintSensor.status()
        let agent: Result<VaultAgentStatus, FingerprintFailure>
        do throws(FingerprintFailure) {
            agent = .success(try await VaultFingerCommand.agent.status())
        } catch {
            agent = .failure(error)
        }
        let held = (try? agent.get())?.held.first { "\($0.vault)" == status.id }
        try StandardOutput.writeLine(
            json ? Self.object(status, sensor, agent, held).description : Self.table(status, sensor, agent, held)
        )
        for failure in [agent.failure, sensor.failure].compactMap(\.self) where !json { report(failure.sentence) }
    }

    private static func table(
        _ status: VaultStatus,
        _ sensor: FingerprintSensorStatus,
        _ agent: Result<VaultAgentStatus, FingerprintFailure>,
        _ held: HeldVault?
    ) -> String {
        let rows = [
            ("fingerprints", status.usesFingerprint ? "on" : "off"),
            ("agent", agent.failure == nil ? "running" : "not running"),
            ("key", held.map { "held for \($0.secondsLeft / 60) more minutes" } ?? "not held; the PIN is needed first"),
            ("sensor", sensor.device ?? "none"),
            ("fingers", sensor.fingers.isEmpty ? "none" : sensor.fingers.joined(separator: ", ")),
        ]
        return rows.map { name, value in name + String(repeating: " ", count: 16 - name.count) + value }
            .joined(separator: "\n")
    }

    private static func object(
        _ status: VaultStatus,
        _ sensor: FingerprintSensorStatus,
        _ agent: Result<VaultAgentStatus, FingerprintFailure>,
        _ held: HeldVault?
    ) -> JSONText {
        .object([
            ("enabled", .boolean(status.usesFingerprint)), ("agent", .boolean(agent.failure == nil)),
            ("secondsLeft", held.map { .number(Int($0.secondsLeft)) } ?? .null),
            ("misses", (try? agent.get()).map { .number($0.misses) } ?? .null),
            ("sensor", sensor.device.map { .string($0) } ?? .null),
            ("fingers", .array(sensor.fingers.map { .string($0) })),
            ("problem", (agent.failure ?? sensor.failure).map { .string($0.code) } ?? .null),
        ])
    }
}

extension Result {
    /// The failure; `nil` after success.
    fileprivate var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
