// SPDX-License-Identifier: Apache-2.0

internal import NIOHTTP1

/// The answers of the admin listener, apart from sockets.
struct AdminAnswers: Sendable {
    struct Answer: Equatable {
        var status: HTTPResponseStatus
        var type = "text/plain; charset=utf-8"
        var body: String
    }

    let health: @Sendable () -> RelayHealth
    let metrics: @Sendable () -> String

    /// The answer to a request; a query is ignored.
    func answer(_ method: HTTPMethod, _ target: String) -> Answer {
        let path = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
        guard ["/metrics", "/healthz", "/readyz"].contains(path) else {
            return Answer(status: .notFound, body: "not found: there are /metrics, /healthz and /readyz\n")
        }
        guard method == .GET || method == .HEAD else {
            return Answer(status: .methodNotAllowed, body: "GET is required\n")
        }
        switch path {
        case "/metrics":
            return Answer(status: .ok, type: "text/plain; version=0.0.4; charset=utf-8", body: metrics())
        case "/healthz":
            let health = health()
            return Answer(status: health == .broken ? .serviceUnavailable : .ok, body: "\(health.rawValue)\n")
        default:
            let health = health()
            let status: HTTPResponseStatus =
                switch health {
                case .ready: .ok
                case .draining: .notFound
                case .starting, .broken, .stopped: .serviceUnavailable
                }
            return Answer(status: status, body: "\(health.rawValue)\n")
        }
    }
}
