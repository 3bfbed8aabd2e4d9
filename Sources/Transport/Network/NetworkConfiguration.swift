// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives
internal import NIOPosix

/// Network settings that apply to every connection.
public struct NetworkConfiguration: Sendable {
    /// Overrides of addresses, like curl's `--connect-to`; the first that applies is used.
    ///
    /// TLS still checks the certificate against the host's own name.
    public var connectTo: [ConnectTo]
    /// Path of a PEM file of certificates to trust instead of the system's, like curl's `--cacert`.
    public var trustedCertificates: String?
    /// The proxy and the hosts that need none.
    public var proxies: ProxySettings
    /// Time limits of each step.
    public var timeouts = Timeouts()
    /// TLS sessions of earlier connections; `nil` if sessions are not kept and no early data is sent.
    public var sessions: TLSSessions?
    /// Name resolution.
    package var lookup = NameLookup.system
    /// The threads on which names are resolved.
    package var lookupThreads = LookupThreads.shared

    /// Creates a configuration; by default, it uses no proxy and trusts the system's certificates.
    public init(connectTo: [ConnectTo] = [], trustedCertificates: String? = nil, proxies: ProxySettings = .none) {
        self.connectTo = connectTo
        self.trustedCertificates = trustedCertificates
        self.proxies = proxies
    }

    /// Starts the threads that run the connections of this process, unless they run.
    ///
    /// Otherwise the first connection starts them, which takes about two milliseconds.
    public static func startThreads() {
        // The singleton starts its threads when it is created; a lookup starts its own.
        _ = MultiThreadedEventLoopGroup.singleton.next()
    }

    /// Time limits of each step, in seconds; they start again for each host that a server redirects to.
    public struct Timeouts: Sendable {
        /// Limit for name resolution and TCP.
        public var connect = 10
        /// Limit for a proxy's response, TLS and the WebSocket request together.
        public var open = 15

        /// Creates the default limits.
        public init() {}
    }
}
