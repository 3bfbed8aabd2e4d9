// SPDX-License-Identifier: Apache-2.0

package import HybridDBus

/// Notifications of logind that the computer has resumed from suspend.
///
/// While it was suspended, the relay may have closed the connections without notice.
package enum ResumeObserver {
    static let member = "PrepareForSleep"

    /// Calls `resumed` after each resume, until the bus ends the connection or the task is canceled.
    ///
    /// - Throws: `BusError`.
    package static func observe(
        on address: BusAddress = .system,
        _ resumed: @Sendable () -> Void
    ) async throws(BusError) {
        try await Logind.observe([member], on: address) { _, signal throws(BusError) in
            // False: the suspend is over.
            if signal.body.first?.flag == false { resumed() }
        }
    }
}
