// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDBus
internal import HybridDesktopPortal
internal import HybridDoctor
internal import HybridPhoneLinks
internal import HybridPrimitives

/// The checks of push messages, which wake this device without a connection to a relay.
///
/// They only warn, because links can use connections instead.
struct PushChecks: Sendable {
    /// True if new links use push messages.
    let isOn: Bool
    /// The distributor that the user has chosen.
    let distributor: String?
    /// The relay for new links.
    let domain: TunnelDomain?
    let links: LinkedComputerChecks
    let budget: TimeBudget

    /// Looks for the distributor on the session bus, without starting it.
    func service() async throws -> DoctorFinding {
        guard isOn || links.links.contains(where: { $0.push != nil }) else {
            return DoctorFinding(.pushService, .skipped, "not checked: the setting push is off, and no link needs it")
        }
        let address = SessionBus.address(ProcessEnvironment.variables)
        return try await DoctorFinding.within(budget, .pushService, orElse: .warning) {
            do {
                let name = try await PushService.distributor(distributor, on: address)
                return DoctorFinding(.pushService, .fine, "\(name) is on the session bus")
            } catch let failure as PushFailure {
                return DoctorFinding(.pushService, .warning, failure)
            }
        }
    }

    /// Reports the subscription in reserve.
    func subscription() -> DoctorFinding {
        guard isOn else { return DoctorFinding(.pushSubscription, .skipped, "not checked: the setting push is off") }
        let prepare = "start hybrid-auth listen, which prepares one"
        guard let reserve = links.reserve else {
            return warning("there is none, so the next link would need a connection", prepare)
        }
        guard reserve.domain == domain else {
            return warning("the spare subscription is for the relay \(reserve.domain.host)", prepare)
        }
        guard let sealed = reserve.registration.sealed else {
            return warning(
                "one is registered, but the relay has not sealed its address",
                "see journalctl --user -u hybrid-auth-listen"
            )
        }
        let now = WallClock.realtime.now()
        guard reserve.registration.isUsable(at: now + PushService.minimumLifetime) else {
            return warning("the spare subscription has expired or will expire soon", prepare)
        }
        let days = (sealed.expiry - now) / 86_400
        return DoctorFinding(
            .pushSubscription,
            .fine,
            "one is ready at \(reserve.domain.host) for the next link, for \(days) days"
        )
    }

    private func warning(_ found: String, _ remedy: String) -> DoctorFinding {
        DoctorFinding(.pushSubscription, .warning, found, remedy: remedy)
    }
}
