// SPDX-License-Identifier: Apache-2.0

/// Why a tunnel could not be opened, or ended before its work was done; each cause a case of its own, because
/// each has another remedy.
public enum TunnelError: Error, Equatable, Sendable {
    /// The relay's name can't be resolved.
    case hostNotFound(String)
    /// Nothing listens there.
    case connectionRefused(String)
    /// The network does not reach it; the text is the system's.
    case unreachable(host: String, reason: String)
    /// A step took too long.
    case timedOut(TunnelStage)
    /// The relay's certificate is not signed by a trusted authority, or has expired.
    case certificateNotTrusted(host: String)
    /// The relay's certificate is for other names.
    case certificateForOtherHost(String)
    /// TLS failed for another reason; the text is the library's.
    case tlsFailed(String)
    /// The file of trusted certificates can't be used.
    case trustAnchorsUnusable(String)
    /// The relay does not know the tunnel: it expired, is taken, or never was.
    case tunnelNotFound
    /// The relay wants a token, or another one.
    case notAuthorised
    /// The relay is full or shutting down.
    case relayBusy
    /// The relay answered with another HTTP status.
    case refused(status: Int)
    /// The relay's answer breaks the protocol; the text says how.
    case relayMisbehaved(String)
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
