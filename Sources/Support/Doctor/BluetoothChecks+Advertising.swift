// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridPrimitives
internal import HybridThreads

extension BluetoothChecks {
    /// Returns an advert of random bytes, which no client can decrypt.
    static func randomAdvert() -> Advert {
        let bytes = [UInt8].random(Advert.length)
        guard let advert = Advert(serviceData: bytes) else { preconditionFailure("20 bytes are an advert") }
        return advert
    }

    /// Checks if the radio sends adverts; another adapter that is on scans for them.
    func checkAdvertising(with radio: BluetoothRadio, _ others: [RadioInspection.Adapter]) async throws {
        let advert = Self.randomAdvert()
        do {
            try await radio.withAdvert(advert) { _ in
                report(DoctorFinding(.advertising, .fine, "\(radio.adapter) may advertise"))
                guard let receiver = others.first?.name else {
                    let reason = "not checked: needs a second adapter that is on"
                    return report(DoctorFinding(.ownAdvert, .skipped, reason))
                }
                report(try await reception(of: advert, from: radio.adapter, by: receiver))
            }
        } catch let error as RadioError {
            fail(.advertising, error, skippingRest: "advertising failed")
        }
    }

    /// Scans with another adapter until it receives the advert.
    ///
    /// - Throws: `CancellationError`.
    private func reception(
        of advert: Advert,
        from sender: AdapterName,
        by receiver: AdapterName
    ) async throws -> DoctorFinding {
        do {
            let scanner = try await BluetoothRadio.open(adapter: receiver, for: .scanner)
            return try await withCleanup {
                await scanner.close()
            } of: {
                let start = ContinuousClock.now
                let isReceived = try await scanner.withScan { adverts in
                    try await Self.awaitAdvert(advert, among: adverts, within: budget.receiving)
                }
                let time = Self.seconds(start.duration(to: .now))
                guard isReceived else {
                    return DoctorFinding(
                        .ownAdvert,
                        .warning,
                        "\(receiver) did not receive what \(sender) sent",
                        remedy: "one of the two does not work properly; try the other with --adapter"
                    )
                }
                return DoctorFinding(.ownAdvert, .fine, "\(receiver) received the advert of \(sender) after \(time) s")
            }
        } catch let failure as ScannerFailure {
            return DoctorFinding(.ownAdvert, .warning, failure.cause)
        } catch let error as RadioError {
            return DoctorFinding(.ownAdvert, .warning, error)
        }
    }
}
