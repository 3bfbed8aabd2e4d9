// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

extension BlueZLink {
    /// Longest time looked for what an adapter's going off was the beginning of.
    static let closeTimeout = Duration.seconds(1)
    private static let pause = Duration.milliseconds(100)

    /// What an adapter's going off comes from.
    ///
    /// bluetoothd switches its adapters off before it ends, and an adapter that is unplugged goes off before it is
    /// gone; the remedy for an adapter that is off would then be a wrong one.
    ///
    /// - Returns: that the service or the adapter is gone, if either is within a second; else `error`, at once
    ///   where it is another one.
    func cause(behind error: any Error) async -> any Error {
        guard let off = error as? RadioError, off == .adapterOff(adapter) else { return error }
        return await cause(behind: off)
    }

    /// What an adapter's going off comes from; see above.
    func cause(behind error: RadioError) async -> RadioError {
        guard error == .adapterOff(adapter) else { return error }
        let end = ContinuousClock.now + Self.closeTimeout
        while ContinuousClock.now < end {
            do throws(BusError) {
                let powered = try await connection.call(
                    owner,
                    adapter.path,
                    BusNames.properties,
                    "Get",
                    [.string(BlueZ.adapter), .string("Powered")],
                    timeout: BlueZ.cleanUpPatience
                )
                if powered.first?.flag == true { return error }
            } catch {
                let worse: [RadioError] = [.bluetoothServiceGone, .adapterNotFound(adapter)]
                let meaning = RadioError(error, adapter: adapter)
                return worse.contains(meaning) ? meaning : .adapterOff(adapter)
            }
            guard (try? await Task.sleep(for: Self.pause)) != nil else { break }
        }
        return error
    }
}
