// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridSession
internal import HybridThreads

/// The doctor's checks of Bluetooth; each needs the one before.
final class DoctorRadio: Sendable {
    let adapter: AdapterName?
    let budget: DoctorTime
    let report: @Sendable (DoctorFinding) -> Void

    private static let checks: [DoctorCheck] = [
        .systemBus, .bluetoothService, .adapter, .scanning, .hearing, .ownAdvert,
    ]
    /// What was told, and whether the radio is a virtual one.
    private let told = Locked((checks: [DoctorCheck](), isVirtual: false))

    init(adapter: AdapterName?, budget: DoctorTime, report: @escaping @Sendable (DoctorFinding) -> Void) {
        self.adapter = adapter
        self.budget = budget
        self.report = report
    }

    /// Makes the checks and returns whether the radio is a virtual one; tells which were not made in time.
    func examineInTime() async throws -> Bool {
        let isDone = try await budget.spend { try await self.examine() } != nil
        let (made, isVirtual) = told.withLock { $0 }
        guard !isDone, let unfinished = Self.checks.first(where: { !made.contains($0) }) else { return isVirtual }
        try Task.checkCancellation()
        var finding = DoctorFinding(
            unfinished,
            .failed,
            "was not done within \(budget.seconds) s",
            remedy: "give it longer with --timeout, or see journalctl -u bluetooth"
        )
        finding.status = .temporary
        tell(finding)
        skip(Self.checks.filter { $0 != unfinished && !made.contains($0) }, "there was no time left")
        return isVirtual
    }

    private func tell(_ finding: DoctorFinding) {
        guard !Task.isCancelled else { return }
        told.withLock { $0.checks.append(finding.check) }
        report(finding)
    }

    private func examine() async throws {
        let isVirtual: Bool
        do {
            isVirtual = try await RadioInspection.reachBus()
            told.withLock { $0.isVirtual = isVirtual }
        } catch {
            tell(DoctorFinding(.systemBus, .failed, error))
            skip([.bluetoothService, .adapter, .scanning, .hearing, .ownAdvert], "no system bus")
            return
        }
        tell(DoctorFinding(.systemBus, .fine, isVirtual ? "answers; VIRTUAL RADIO: no proximity proof" : "answers"))
        let inspection: RadioInspection
        do {
            inspection = try await RadioInspection.look()
        } catch {
            tell(DoctorFinding(.bluetoothService, .failed, error))
            skip([.adapter, .scanning, .hearing, .ownAdvert], "no Bluetooth service")
            return
        }
        let version =
            inspection.serviceVersion.map { "bluetoothd \($0)" }
            ?? "bluetoothd runs; it does not tell its version here (bluetoothctl --version does)"
        tell(DoctorFinding(.bluetoothService, .fine, version))
        try await examine(inspection)
    }

    private func skip(_ checks: [DoctorCheck], _ why: String) {
        for check in checks { tell(DoctorFinding(check, .skipped, "not looked at: \(why)")) }
    }

    private func examine(_ inspection: RadioInspection) async throws {
        let adapters = inspection.adapters
        let wanted = adapter.map { name in adapters.filter { $0.name == name } } ?? adapters
        guard let chosen = wanted.first(where: \.isPowered) ?? wanted.first else {
            tell(DoctorFinding(.adapter, .failed, adapter.map(RadioError.adapterNotFound) ?? .noAdapter))
            return skip([.scanning, .hearing, .ownAdvert], "no adapter")
        }
        guard chosen.isPowered else {
            tell(Self.off(chosen))
            return skip([.scanning, .hearing, .ownAdvert], "\(chosen.name) is off")
        }
        let others = adapters.filter { $0.name != chosen.name && $0.isPowered }
        let rest = others.isEmpty ? "" : "; also on: " + others.map(\.name.text).joined(separator: ", ")
        tell(DoctorFinding(.adapter, .fine, "\(chosen.name) is on\(rest)"))
        let radio: BluetoothRadio
        do {
            radio = try await BluetoothRadio.open(adapter: chosen.name, for: .scanner)
        } catch {
            tell(DoctorFinding(.scanning, .failed, error))
            return skip([.hearing, .ownAdvert], "scanning can't begin")
        }
        do {
            try await listen(with: radio, beside: others)
            await radio.close()
        } catch {
            await radio.close()
            throw error
        }
    }

    private static func off(_ adapter: RadioInspection.Adapter) -> DoctorFinding {
        switch adapter.block {
        case nil: DoctorFinding(.adapter, .failed, RadioError.adapterOff(adapter.name))
        case .byProgram:
            DoctorFinding(
                .adapter,
                .failed,
                "\(adapter.name) is blocked (rfkill)",
                remedy: "end aeroplane mode, or: rfkill unblock bluetooth, then bluetoothctl power on"
            )
        case .bySwitch:
            DoctorFinding(
                .adapter,
                .failed,
                "\(adapter.name) is blocked by a switch or the firmware (rfkill)",
                remedy: "look for a switch or key of the machine, or the setting in its firmware"
            )
        }
    }

