// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
package import HybridNetwork
internal import HybridPrimitives

/// The network checks of `doctor`: the proxy, the relays, and the clock, which is compared with that of the relays.
package struct RelayChecks: Sendable {
    /// The relay that must work; `nil` if one of the others must work.
    private let required: TunnelDomain?
    /// Relays that are checked, too.
    private let others: [TunnelDomain]
    private let network: NetworkConfiguration
    private let budget: TimeBudget
    /// The remedy if only the system's authorities trust a relay.
    private let remedyForDistrust: String

    /// The tolerated difference between clocks, in seconds.
    private static let tolerance = 300

    /// A relay and its response to a request.
    private struct Result: Sendable {
        let domain: TunnelDomain
        let probe: RelayProbe
        /// The result of a second request that trusts the system's authorities instead of the configured ones.
        let systemProbe: RelayProbe?
        /// True if `probe` did not trust the system's authorities.
        let usesOwnAuthorities: Bool

        /// True if TLS is intercepted; `nil` if that is unknown.
        ///
        /// TLS is intercepted if none of the system's authorities has issued the certificate of a vendor's relay. For
        /// other relays this cannot be determined.
        var isIntercepted: Bool? {
            guard domain.isAssigned else { return nil }
            guard let evidence = systemProbe ?? (usesOwnAuthorities ? nil : probe) else { return nil }
            guard let failure = evidence.failure else { return false }
            return failure.isDistrust ? true : nil
        }
    }

    /// Creates the checks.
    ///
    /// - Parameters:
    ///   - required: The relay that must work; `nil` if one of the others must work.
    ///   - others: Relays that are checked, too.
    ///   - network: The settings for all relays.
    ///   - budget: The time limit.
    ///   - remedyForDistrust: The remedy if only the system's authorities trust a relay, not those of `--cacert`.
    package init(
        required: TunnelDomain?,
        others: [TunnelDomain],
        network: NetworkConfiguration,
        budget: TimeBudget,
        remedyForDistrust: String
    ) {
        (self.required, self.others) = (required, others.filter { $0 != required })
        (self.network, self.budget, self.remedyForDistrust) = (network, budget, remedyForDistrust)
    }

    /// Performs the checks.
    package func run() async throws -> [DoctorFinding] {
        let domains = (required.map { [$0] } ?? []) + others
        let results = try await withThrowingTaskGroup(of: Result.self) { group in
            for domain in domains { group.addTask { try await probe(domain) } }
            let unordered: [Result] = try await group.reduce(into: []) { $0.append($1) }
            return domains.compactMap { domain in unordered.first { $0.domain == domain } }
        }
        let anyWorks = results.contains { $0.probe.failure == nil }
        let relays = results.map { result in
            finding(result, isRequired: required.map { $0 == result.domain } ?? !anyWorks)
        }
        let authorities = [Self.authorities(unusable: TrustAnchors.unusableInSystem)].compactMap(\.self)
        return [proxy()] + authorities + relays + [clock(results)]
    }

    /// Returns a finding about certificates in the system's list that cannot be used; `nil` if there are none.
    static func authorities(unusable: UnusableAuthorities?) -> DoctorFinding? {
        guard let unusable else { return nil }
        let shown = unusable.entries.prefix(4).map { entry in
            entry.name.map { "\(SafeText(quoting: $0)) (certificate \(entry.number), line \(entry.line))" }
                ?? "certificate \(entry.number) (line \(entry.line)), which is damaged"
        }
        let rest = unusable.entries.count - shown.count
        return DoctorFinding(
            .authorities,
            .warning,
            "\(unusable.file) has certificates that can't be parsed and are not trusted: "
                + shown.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : ""),
            remedy: "replace each with a valid certificate (X.509 version 3), or remove it"
        )
    }

    private func proxy() -> DoctorFinding {
        do {
            return DoctorFinding(
                .proxy,
                .fine,
                try network.proxies.namedProxy().map { "\($0) is set" } ?? "none is set"
            )
        } catch {
            // NO_PROXY may exclude the relays; their checks show that.
            return DoctorFinding(.proxy, .warning, error)
        }
    }

    private func probe(_ domain: TunnelDomain) async throws -> Result {
        var endpoint = RelayEndpoint(domain: domain, network: network)
        endpoint.network.timeouts.connect = budget.relay
        endpoint.network.timeouts.open = budget.relay
        let probe = try await RelayProbe.run(at: endpoint, until: budget.end)
        let usesOwnAuthorities = network.trustedCertificates != nil
        var systemProbe: RelayProbe?
        // The vendors' certificates come from public authorities, so any other issuer indicates interception.
        if usesOwnAuthorities, domain.isAssigned, probe.hasCertificate {
            endpoint.network.trustedCertificates = nil
            systemProbe = try await RelayProbe.run(at: endpoint, until: budget.end)
        }
        return Result(domain: domain, probe: probe, systemProbe: systemProbe, usesOwnAuthorities: usesOwnAuthorities)
    }

    private func finding(_ result: Result, isRequired: Bool) -> DoctorFinding {
        let state = isRequired ? DoctorFinding.State.failed : .warning
        let issuer = result.probe.hosts.first?.certificate?.issuer
        var finding: DoctorFinding
        switch result.probe.failure {
        case nil:
            finding = DoctorFinding(.relay, .fine, Self.summary(result, issuer).joined(separator: ", "))
            finding.isIntercepted = result.isIntercepted
        case let failure? where failure.isDistrust && result.systemProbe.map { $0.failure == nil } ?? false:
            finding = DoctorFinding(
                .relay,
                state,
                "its certificate is trusted by the system's authorities, not by those of --cacert",
                remedy: remedyForDistrust
            )
            finding.isIntercepted = false
        case let failure?:
            finding = DoctorFinding(.relay, state, failure)
            if failure.isDistrust { finding.isIntercepted = result.isIntercepted }
        }
        finding.subject = result.domain.host
        finding.issuer = issuer
        return finding
    }

    private static func summary(_ result: Result, _ issuer: String?) -> [String] {
        let probe = result.probe
        var parts = ["responds (HTTP \(probe.status))"]
        if let issuer { parts.append("certificate by \(SafeText(quoting: issuer))") }
        if result.domain.isAssigned {
            switch result.isIntercepted {
            case true?: parts.append("TLS is intercepted, as --cacert allows")
            case false?: break
            case nil: parts.append("whether TLS is intercepted is not known")
            }
        }
        if let proxy = probe.hosts.first?.proxy {
            parts.append("through the proxy \(proxy)")
        } else if let addresses = probe.hosts.first?.addresses, !addresses.isEmpty {
            parts.append("at " + addresses.prefix(4).joined(separator: " "))
        }
        if !probe.redirects.isEmpty {
            parts.append("redirected to " + probe.redirects.map(\.to).joined(separator: ", "))
        }
        return parts
    }

    /// Compares the clock with that of a trusted relay, or otherwise with the validity period of a certificate.
    private func clock(_ results: [Result]) -> DoctorFinding {
        let now = time(nil)
        let trusted = results.filter { $0.probe.failure == nil }
        let dates = trusted.lazy.compactMap { result in
            result.probe.hosts.compactMap(\.date).last.map { (host: result.domain.host, date: $0) }
        }
        if let (host, date) = dates.first {
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
        if let invalid = results.first(where: { $0.probe.failure?.isOutsideValidity ?? false }) {
            return DoctorFinding(
                .clock,
                .warning,
                "is outside the validity of the certificate for \(invalid.domain.host)",
                remedy: "unless the certificate is at fault, set the clock: timedatectl set-ntp true"
            )
        }
        guard let valid = trusted.first(where: { $0.probe.hasCertificate }) else {
            return DoctorFinding(.clock, .skipped, "not checked: no relay responded")
        }
        return DoctorFinding(.clock, .fine, "is within the validity of the certificate for \(valid.domain.host)")
    }

    private static func span(_ seconds: Int) -> String {
        seconds < 2 * 3600
            ? "\(seconds / 60) minutes" : seconds < 48 * 3600 ? "\(seconds / 3600) hours" : "\(seconds / 86_400) days"
    }
}

extension RelayProbe {
    fileprivate var failure: TunnelError? { if case .failed(let error) = ending { error } else { nil } }
    fileprivate var status: Int { if case .answered(let status) = ending { status } else { 0 } }
    fileprivate var hasCertificate: Bool { hosts.contains { $0.certificate != nil } }
}

extension TunnelError {
    /// True if no trusted authority issued the certificate.
    fileprivate var isDistrust: Bool { ["certificate-not-trusted", "certificate-self-signed"].contains(code) }

    fileprivate var isOutsideValidity: Bool { ["certificate-expired", "certificate-not-yet-valid"].contains(code) }
}
