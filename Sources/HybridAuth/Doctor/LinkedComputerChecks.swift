// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDBus
internal import HybridDesktopPortal
internal import HybridDoctor
internal import HybridPhoneLinks
internal import HybridPrimitives
internal import HybridProgram

/// The checks of linked computers, and of the service that waits for them.
struct LinkedComputerChecks: Sendable {
    /// The links.
    let links: [StoredPhoneLink]
    /// The push subscription for the next link.
    let reserve: PushReserve?
    /// A sentence for each damaged file.
    private let damaged: [String]
    /// The failure to read them, if any.
    private let failure: CommandFailure?

    private static let unit = "hybrid-auth-listen"
    /// systemd's name on the bus (org.freedesktop.systemd1(5)).
    private static let manager = (name: "org.freedesktop.systemd1", path: "/org/freedesktop/systemd1")

    /// Reads the links.
    init() {
        do throws(CommandFailure) {
            let path = try PhoneLinkStore.defaultPath(ProcessEnvironment.variables)
            // Opening the store would create the folder.
            let store = access(path, F_OK) == 0 ? try PhoneLinkStore(path: path) : nil
            let contents = try store?.contents()
            let reserve = try store?.reserve()
            (links, self.reserve) = (contents?.links ?? [], reserve)
            (damaged, failure) = (contents?.damaged ?? [], nil)
        } catch {
            (links, reserve, damaged, failure) = ([], nil, [], error)
        }
    }

    /// The relays of the links, each once.
    var relays: [TunnelDomain] {
        links.map(\.domain).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// The findings about the links, and about each damaged file.
    var findings: [DoctorFinding] {
        if let failure { return [DoctorFinding(.linkedComputers, .warning, failure)] }
        let now = WallClock.realtime.now()
        let names = links.map { record in
            let state = LinkText.state(record)
            let mute = state.hasPrefix("muted") ? " (\(state.replacing("-", with: " ")))" : ""
            let reach = record.isUnreachable(at: now) ? " (unreachable; link it again)" : ""
            return "\(SafeText(quoting: record.label))\(mute)\(reach)"
        }
        let found = names.isEmpty ? "there are none" : names.joined(separator: ", ")
        return [DoctorFinding(.linkedComputers, .fine, found)]
            + damaged.map { DoctorFinding(.linkedComputers, .warning, $0) }
    }

    /// Asks the user's systemd for the state of the service.
    func service(_ budget: TimeBudget) async throws -> DoctorFinding {
        guard !links.isEmpty else {
            return DoctorFinding(.linkService, .skipped, "not checked: no computer is linked")
        }
        guard let address = SessionBus.address(ProcessEnvironment.variables) else {
            return DoctorFinding(.linkService, .skipped, "not checked: there is no session bus")
        }
        return try await DoctorFinding.within(budget, .linkService, orElse: .warning) {
            do throws(BusError) {
                let (state, status) = try await Self.state(on: address)
                return Self.finding(state, status)
            } catch .cancelled {
                throw CancellationError()
            } catch {
                return DoctorFinding(.linkService, .skipped, "not checked: systemd does not manage this session")
            }
        }
    }

    private static func finding(_ state: String, _ status: String) -> DoctorFinding {
        if ["active", "activating", "reloading"].contains(state) {
            guard !status.isEmpty else { return DoctorFinding(.linkService, .fine, "\(unit) is \(state)") }
            return DoctorFinding(
                .linkService,
                .warning,
                "\(unit) is \(state); \(status)",
                remedy: "let the proxy or balancer keep connections of 11 minutes, see docs/networks.md"
            )
        }
        return DoctorFinding(
            .linkService,
            .warning,
            "\(unit) is \(state), so linked computers can't reach this device",
            remedy: state == "failed"
                ? "see journalctl --user -u \(unit)" : "run: systemctl --user enable --now \(unit)"
        )
    }

    /// Returns the active state of the service, such as `active` or `inactive`, and its last sentence; empty if it had
    /// nothing to report.
    private static func state(on address: BusAddress) async throws(BusError) -> (state: String, status: String) {
        try await BusConnection.with(address) { connection throws(BusError) in
            let reply = try await connection.call(
                manager.name,
                manager.path,
                "\(manager.name).Manager",
                "LoadUnit",
                [.string("\(unit).service")]
            )
            guard case .objectPath(let path)? = reply.first else { throw .malformed("no unit") }
            func text(_ interface: String, _ property: String) async throws(BusError) -> String {
                let names: [BusValue] = [.string("\(manager.name).\(interface)"), .string(property)]
                let value = try await connection.call(manager.name, path, BusNames.properties, "Get", names)
                guard case .variant(.string(let text))? = value.first else { throw .malformed("no \(property)") }
                return text
            }
            return (try await text("Unit", "ActiveState"), try await text("Service", "StatusText"))
        }
    }
}