    /// Hears something: rather a test advert of its own than strangers, because that is certain to be there.
    private func listen(with radio: BluetoothRadio, beside others: [RadioInspection.Adapter]) async throws {
        do {
            let own = try await others.first(where: \.canAdvertise).asyncMap { try await hearOwn(radio, from: $0.name) }
            var first: Duration?
            if case .heard(let time)? = own {
                first = time
            } else {
                first = try await radio.firstDevice(within: budget.hearing)
            }
            tell(DoctorFinding(.scanning, .fine, "\(radio.adapter) may scan"))
            tell(hearing(radio.adapter, first, own))
            tell(Self.ownAdvert(radio.adapter, own))
        } catch let error as RadioError {
            tell(DoctorFinding(.scanning, .failed, error))
            skip([.hearing, .ownAdvert], "scanning failed")
        }
    }

    private enum Own {
        case heard(Duration)
        case notHeard(from: AdapterName)
        case notSent(RadioError)
    }

    /// Sends a random advert, which nobody can open, by another adapter and listens for it.
    private func hearOwn(_ radio: BluetoothRadio, from other: AdapterName) async throws -> Own {
        let bytes = (0..<Advert.length).map { _ in UInt8.random(in: 0...255) }
        guard let advert = Advert(serviceData: bytes) else { preconditionFailure("20 bytes are an advert") }
        let sender: BluetoothRadio
        do {
            sender = try await BluetoothRadio.open(adapter: other, for: .advertiser)
        } catch {
            return .notSent(error)
        }
        do {
            let patience = budget.hearing
            let own = try await radio.withScan { adverts -> Own in
                let start = ContinuousClock.now
                do {
                    let isHeard = try await sender.withAdvert(advert) { _ in
                        try await Self.hear(advert, among: adverts, within: patience)
                    }
                    return isHeard ? .heard(start.duration(to: .now)) : .notHeard(from: other)
                } catch let failure as SenderFailure {
                    throw failure.cause
                } catch let error as RadioError {
                    return .notSent(error)
                }
            }
            await sender.close()
            return own
        } catch {
            await sender.close()
            throw error
        }
    }

    /// The listening radio failed while the other was sending.
    private struct SenderFailure: Error { let cause: RadioError }

    private static func hear(
        _ advert: Advert,
        among adverts: AdvertSequence,
        within limit: Duration
    ) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                do throws(RadioError) {
                    for try await heard in adverts where heard.advert == advert { return true }
                    return false
                } catch {
                    throw SenderFailure(cause: error)
                }
            }
            group.addTask {
                try await Task.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
    }

    private func hearing(_ name: AdapterName, _ first: Duration?, _ own: Own?) -> DoctorFinding {
        if let first { return DoctorFinding(.hearing, .fine, "\(name) heard something after \(Self.seconds(first)) s") }
        let time = Self.seconds(budget.hearing)
        if case .notHeard(let other)? = own {
            return DoctorFinding(
                .hearing,
                .failed,
                "\(name) hears nothing in \(time) s, not even what \(other) sends beside it",
                remedy:
                    "try the other with --adapter \(other); unplug and plug in \(name), or see journalctl -u bluetooth"
            )
        }
        return DoctorFinding(
            .hearing,
            .warning,
            "\(name) heard nothing in \(time) s",
            remedy: "no device may be near; else check the antenna, or see journalctl -u bluetooth"
        )
    }

    private static func ownAdvert(_ name: AdapterName, _ own: Own?) -> DoctorFinding {
        switch own {
        case .heard(let time)?:
            return DoctorFinding(
                .ownAdvert,
                .fine,
                "\(name) heard a test advert of this device after \(seconds(time)) s"
            )
        case .notHeard(let other)?:
            return DoctorFinding(
                .ownAdvert,
                .warning,
                "\(name) did not hear what \(other) sent",
                remedy: "one of the two does not work well; try the other with --adapter"
            )
        case .notSent(let error)?: return DoctorFinding(.ownAdvert, .warning, error)
        case nil: return DoctorFinding(.ownAdvert, .skipped, "not tried: that takes a second adapter that can send")
        }
    }

    /// Seconds with one digit behind the point.
    private static func seconds(_ duration: Duration) -> String {
        let tenths = Int(duration / .milliseconds(100))
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension Optional {
    fileprivate func asyncMap<Result>(_ transform: (Wrapped) async throws -> Result) async rethrows -> Result? {
        guard let self else { return nil }
        return try await transform(self)
    }
}
