// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridDataChannel
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// The reason why a check did not get the response that it waited for.
enum ProbeError: Error, Hashable {
    /// The time limit expired.
    case timedOut
    /// The relay closed the connection, or the connection broke.
    case disconnected(String)
    /// The received data is not valid HTTP or WebSocket, or differs from what was sent.
    case malformed(String)
    /// No connection was made.
    case unreachable(String)
    /// The certificate is invalid, on a connection that requires a valid one.
    case untrusted(String)
    /// The check needs a tunnel, and there is none.
    case noTunnel(String)
    /// The relay is full, or limits requests (HTTP status 429 or 503).
    case busy(Int)
    /// The relay requires a token for `/cable/new`, or another one (HTTP status 401).
    case needsToken(hasSentOne: Bool)
    /// The run has made the maximum number of connections.
    case outOfConnections

    init(_ error: any Error) {
        switch error {
        case let error as ProbeError: self = error
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            self = .untrusted("the certificate is for another host")
        case NIOSSLError.uncleanShutdown: self = .disconnected("closed by the relay without a TLS close_notify")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: self = Self.tls("\(error)")
        default: self = .disconnected(Self.words(error))
        }
    }

    /// Returns the error for BoringSSL's text, in which the reason follows a marker, in capital letters.
    private static func tls(_ text: String) -> ProbeError {
        let marker = "OPENSSL_internal:"
        let reason =
            text.firstRange(of: marker).map {
                text[$0.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            }
        switch reason {
        case "CERTIFICATE_VERIFY_FAILED": return .untrusted("the certificate is not trusted")
        case "WRONG_VERSION_NUMBER", "HTTP_REQUEST": return .disconnected("the server does not speak TLS")
        case "UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION":
            return .disconnected("the server supports no recent TLS version")
        case let reason?:
            return .disconnected("TLS failed: " + reason.lowercased().replacing("_", with: " "))
        case nil where text.contains("EOF during handshake"):
            return .disconnected("closed by the relay in the TLS handshake")
        case nil: return .disconnected("TLS failed: \(text.prefix(100))")
        }
    }

    /// Returns the cause of an error of the system or the network library, for users.
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

    /// Returns the cause of a failed connection through a proxy.
    static func words(_ error: any Error, of proxy: HTTPProxy) -> String {
        let name = "the proxy \(proxy)"
        switch error {
        case ProbeError.timedOut: return "\(name) did not answer in time"
        // Without the remedy, which follows the semicolon.
        case let error as TunnelError: return String(error.sentence.prefix { $0 != ";" })
        case ChannelError.eof: return "\(name) closed the connection before it answered"
        default: return "\(name): \(words(error))"
        }
    }

    /// Returns the outcome of a check that failed with this error; `time` is its time limit.
    func outcome(after time: Duration) -> CheckOutcome {
        switch self {
        case .timedOut: .differs("nothing within \(time.words)")
        case .disconnected(let why): .differs("the connection ended: \(why)")
        case .malformed(let what): .differs(what)
        case .unreachable(let why): .prevented("no connection: \(why)")
        case .untrusted(let why): .prevented("the token is not sent to this relay: \(why)")
        case .noTunnel(let why): .prevented("no tunnel could be opened: \(why)")
        case .busy(let status): .prevented("the relay answered \(status): it is full, or limits requests")
        case .needsToken(false): .prevented("the relay requires a token: name its file with --tunnel-token-file")
        case .needsToken(true): .prevented("the relay rejects this token; ask its operator")
        case .outOfConnections: .prevented("\(CheckRun.connectionLimit) connections were made")
        }
    }

    /// Returns the error for a check whose tunnel could not be opened.
    func asPremise(after time: Duration) -> ProbeError {
        switch self {
        case .timedOut: .noTunnel("nothing within \(time.words)")
        case .disconnected(let why), .malformed(let why): .noTunnel(why)
        case .unreachable, .untrusted, .noTunnel, .busy, .needsToken, .outOfConnections: self
        }
    }
}

extension Duration {
    /// The duration in seconds, or in milliseconds if it is not a whole number of seconds.
    var words: String {
        let milliseconds = components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
        return milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}

extension TimeAmount {
    /// The time in milliseconds with one decimal place.
    var milliseconds: String { "\(Double(nanoseconds / 100_000) / 10) ms" }
}
