// SPDX-License-Identifier: Apache-2.0

package import HybridNetwork
internal import NIOCore

/// A prober that signs in through a relay as a phone and a client do, again and again, but without radio and passkey.
///
/// Unlike `RelayChecker`, it does nothing that is forbidden to phones and clients. Each sign-in makes two connections and
/// sends some 10 KB.
package struct SignInProber: Sendable {
    private let relay: RelayAddress
    private let options: CheckOptions
    /// Created once, because the system's certificates take memory and time.
    private let tls: ClientTLS?

    /// Creates a prober of one relay.
    ///
    /// - Throws: A `NetworkError` if the certificates to trust can't be read.
    package init(relay: RelayAddress, options: CheckOptions = CheckOptions()) throws(NetworkError) {
        (self.relay, self.options) = (relay, options)
        tls = relay.isSecure ? try ClientTLS(trustedCertificates: options.trustedCertificates) : nil
    }

    /// Signs in once, within the time limit of the options.
    ///
    /// - Throws: A `NetworkError` if the variables of the proxy are invalid.
    package func signIn() async throws(NetworkError) -> SignInReport {
        // The certificate is always verified, because phones and clients do so.
        let run = try CheckRun(relay: relay, options: options, strict: tls, lenient: tls)
        run.deadline = .now() + TimeAmount(options.timeout)
        var report = await run.signIn()
        if let failure = report.failure {
            report.failure?.reason = CheckOutcome.differs(failure.reason).hiding(options.token).found
        }
        await run.closeUnshared()
        return report
    }
}
