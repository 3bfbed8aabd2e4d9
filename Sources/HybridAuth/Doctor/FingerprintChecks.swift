// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridDoctor
internal import HybridPrimitives
internal import HybridVault
internal import HybridVaultAgent

/// The checks of fprintd, and of the service that releases the key of a vault for a fingerprint.
///
/// The PIN works without them, so they only warn.
struct FingerprintChecks: Sendable {
    /// True if the vault uses fingerprints on this device.
    private let isUsed: Bool
    private let budget: TimeBudget

    /// Reads the status of the vault.
    init(_ location: VaultLocation, _ budget: TimeBudget) {
        isUsed = (try? Vault.status(at: location))?.usesFingerprint ?? false
        self.budget = budget
    }

    /// Performs the checks; the sensor is not claimed.
    func run() async throws -> [DoctorFinding] {
        async let sensor = sensor()
        async let service = service()
        return try await [sensor, service]
    }

    private func sensor() async throws -> DoctorFinding {
        try await DoctorFinding.within(budget, .fingerprint, orElse: .warning) { [isUsed] in
            let status = await FingerprintSensor.status()
            guard let failure = status.failure else {
                let fingers = status.fingers.count == 1 ? "1 finger" : "\(status.fingers.count) fingers"
                let use = isUsed ? "" : "; not used (hybrid-auth vault finger enable)"
                return DoctorFinding(.fingerprint, .fine, "\(status.device ?? "a sensor") with \(fingers)\(use)")
            }
            return DoctorFinding(.fingerprint, isUsed ? .warning : .skipped, failure)
        }
    }

    private func service() async throws -> DoctorFinding {
        guard isUsed else {
            return DoctorFinding(.fingerprintService, .skipped, "not checked: the vault does not use fingerprints")
        }
        return try await DoctorFinding.within(budget, .fingerprintService, orElse: .warning) {
            do throws(FingerprintFailure) {
                let status = try await VaultAgentClient(environment: ProcessEnvironment.variables).status()
                let held = status.held.isEmpty ? "has no key yet; enter your PIN once" : "holds a key"
                return DoctorFinding(.fingerprintService, .fine, "hybrid-auth agent runs and \(held)")
            } catch {
                return DoctorFinding(.fingerprintService, .warning, error)
            }
        }
    }
}
