// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridDataChannel
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// Why a check did not get what it waited for.
enum ProbeError: Error, Hashable {
    /// Nothing came in time.
    case timedOut
    /// The relay ended the connection, or it broke.
    case hungUp(String)
    /// What came is not HTTP or not WebSocket, or not what was sent.
    case malformed(String)
    /// No connection was made.
    case unreachable(String)
    /// The certificate is wrong, on a connection where that counts.
    case untrusted(String)
    /// The check needs a tunnel, and there is none.
    case noTunnel(String)
    /// The relay has no room now, or has had enough of us: 429 or 503.
    case busy(Int)
    /// The relay asks for a token on `/cable/new`, 401, though one may have been sent.
    case needsToken(hasSentOne: Bool)
    /// As many connections were made as one run may make.
    case outOfConnections

    init(_ error: any Error) {
        switch error {
        case let error as ProbeError: self = error
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            self = .untrusted("the certificate is for another host")
        case NIOSSLError.uncleanShutdown: self = .hungUp("closed by the relay without TLS's goodbye")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: self = Self.ofTLS("\(error)")
        default: self = .hungUp(Self.words(error))
        }
    }

    /// BoringSSL tells its reasons only as text, in capitals between two marks.
    private static func ofTLS(_ text: String) -> ProbeError {
        let mark = "OPENSSL_internal:"
        let reason =
            text.firstRange(of: mark).map { text[$0.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" } }
        switch reason {
        case "CERTIFICATE_VERIFY_FAILED": return .untrusted("the certificate is not trusted")
        case "WRONG_VERSION_NUMBER", "HTTP_REQUEST": return .hungUp("what answers there is not TLS")
        case "UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION":
            return .hungUp("no version of TLS is spoken that is new enough")
        case let reason?:
            return .hungUp("TLS failed: " + reason.lowercased().replacing("_", with: " "))
        case nil where text.contains("EOF during handshake"): return .hungUp("closed by the relay in TLS's handshake")
        case nil: return .hungUp("TLS failed: \(text.prefix(100))")
        }
    }

    /// What the system or the network library calls an error, for a person.
    static func words(_ error: any Error) -> String {
        switch error {
        case let error as IOError:
            switch error.errnoCode {
            case ECONNRESET: return "reset by the relay"
            case EPIPE: return "closed by the relay"
            default: return String(cString: strerror(error.errnoCode)).lowercased()
            }
        case ChannelError.connectTimeout: return "no answer in time"
        case is ChannelError: return "closed by the relay"
        case let error as NIOConnectionError:
            guard let first = error.connectionErrors.first else { return "\(error.host) was not found" }
            return words(first.error)
        default: return "\(error)"
        }
    }

    /// The same of a connection that was to go through a proxy.
    static func words(_ error: any Error, of way: ProxyRoute) -> String {
        let proxy = "the proxy \(way)"
        switch error {
        case ProbeError.timedOut: return "\(proxy) did not answer in time"
        case let error as TunnelError:
            switch error {
            case .proxyWantsAuthentication: return "\(proxy) wants a user and a password in HTTPS_PROXY"
            case .proxyRefusesAuthentication: return "\(proxy) does not take the user and password in HTTPS_PROXY"
            case .proxyRefused(_, let status): return "\(proxy) does not let through (HTTP status \(status))"
            case .proxyMisbehaved(_, let how): return "\(proxy) broke the protocol: \(how)"
            default: return "\(proxy) hung up before it answered"
            }
        case ChannelError.eof: return "\(proxy) hung up before it answered"
        default: return "\(proxy): \(words(error))"
        }
    }

    /// What it means for a check that had so much time.
    func outcome(after time: Duration) -> CheckOutcome {
        switch self {
        case .timedOut: .differs("nothing within \(time.words)")
        case .hungUp(let why): .differs("the connection ended: \(why)")
        case .malformed(let what): .differs(what)
        case .unreachable(let why): .prevented("no connection: \(why)")
        case .untrusted(let why): .prevented("the token is not sent there: \(why)")
        case .noTunnel(let why): .prevented("no tunnel for it: \(why)")
        case .busy(let status): .prevented("the relay answered \(status): it is full, or limits how often one may come")
        case .needsToken(false): .prevented("the relay wants a token: name its file with --tunnel-token-file")
        case .needsToken(true): .prevented("the relay does not take this token; ask who runs it")
        case .outOfConnections: .prevented("\(CheckRun.connectionLimit) connections were made")
        }
    }

    /// What a tunnel's opening that failed so means for a check that needs the tunnel.
    func asPremise(after time: Duration) -> ProbeError {
        switch self {
        case .timedOut: .noTunnel("nothing within \(time.words)")
        case .hungUp(let why), .malformed(let why): .noTunnel(why)
        case .unreachable, .untrusted, .noTunnel, .busy, .needsToken, .outOfConnections: self
        }
    }
}

extension Duration {
    /// Seconds, with a fraction only if there is one.
    var words: String {
        let milliseconds = components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
        return milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}

extension TimeAmount {
    /// Milliseconds with one decimal.
    var milliseconds: String { "\(Double(nanoseconds / 100_000) / 10) ms" }
}
