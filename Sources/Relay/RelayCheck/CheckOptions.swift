// SPDX-License-Identifier: Apache-2.0

package import HybridNetwork
package import HybridPrimitives

/// Options of a check run.
package struct CheckOptions: Sendable {
    /// Time limit of each check.
    package var timeout: Duration = .seconds(10)
    /// Times that checks wait for a reaction, if they differ from ``timeout``; a faulty relay may never react.
    ///
    /// If an authenticator disconnects, its client must learn that within ten seconds, even if the relay is otherwise
    /// allowed to be slower.
    /// A relay holds a contact for eight seconds before it reports that the phone is not there.
    package var reactionTimeouts: [CheckID: Duration] = [
        .cutByClient: .seconds(10), .cutByPhone: .seconds(10), .contactNoPhone: .seconds(20),
    ]
    /// True to wait until the relay times out an incomplete request.
    package var isSlow = false
    /// True if the relay serves linked authenticators, so that 410 is the correct status for an unknown one.
    package var offersContact = false
    /// Path of a PEM file of certificates to trust instead of the system's, like curl's `--cacert`.
    package var trustedCertificates: String?
    /// The process environment, whose proxy variables apply to connections with TLS.
    package var environment: [String: String] = [:]
    /// An override of the relay's address, like curl's `--connect-to`.
    ///
    /// `Host` and the check of the certificate still use the relay's name.
    package var connectTo: ConnectTo?
    /// The same for the client's end of a sign-in, so that the ends of a prober can arrive in different regions.
    package var clientConnectTo: ConnectTo?
    /// The host that linked phones name in their signatures; the relay's own host if `nil`.
    package var contactHost: String?
    /// The token sent with each `/cable/new` and `/cable/listen`, only over connections with a valid certificate.
    package var token: BearerToken?

    /// Creates the default options.
    package init() {}

    /// Returns the time that a check waits for a reaction that may never come.
    func reactionTimeout(of id: CheckID) -> Duration { reactionTimeouts[id] ?? timeout }
}
