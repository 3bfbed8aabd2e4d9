// SPDX-License-Identifier: Apache-2.0

public import HybridDataChannel
public import HybridPrimitives

/// Options of a check run.
public struct CheckOptions: Sendable {
    /// Time limit of each check.
    public var timeout: Duration = .seconds(10)
    /// Time that a check waits for a reaction that a faulty relay never shows, if it differs from ``timeout``.
    ///
    /// A client whose authenticator has disappeared must learn it within ten seconds, however slow the relay may
    /// otherwise be.
    public var reactionTimeouts: [CheckID: Duration] = [.cutByClient: .seconds(10), .cutByPhone: .seconds(10)]
    /// True to wait until the relay times out half a request.
    public var isSlow = false
    /// True if the relay serves linked authenticators, so that 410 is its answer about one it does not know.
    public var offersContact = false
    /// A file of certificates (PEM) trusted instead of the system's, as curl's `--cacert`.
    public var trustedCertificates: String?
    /// The process environment, whose proxy variables apply to connections with TLS.
    public var environment: [String: String] = [:]
    /// An override of the relay's address, as curl's `--connect-to`; `Host` and certificate checks keep the relay's
    /// name.
    public var connectTo: ConnectTo?
    /// The token sent with each `/cable/new`, only over connections with a valid certificate.
    public var token: BearerToken?

    /// Creates the default options.
    public init() {}

    /// Returns the time that a check waits for a reaction that may never come.
    func reactionTimeout(of id: CheckID) -> Duration { reactionTimeouts[id] ?? timeout }
}
