// SPDX-License-Identifier: Apache-2.0

/// How a relay is looked at.
public struct CheckOptions: Sendable {
    /// How long each check may take.
    public var timeout: Duration = .seconds(10)
    /// How long a check waits for what a relay with the fault never sends, if not for ``timeout``.
    ///
    /// A client whose phone has gone must be told within ten seconds however long the relay may otherwise take.
    public var patience: [CheckID: Duration] = [.cutByClient: .seconds(10), .cutByPhone: .seconds(10)]
    /// Whether to wait for the relay to lose patience with half a request.
    public var isSlow = false
    /// Whether the relay serves linked phones, so that 410 is its answer about one it does not know.
    public var offersContact = false
    /// A file of certificates (PEM) trusted instead of the system's, as curl's `--cacert`.
    public var trustedCertificates: String?
    /// The variables of the environment, of which those count that name proxies; only connections with TLS go by one.
    public var environment: [String: String] = [:]
    /// A detour, as curl's `--connect-to`; `Host` and certificate checks stay those of the relay's name.
    public var detour: RelayDetour?
    /// Sent with each `/cable/new`, and only over connections whose certificate is right.
    public var token: TunnelToken?

    /// The usual ones.
    public init() {}

    /// How long a check waits for what may never come.
    func patience(of id: CheckID) -> Duration { patience[id] ?? timeout }
}

/// Why no check could be made at all.
public enum CheckFailure: Error, Hashable, Sendable {
    /// Name look-up or TCP failed.
    case unreachable(String)
    /// A variable names no proxy that can be used; its value is not shown.
    case proxyUnusable(variable: String)
    /// The file of trusted certificates has none, or can't be read.
    case certificatesUnusable(String)
}
