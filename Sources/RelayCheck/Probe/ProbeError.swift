// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL

/// Why a check did not get what it waited for.
enum ProbeError: Error, Hashable {
    /// Nothing came in time.
    case timedOut
    /// The relay ended the connection, or it broke.
    case hungUp(String)
    /// What came is not HTTP or not WebSocket.
    case malformed(String)
    /// No connection was made.
    case unreachable(String)
    /// The check needs a tunnel, and there is none.
    case noTunnel(String)
    /// The relay has no room now, or has had enough of us: 429 or 503.
    case busy(Int)
    /// As many connections were made as one run may make.
    case outOfConnections

    init(_ error: any Error) {
        switch error {
        case let error as ProbeError: self = error
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            self = .hungUp("the certificate is for another host")
        case let error as NIOSSLError where "\(error)".contains("CERTIFICATE_VERIFY_FAILED"):
            // BoringSSL reports the reason only as text.
            self = .hungUp("the certificate is not trusted")
        case is NIOSSLError: self = .hungUp("TLS failed: \(error)")
        default: self = .hungUp("\(error)")
        }
    }

    /// What it means for the check.
    var outcome: CheckOutcome {
        switch self {
        case .timedOut: .differs("nothing in time")
        case .hungUp(let why): .differs("the connection ended: \(why)")
        case .malformed(let what): .differs(what)
        case .unreachable(let why): .prevented("no connection: \(why)")
        case .noTunnel(let why): .prevented("no tunnel for it: \(why)")
        case .busy(let status): .prevented("the relay answered \(status): it is full, or limits how often one may come")
        case .outOfConnections: .prevented("\(CheckRun.connectionLimit) connections were made")
        }
    }

    /// What a tunnel's opening that failed so means for a check that needs the tunnel.
    var asPremise: ProbeError {
        switch self {
        case .timedOut: .noTunnel("nothing in time")
        case .hungUp(let why), .malformed(let why): .noTunnel(why)
        case .unreachable, .noTunnel, .busy, .outOfConnections: self
        }
    }
}
