// SPDX-License-Identifier: Apache-2.0

/// Why a tunnel could not be opened, or ended before its work was done; each cause a case of its own, because
/// each has another remedy.
///
/// Hosts are named as a person knows them, with the detour that leads there, if there is one.
public enum TunnelError: Error, Equatable, Sendable {
    // The way to the relay.

    /// The relay's name can't be resolved.
    case hostNotFound(String)
    /// Nothing listens there.
    case connectionRefused(String)
    /// The network does not reach it; the text is the system's.
    case unreachable(host: String, reason: String)
    /// A step took too long.
    case timedOut(host: String, TunnelStage)
    /// The relay, or somebody on the way, hung up in this step.
    case hungUp(host: String, TunnelStage)

    // The proxy on that way, named by host and port.

    /// A variable names no proxy that can be used; its value is not shown.
    case proxySettingUnusable(variable: String, why: ProxySettingFault)
    /// The proxy's name can't be resolved.
    case proxyNotFound(String)
    /// Nothing listens there.
    case proxyConnectionRefused(String)
    /// The network does not reach it; the text is the system's.
    case proxyUnreachable(proxy: String, reason: String)
    /// It did not answer in time.
    case proxySilent(String)
    /// It hung up before it answered.
    case proxyHungUp(String)
    /// It wants to know who asks.
    case proxyWantsAuthentication(String)
    /// It does not take the user and password that it was given.
    case proxyRefusesAuthentication(String)
    /// It opens no way to the relay, and answers with this HTTP status.
    case proxyRefused(proxy: String, status: Int)
    /// Its answer breaks the protocol; the text says how.
    case proxyMisbehaved(proxy: String, how: String)

    // TLS.

    /// The relay's certificate is not signed by a trusted authority; `issuer` is who it says has issued it.
    case certificateNotTrusted(host: String, issuer: String?)
    /// The relay's certificate is signed by nobody but itself.
    case certificateSelfSigned(host: String)
    /// The relay's certificate is no longer valid, by this device's clock.
    case certificateExpired(host: String)
    /// The relay's certificate is not valid yet, by this device's clock.
    case certificateNotYetValid(host: String)
    /// The relay's certificate is for other names.
    case certificateForOtherHost(String)
    /// TLS failed for another reason; the text is the library's.
    case tlsFailed(String)
    /// The file of trusted certificates can't be used.
    case trustAnchorsUnusable(String)

    // The relay's answer.

    /// The relay does not know the tunnel: it expired, is taken, or never was.
    case tunnelNotFound
    /// The relay wants a token, or another one.
    case notAuthorised
    /// The relay is full or shutting down.
    case relayBusy
    /// The relay answered with another HTTP status.
    case refused(status: Int)
    /// The relay sends elsewhere in a way that is not followed.
    case redirectRefused(host: String, RedirectFault)
    /// One relay sends to the next without end; the host is the last that was asked.
    case tooManyRedirects(host: String)
    /// The relay's answer breaks the protocol; the text says how.
    case relayMisbehaved(String)

    // The tunnel.

    /// The other end or the relay closed the tunnel with this code.
    case closed(code: UInt16)
    /// The relay takes no more data.
    case stalled
    /// The connection ended without a word.
    case connectionLost
    /// A message was offered and refused.
    case messageRefused
}

/// The steps of opening a tunnel.
public enum TunnelStage: String, Sendable {
    /// Finding and reaching the relay.
    case connecting
    /// The TLS handshake.
    case securing
    /// The WebSocket request.
    case upgrading
}
