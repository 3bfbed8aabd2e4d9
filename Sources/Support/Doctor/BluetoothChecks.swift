// SPDX-License-Identifier: Apache-2.0

package import HybridBLEAdvert
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridSession
internal import HybridThreads

/// The Bluetooth checks of `doctor`; each requires the previous one.
package final class BluetoothChecks: Sendable {
    private let adapter: AdapterName?
    private let role: BluetoothRadio.Role
    let budget: TimeBudget
    private let record: @Sendable (DoctorFinding) -> Void

    private var checks: [DoctorCheck] {
        let use: [DoctorCheck] = role == .scanner ? [.scanning, .hearing] : [.advertising]
        return [.systemBus, .bluetoothService, .adapter] + use + [.ownAdvert]
    }
    /// The completed checks, and a flag that is true if the radio is virtual.
    private let progress = Locked((completed: [DoctorCheck](), isVirtual: false))

    /// Creates the checks.
    ///
    /// - Parameters:
    ///   - adapter: The adapter; `nil` for the first that is on.
    ///   - role: The use of the radio: a client scans, an authenticator advertises.
    ///   - budget: The time limit.
    ///   - record: Called with each finding.
    package init(
        adapter: AdapterName?,
        role: BluetoothRadio.Role,
        budget: TimeBudget,
        record: @escaping @Sendable (DoctorFinding) -> Void
    ) {
        self.adapter = adapter
        self.role = role
        self.budget = budget
        self.record = record
    }

    /// Performs the checks and reports those that are not completed in time.
    ///
    /// - Returns: True if the radio is virtual.
    package func run() async throws -> Bool {
        do {
            try await withDeadline(budget.left, orThrow: TimeBudget.Exceeded()) {
                try await self.checkBus()
            }
        } catch is TimeBudget.Exceeded {
            try Task.checkCancellation()
            reportUnfinished()
        }
        return progress.withLock { $0.isVirtual }
    }

    private func reportUnfinished() {
        let completed = progress.withLock { $0.completed }
        guard let unfinished = checks.first(where: { !completed.contains($0) }) else { return }
        let remedy = "allow more time with --timeout, or see journalctl -u bluetooth"
        report(.unfinished(unfinished, .failed, budget, remedy: remedy))
        skipRest("there was no time left")
    }

    func report(_ finding: DoctorFinding) {
        guard !Task.isCancelled else { return }
        progress.withLock { $0.completed.append(finding.check) }
        record(finding)
    }

    func fail(_ check: DoctorCheck, _ failure: some ExplainedFailure, skippingRest reason: String) {
        report(DoctorFinding(check, .failed, failure))
        skipRest(reason)
    }

    /// Reports all checks that have no finding yet as skipped.
    private func skipRest(_ reason: String) {
        let completed = progress.withLock { $0.completed }
        for check in checks where !completed.contains(check) {
            report(DoctorFinding(check, .skipped, "not checked: \(reason)"))
        }
    }

    private func checkBus() async throws {
        let (isVirtual, unverified): (Bool, String?)
        do {
            (isVirtual, unverified) = try await RadioInspection.reachBus()
        } catch {
            return fail(.systemBus, error, skippingRest: "no system bus")
        }
        progress.withLock { $0.isVirtual = isVirtual }
        let found = isVirtual ? "responds; VIRTUAL RADIO: no proximity proof" : "responds"
        report(DoctorFinding(.systemBus, unverified == nil ? .fine : .warning, found, remedy: unverified))
        let inspection: RadioInspection
        do {
            inspection = try await RadioInspection.inspect()
        } catch {
            return fail(.bluetoothService, error, skippingRest: "no Bluetooth service")
        }
        let version =
            inspection.serviceVersion.map { "bluetoothd \($0)" }
            ?? "bluetoothd runs; its version is not available here (see bluetoothctl --version)"
        report(DoctorFinding(.bluetoothService, .fine, version))
        try await checkAdapter(among: inspection.adapters)
    }

    private func checkAdapter(among adapters: [RadioInspection.Adapter]) async throws {
        let candidates = adapter.map { name in adapters.filter { $0.name == name } } ?? adapters
        let usable = candidates.contains(where: \.hasLowEnergy) ? candidates.filter(\.hasLowEnergy) : candidates
        let able = role == .scanner ? nil : usable.first { $0.isPowered && $0.canAdvertise }
        guard let chosen = able ?? usable.first(where: \.isPowered) ?? usable.first else {
            let error = adapter.map(RadioError.adapterNotFound) ?? .noAdapter
            return fail(.adapter, error, skippingRest: "no adapter")
        }
        guard chosen.isPowered else {
            report(Self.off(chosen))
            return skipRest("\(chosen.name) is off")
        }
        guard chosen.hasLowEnergy else {
            return fail(.adapter, RadioError.noLowEnergy(chosen.name), skippingRest: "no Bluetooth Low Energy")
        }
        let others = adapters.filter { $0.name != chosen.name && $0.isPowered && $0.hasLowEnergy }
        let list = others.isEmpty ? "" : "; also on: " + others.map(\.name.text).joined(separator: ", ")
        report(DoctorFinding(.adapter, .fine, "\(chosen.name) is on\(list)"))
        let radio: BluetoothRadio
        do {
            radio = try await BluetoothRadio.open(adapter: chosen.name, for: role)
        } catch {
            return role == .scanner
                ? fail(.scanning, error, skippingRest: "scanning can't begin")
                : fail(.advertising, error, skippingRest: "advertising can't begin")
        }
        try await withCleanup {
            await radio.close()
        } of: {
            switch role {
            case .scanner: try await checkReception(with: radio, others)
            case .advertiser: try await checkAdvertising(with: radio, others)
            }
        }
    }

    private static func off(_ adapter: RadioInspection.Adapter) -> DoctorFinding {
        switch adapter.block {
        case nil: DoctorFinding(.adapter, .failed, RadioError.adapterOff(adapter.name))
        case .soft:
            DoctorFinding(
                .adapter,
                .failed,
                "\(adapter.name) is blocked (rfkill)",
                remedy: "end airplane mode, or: rfkill unblock bluetooth, then bluetoothctl power on"
            )
        case .hard:
            DoctorFinding(
                .adapter,
                .failed,
                "\(adapter.name) is blocked by a switch or the firmware (rfkill)",
                remedy: "look for a switch or key of the computer, or a setting of its firmware"
            )
        }
    }

    /// Returns the duration in seconds with one decimal place.
    static func seconds(_ duration: Duration) -> String {
        let tenths = Int(duration / .milliseconds(100))
        return "\(tenths / 10).\(tenths % 10)"
    }
}
