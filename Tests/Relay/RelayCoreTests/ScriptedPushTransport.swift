// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCaBLE
import HybridPrimitives
import HybridThreads
import TestSupport

@testable import HybridRelayCore

/// A push server in the test: requests wait until the test answers them.
final class ScriptedPushTransport: PushClient {
    private struct State {
        var requests: [PushRequest] = []
        var waiting: [Int: CheckedContinuation<PushResponse, Never>] = [:]
        var isCanceled = false
    }

    private let state = Locked(State())
    /// The response to all requests; `nil` if each waits for ``answer(_:_:)``.
    private let response: PushResponse?

    init(response: PushResponse? = nil) { self.response = response }

    var requests: [PushRequest] { state.withLock { $0.requests } }
    /// Number of requests that have no response.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    func origin(of endpoint: String) -> String? {
        guard endpoint.hasPrefix("https://push") else { return nil }
        return "https://" + endpoint.dropFirst(8).prefix { $0 != "/" }
    }

    func post(_ request: PushRequest) async -> PushResponse {
        let number = state.withLock { state in
            state.requests.append(request)
            return state.requests.count - 1
        }
        if let response { return response }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCanceled = state.withLock { state in
                    if !state.isCanceled { state.waiting[number] = continuation }
                    return state.isCanceled
                }
                if isCanceled { continuation.resume(returning: .failed) }
            }
        } onCancel: {
            let waiting = state.withLock { state in
                state.isCanceled = true
                return state.waiting.removeValue(forKey: number)
            }
            waiting?.resume(returning: .failed)
        }
    }

    /// Answers a request.
    func answer(_ number: Int, _ response: PushResponse) {
        state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(returning: response)
    }

    /// Waits for a request and returns it.
    func request(_ number: Int) async throws -> PushRequest {
        try await Waiting.until("a push") { self.requests.count > number }
        if response == nil { try await Waiting.until("a response is awaited") { self.waitingCount > 0 } }
        return requests[number]
    }
}

extension PushGateway {
    /// Returns a gateway with new keys and a clock that stands still, or with another clock.
    static func testing(
        _ transport: ScriptedPushTransport,
        clock: WallClock = WallClock { 1_800_000_000 }
    ) throws -> PushGateway {
        PushGateway(
            keys: try PushKeys(parsing: PushKeys.newFile()),
            subject: "mailto:operator@example.org",
            host: LinkedPhone.host,
            transport: transport,
            clock: clock
        )
    }
}
