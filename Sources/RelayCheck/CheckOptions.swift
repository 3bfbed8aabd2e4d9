// SPDX-License-Identifier: Apache-2.0

/// How a relay is looked at.
public struct CheckOptions: Sendable {
    /// How long each check may take.
    public var timeout: Duration = .seconds(10)
    /// How soon an end must be told that the other's connection broke.
    public var cutTime: Duration = .seconds(10)
    /// Whether to wait for the relay to lose patience with half a request.
    public var isSlow = false
    /// Whether the relay serves linked phones, so that 410 is its answer about one it does not know.
    public var offersContact = false
    /// A file of certificates (PEM) trusted instead of the system's, as curl's `--cacert`.
    public var trustedCertificates: String?
    /// A detour, as curl's `--connect-to`; `Host` and certificate checks stay those of the relay's name.
    public var detour: RelayDetour?

    /// The usual ones.
    public init() {}
}

/// Why no check could be made at all.
public enum CheckFailure: Error, Hashable, Sendable {
    /// Name look-up or TCP failed.
    case unreachable(String)
    /// The file of trusted certificates has none, or can't be read.
    case certificatesUnusable(String)
}
