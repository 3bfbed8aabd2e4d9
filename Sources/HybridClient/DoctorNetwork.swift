// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCaBLE
internal import HybridDataChannel
internal import HybridSession

/// The doctor's checks of the network: the proxy, the relays, and by what they say the clock.
struct DoctorNetwork {
    /// The relay that must work; without one, one of the vendors' must.
    let relay: TunnelDomain?
    let route: RelayRoute
    let budget: DoctorTime

    /// By how many seconds clocks may differ.
    private static let tolerance = 300

    /// A relay, and what asking it came to.
    private struct Visit: Sendable {
        let domain: TunnelDomain
        let probe: RelayProbe
        /// The same with the system's authorities, where others are named.
        let withSystemTrust: RelayProbe?

        /// Whether somebody on the way opens TLS: a vendor's certificate is not from the system's authorities either.
        ///
        /// `nil` where they were not asked with success, and for other relays.
        var isIntercepted: Bool? {
            guard domain.isAssigned else { return nil }
            let judgement = withSystemTrust ?? (namesAuthorities ? nil : probe)
            guard let judgement else { return nil }
            guard let failure = judgement.failure else { return false }
            return failure.isDistrust ? true : nil
        }
        /// Whether `probe` trusted other authorities than the system's.
        let namesAuthorities: Bool
    }

