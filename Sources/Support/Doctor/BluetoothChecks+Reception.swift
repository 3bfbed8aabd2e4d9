// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridPrimitives
internal import HybridSession
internal import HybridThreads

extension BluetoothChecks {
    /// Checks if the radio receives adverts.
    ///
    /// If another adapter can advertise, it sends a test advert, because there may be no other devices nearby.
    func checkReception(with radio: BluetoothRadio, _ others: [RadioInspection.Adapter]) async throws {
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
        let advert = Self.randomAdvert()
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
    struct ScannerFailure: Error { let cause: RadioError }

    static func awaitAdvert(
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
                "\(name) receives nothing in \(time) s, not even what \(other) sends next to it",
                remedy: "try --adapter \(other); unplug \(name) and plug it in again, or see journalctl -u bluetooth"
            )
        }
        return DoctorFinding(
            .hearing,
            .warning,
            "\(name) received nothing in \(time) s",
            remedy: "perhaps no device is near; otherwise check the antenna, or see journalctl -u bluetooth"
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
                remedy: "one of the two does not work properly; try the other with --adapter"
            )
        case .notSent(let error)?: DoctorFinding(.ownAdvert, .warning, error)
        case nil: DoctorFinding(.ownAdvert, .skipped, "not checked: needs a second adapter that can send")
        }
    }
}
