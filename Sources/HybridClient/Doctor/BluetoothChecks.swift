// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridSession
internal import HybridThreads

/// The Bluetooth checks of `doctor`; each requires the previous one.
final class BluetoothChecks: Sendable {
    private let adapter: AdapterName?
    private let budget: TimeBudget
    private let record: @Sendable (DoctorFinding) -> Void

    private static let checks: [DoctorCheck] = [
        .systemBus, .bluetoothService, .adapter, .scanning, .hearing, .ownAdvert,
    ]
    /// The completed checks, and a flag that is true if the radio is virtual.
    private let progress = Locked((completed: [DoctorCheck](), isVirtual: false))

    init(adapter: AdapterName?, budget: TimeBudget, record: @escaping @Sendable (DoctorFinding) -> Void) {
        self.adapter = adapter
        self.budget = budget
        self.record = record
    }

    /// Performs the checks and reports those that are not completed in time.
    ///
    /// - Returns: True if the radio is virtual.
    func run() async throws -> Bool {
        do {
            try await withDeadline(ContinuousClock.now.duration(to: budget.end), orThrow: TimeBudget.Exceeded()) {
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
        guard let unfinished = Self.checks.first(where: { !completed.contains($0) }) else { return }
        var finding = DoctorFinding(
            unfinished,
            .failed,
            "did not finish within \(budget.seconds) s",
            remedy: "allow more time with --timeout, or see journalctl -u bluetooth"
        )
        finding.status = .temporary
        report(finding)
        skipRest("there was no time left")
    }

    private func report(_ finding: DoctorFinding) {
        guard !Task.isCancelled else { return }
        progress.withLock { $0.completed.append(finding.check) }
        record(finding)
    }

    private func fail(_ check: DoctorCheck, _ failure: some ExplainedFailure, skippingRest reason: String) {
        report(DoctorFinding(check, .failed, failure))
        skipRest(reason)
    }

    /// Reports all checks that have no finding yet as skipped.
    private func skipRest(_ reason: String) {
        let completed = progress.withLock { $0.completed }
        for check in Self.checks where !completed.contains(check) {
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
        guard let chosen = candidates.first(where: \.isPowered) ?? candidates.first else {
            let error = adapter.map(RadioError.adapterNotFound) ?? .noAdapter
            return fail(.adapter, error, skippingRest: "no adapter")
        }
        guard chosen.isPowered else {
            report(Self.off(chosen))
            return skipRest("\(chosen.name) is off")
        }
        let others = adapters.filter { $0.name != chosen.name && $0.isPowered }
        let list = others.isEmpty ? "" : "; also on: " + others.map(\.name.text).joined(separator: ", ")
        report(DoctorFinding(.adapter, .fine, "\(chosen.name) is on\(list)"))
        let radio: BluetoothRadio
        do {
            radio = try await BluetoothRadio.open(adapter: chosen.name, for: .scanner)
        } catch {
            return fail(.scanning, error, skippingRest: "scanning can't begin")
        }
        try await withCleanup {
            await radio.close()
        } of: {
            try await checkReception(with: radio, others)
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

    /// Checks if the radio receives adverts.
    ///
    /// If another adapter can advertise, it sends a test advert, because there may be no other devices nearby.
    private func checkReception(with radio: BluetoothRadio, _ others: [RadioInspection.Adapter]) async throws {
        do {
            var test: TestResult?
            if let sender = others.first(where: \.canAdvertise) {
                test = try await receiveTestAdvert(radio, from: sender.name)
            }
            var first: Duration?
            if case .received(let time)? = test {
                first = time
            } else {
                first = try await radio.firstDevice(within: budget.receiving)
            }
            report(DoctorFinding(.scanning, .fine, "\(radio.adapter) may scan"))
            report(reception(radio.adapter, first, test))
            report(Self.testAdvert(radio.adapter, test))
        } catch let error as RadioError {
            fail(.scanning, error, skippingRest: "scanning failed")
        }
    }

    /// The result of sending and receiving a test advert.
    private enum TestResult {
        case received(after: Duration)
        case notReceived(from: AdapterName)
        case notSent(RadioError)
    }

    /// Sends a random advert, which no client can decrypt, from another adapter and scans for it.
    private func receiveTestAdvert(_ radio: BluetoothRadio, from other: AdapterName) async throws -> TestResult {
        let bytes = (0..<Advert.length).map { _ in UInt8.random(in: 0...255) }
        guard let advert = Advert(serviceData: bytes) else { preconditionFailure("20 bytes are an advert") }
        let sender: BluetoothRadio
        do {
            sender = try await BluetoothRadio.open(adapter: other, for: .advertiser)
        } catch {
            return .notSent(error)
        }
        let limit = budget.receiving
        return try await withCleanup {
            await sender.close()
        } of: {
            try await radio.withScan { adverts -> TestResult in
                let start = ContinuousClock.now
                do {
                    let isReceived = try await sender.withAdvert(advert) { _ in
                        try await Self.awaitAdvert(advert, among: adverts, within: limit)
                    }
                    return isReceived ? .received(after: start.duration(to: .now)) : .notReceived(from: other)
                } catch let failure as ScannerFailure {
                    throw failure.cause
                } catch let error as RadioError {
                    return .notSent(error)
                }
            }
        }
    }

    /// A failure of the scanning radio, as distinct from a failure of the sending radio.
    private struct ScannerFailure: Error { let cause: RadioError }

    private static func awaitAdvert(
        _ advert: Advert,
        among adverts: AdvertSequence,
        within limit: Duration
    ) async throws -> Bool {
        do {
            return try await withDeadline(limit, orThrow: TimeBudget.Exceeded()) {
                do throws(RadioError) {
                    for try await received in adverts where received.advert == advert { return true }
                    return false
                } catch {
                    throw ScannerFailure(cause: error)
                }
            }
        } catch is TimeBudget.Exceeded {
            return false
        }
    }

    private func reception(_ name: AdapterName, _ first: Duration?, _ test: TestResult?) -> DoctorFinding {
        if let first {
            return DoctorFinding(.hearing, .fine, "\(name) received something after \(Self.seconds(first)) s")
        }
        let time = Self.seconds(budget.receiving)
        if case .notReceived(let other)? = test {
            return DoctorFinding(
                .hearing,
                .failed,
                "\(name) receives nothing in \(time) s, not even what \(other) sends beside it",
                remedy: "try --adapter \(other); unplug \(name) and plug it in again, or see journalctl -u bluetooth"
            )
        }
        return DoctorFinding(
            .hearing,
            .warning,
            "\(name) received nothing in \(time) s",
            remedy: "perhaps no device is near; else check the antenna, or see journalctl -u bluetooth"
        )
    }

    private static func testAdvert(_ name: AdapterName, _ test: TestResult?) -> DoctorFinding {
        switch test {
        case .received(let time)?:
            DoctorFinding(.ownAdvert, .fine, "\(name) received a test advert of this computer after \(seconds(time)) s")
        case .notReceived(let other)?:
            DoctorFinding(
                .ownAdvert,
                .warning,
                "\(name) did not receive what \(other) sent",
                remedy: "one of the two does not work well; try the other with --adapter"
            )
        case .notSent(let error)?: DoctorFinding(.ownAdvert, .warning, error)
        case nil: DoctorFinding(.ownAdvert, .skipped, "not checked: needs a second adapter that can send")
        }
    }

    /// Returns the duration in seconds with one decimal place.
    private static func seconds(_ duration: Duration) -> String {
        let tenths = Int(duration / .milliseconds(100))
        return "\(tenths / 10).\(tenths % 10)"
    }
}
