// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridNetwork
internal import NIOCore
internal import NIOPosix

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
    /// The check needs a phone that waits for wake-ups, and there is none.
    case noListener(String)
    /// The relay serves no linked phones; it answered `/cable/listen` with this status.
    case notOffered(Int)
    /// The relay is full, or limits requests (HTTP status 429 or 503).
    case busy(Int)
    /// The relay requires a token for `/cable/new`, or another one (HTTP status 401).
    case needsToken(hasSentOne: Bool)
    /// The run has made the maximum number of connections.
    case outOfConnections

    init(_ error: any Error) {
        if let error = error as? ProbeError {
            self = error
        } else {
            self = (error as? TLSFailure).map(Self.tls) ?? .disconnected(Self.words(error))
        }
    }

    private static func tls(_ failure: TLSFailure) -> ProbeError {
        switch failure {
        case .certificateNotTrusted:
            .untrusted("the certificate is not trusted; if it is your own, pass it with --cacert")
        case .certificateExpired: .untrusted("the certificate has expired")
        case .certificateNotYetValid: .untrusted("the certificate is not valid yet")
        case .otherHost: .untrusted("the certificate is for another host")
        case .cutOff: .disconnected("closed by the relay in the TLS handshake")
        case .unannouncedEnd: .disconnected("closed by the relay without a TLS close_notify")
        case .notTLS: .disconnected("the server does not speak TLS")
        case .version: .disconnected("the server supports no recent TLS version")
        case .cipher: .disconnected("the server supports none of the offered TLS ciphers and signatures")
        case .alert(let name): .disconnected("the server ended TLS with the alert \(name)")
        case .earlyData: .disconnected("TLS failed: the server does not process early data any more")
        case .other(let words): .disconnected(words.map { "TLS failed: \($0)" } ?? "TLS failed")
        }
    }

    /// The cause if a host refuses the TCP connection.
    static let refused = "connection refused"

    /// Returns the cause of an error of the system or the network library, for users.
    static func words(_ error: any Error) -> String {
        switch error {
        case let error as IOError:
            switch error.errnoCode {
            case ECONNRESET: return "reset by the relay"
            case EPIPE: return "closed by the relay"
            case ECONNREFUSED: return refused
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
        case let error as NetworkError: return String(error.sentence.prefix { $0 != ";" })
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
        case .noListener(let why): .prevented("no phone could wait for wake-ups: \(why)")
        case .notOffered(let status): .skipped("not offered: /cable/listen was answered \(status)")
        case .busy(let status):
            .prevented("the relay answered \(status): it is full, limits requests, or its balancer reaches no node")
        case .needsToken(false): .prevented("the relay requires a token: use --tunnel-token-file")
        case .needsToken(true): .prevented("the relay rejects this token; ask its operator")
        case .outOfConnections: .prevented("\(CheckRun.connectionLimit) connections were made")
        }
    }

    /// Returns the error for a check whose tunnel, or another premise, could not be opened; `time` is its time limit.
    func asPremise(
        after time: Duration,
        _ missing: (String) -> ProbeError = ProbeError.noTunnel
    ) -> ProbeError {
        switch self {
        case .timedOut: missing("nothing within \(time.words)")
        case .disconnected(let why), .malformed(let why): missing(why)
        case .unreachable, .untrusted, .noTunnel, .noListener, .notOffered, .busy, .needsToken, .outOfConnections:
            self
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