    /// Makes the checks.
    func examine() async throws -> [DoctorFinding] {
        // The vendors' relays: Google's and Apple's.
        let vendors = [0, 1].compactMap { TunnelDomain(id: $0) }
        let domains = (relay.map { [$0] } ?? []) + vendors.filter { $0 != relay }
        let visits = try await withThrowingTaskGroup(of: (Int, Visit).self) { group in
            for (index, domain) in domains.enumerated() {
                group.addTask { (index, try await visit(domain)) }
            }
            return try await group.reduce(into: [(Int, Visit)]()) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
        let anyVendorWorks = visits.contains { $0.domain.isAssigned && $0.probe.failure == nil }
        let relays = visits.map { visit in
            finding(visit, isNeeded: relay.map { $0 == visit.domain } ?? !anyVendorWorks)
        }
        return [proxy()] + relays + [clock(visits)]
    }

    private func proxy() -> DoctorFinding {
        do {
            return DoctorFinding(.proxy, .fine, try route.proxies.namedProxy().map { "\($0) is set" } ?? "none is set")
        } catch {
            // Whether that matters is up to NO_PROXY; the relays tell.
            return DoctorFinding(.proxy, .warning, error)
        }
    }

    private func visit(_ domain: TunnelDomain) async throws -> Visit {
        var location = route.location(of: domain)
        location.timeouts.connect = budget.relay
        location.timeouts.open = budget.relay
        let probe = try await probe(location)
        var second: RelayProbe?
        // The vendors' certificates are public ones: whether somebody stands between shows by who else trusts them.
        if location.trustedCertificates != nil, domain.isAssigned, probe.wasShownCertificate {
            location.trustedCertificates = nil
            second = try await self.probe(location)
        }
        return Visit(
            domain: domain,
            probe: probe,
            withSystemTrust: second,
            namesAuthorities: route.location(of: domain).trustedCertificates != nil
        )
    }

    private func probe(_ location: RelayEndpoint) async throws -> RelayProbe {
        try await RelayProbe.run(at: location, until: budget.end)
    }

    private func finding(_ visit: Visit, isNeeded: Bool) -> DoctorFinding {
        let probe = visit.probe
        let certificate = probe.hosts.first?.certificate
        var finding: DoctorFinding
        if let failure = probe.failure {
            if failure.isDistrust, visit.withSystemTrust?.failure == nil, visit.withSystemTrust != nil {
                finding = DoctorFinding(
                    .relay,
                    isNeeded ? .failed : .warning,
                    "its certificate is trusted by the system's authorities, not by those of --cacert",
                    remedy: "leave --cacert out for phones that use this relay"
                )
                finding.isIntercepted = false
            } else {
                finding = DoctorFinding(.relay, isNeeded ? .failed : .warning, failure)
                if failure.isDistrust { finding.isIntercepted = visit.isIntercepted }
            }
        } else {
            var parts = ["answers (HTTP \(probe.status))"]
            if let issuer = certificate?.issuer { parts.append("certificate by \"\(issuer)\"") }
            if visit.domain.isAssigned {
                switch visit.isIntercepted {
                case true?: parts.append("TLS is opened on the way, as --cacert allows")
                case false?: break
                case nil: parts.append("whether TLS is opened on the way is not known")
                }
                finding = DoctorFinding(.relay, .fine, (parts + Self.way(probe)).joined(separator: ", "))
                finding.isIntercepted = visit.isIntercepted
            } else {
                finding = DoctorFinding(.relay, .fine, (parts + Self.way(probe)).joined(separator: ", "))
            }
        }
        finding.subject = visit.domain.host
        finding.issuer = certificate?.issuer
        return finding
    }

    /// How it was reached.
    private static func way(_ probe: RelayProbe) -> [String] {
        var parts: [String] = []
        if let proxy = probe.hosts.first?.proxy {
            parts.append("through the proxy \(proxy)")
        } else if let addresses = probe.hosts.first?.addresses, !addresses.isEmpty {
            parts.append("at " + addresses.prefix(4).joined(separator: " "))
        }
        if !probe.redirects.isEmpty { parts.append("sent on to " + probe.redirects.map(\.to).joined(separator: ", ")) }
        return parts
    }

    /// By the time that relays tell whose certificates are trusted, else by whether certificates are valid now.
    private func clock(_ visits: [Visit]) -> DoctorFinding {
        let now = time(nil)
        let trusted = visits.filter { $0.probe.failure == nil }
        let told = trusted.lazy.compactMap { visit in
            visit.probe.hosts.compactMap(\.date).last.map { (host: visit.domain.host, date: $0) }
        }
        if let (host, date) = told.first {
            let difference = now - date
            guard abs(difference) > Self.tolerance else {
                return DoctorFinding(.clock, .fine, "differs by \(abs(difference)) s from that of \(host)")
            }
            return DoctorFinding(
                .clock,
                .warning,
                "is \(Self.span(abs(difference))) \(difference > 0 ? "ahead of" : "behind") that of \(host)",
                remedy: "set it: timedatectl set-ntp true"
            )
        }
        if let wrong = visits.first(where: { $0.probe.failure?.isAboutTime ?? false }) {
            return DoctorFinding(
                .clock,
                .warning,
                "is outside the time for which the certificate for \(wrong.domain.host) is valid",
                remedy: "if that is not the certificate's fault, set the clock: timedatectl set-ntp true"
            )
        }
        guard let good = trusted.first(where: { $0.probe.wasShownCertificate }) else {
            return DoctorFinding(.clock, .skipped, "not looked at: no relay answered")
        }
        return DoctorFinding(
            .clock,
            .fine,
            "is within the time for which the certificate for \(good.domain.host) is valid"
        )
    }

    private static func span(_ seconds: Int) -> String {
        seconds < 2 * 3600
            ? "\(seconds / 60) minutes" : seconds < 48 * 3600 ? "\(seconds / 3600) hours" : "\(seconds / 86_400) days"
    }
}

extension RelayProbe {
    fileprivate var failure: TunnelError? { if case .failed(let error) = ending { error } else { nil } }
    fileprivate var status: Int { if case .answered(let status) = ending { status } else { 0 } }
    fileprivate var wasShownCertificate: Bool { hosts.contains { $0.certificate != nil } }
}

extension TunnelError {
    /// Whether a certificate was shown that nobody here vouches for.
    fileprivate var isDistrust: Bool {
        switch self {
        case .certificateNotTrusted, .certificateSelfSigned: true
        default: false
        }
    }

    fileprivate var isAboutTime: Bool {
        switch self {
        case .certificateExpired, .certificateNotYetValid: true
        default: false
        }
    }
}
