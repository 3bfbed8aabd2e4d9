// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
internal import NIOPosix

/// Tells apart a name that does not resolve, a port where nobody listens, and a network that does not reach.
enum ConnectFailure {
    static func explained(_ error: NIOConnectionError, host: String) -> TunnelError {
        guard !error.connectionErrors.isEmpty else { return .hostNotFound(host) }
        let causes = error.connectionErrors.map(\.error)
        if causes.contains(where: { ($0 as? IOError)?.errnoCode == ECONNREFUSED }) { return .connectionRefused(host) }
        if causes.contains(where: { if case ChannelError.connectTimeout = $0 { true } else { false } }) {
            return .timedOut(host: host, .connecting)
        }
        let reason = (causes.first as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "no route"
        return .unreachable(host: host, reason: reason)
    }

    /// The same for a proxy, up to its answer.
    static func atProxy(_ error: any Error, _ proxy: String, timedOut: Bool) -> TunnelError {
        if timedOut { return .proxySilent(proxy) }
        if let error = error as? ChannelError, case .connectTimeout = error { return .proxySilent(proxy) }
        guard let error = error as? NIOConnectionError else { return .proxyHungUp(proxy) }
        switch explained(error, host: proxy) {
        case .hostNotFound: return .proxyNotFound(proxy)
        case .connectionRefused: return .proxyConnectionRefused(proxy)
        case .unreachable(_, let reason): return .proxyUnreachable(proxy: proxy, reason: reason)
        default: return .proxySilent(proxy)
        }
    }
}
