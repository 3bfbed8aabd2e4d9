// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import NIOCore

/// Checks of requests that a relay must reject.
extension CheckRun {
    private func expect(
        _ wanted: Int,
        _ request: ProbeRequest,
        by deadline: NIODeadline
    ) async throws(ProbeError) -> CheckOutcome {
        let response = try await ask(request, by: deadline).response
        return response.status == wanted ? .ok("\(wanted)") : .differs(response.summary)
    }

    func secondJoin(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await sharedTunnel(by: deadline)
        let path = TunnelPath.connect(tunnel.routing, tunnel.tunnel)
        return try await expect(404, ProbeRequest(path.text), by: deadline)
    }

    func unknownTunnel(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        // The relay assigned the routing ID, so that only the tunnel is unknown.
        let given = try? opening?.get().response.values(of: TunnelPath.routingIDHeader).first
        let routing = given.flatMap { RoutingID(hex: $0) }?.hex ?? "000000"
        return try await expect(
            404,
            ProbeRequest("/cable/connect/\(routing)/\(try freshTunnel().hex)"),
            by: deadline
        )
    }

    func wrongRoutingID(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        let phone = try await phone(by: deadline)
        guard let other = RoutingID(bytes: phone.routing.bytes.map { ~$0 }) else { throw .malformed("no routing ID") }
        return try await expect(404, ProbeRequest(TunnelPath.connect(other, phone.tunnel).text), by: deadline)
    }

    private func statusesOfMalformedIDs(by deadline: NIODeadline) async throws(ProbeError) -> [Int] {
        if let malformedStatuses { return try malformedStatuses.get() }
        do throws(ProbeError) {
            let tunnel = try freshTunnel().hex
            var statuses: [Int] = []
            for path in [
                "/cable/new/\(tunnel.dropLast(2))", "/cable/new/\(tunnel.dropLast())g",
                "/cable/connect/12345g/\(tunnel)",
            ] {
                statuses.append(try await ask(ProbeRequest(path), by: deadline).response.status)
            }
            malformedStatuses = .success(statuses)
            return statuses
        } catch {
            malformedStatuses = .failure(error)
            throw error
        }
    }

    private static let malformedNames = ["too short", "not hexadecimal", "routing ID not hexadecimal"]

    private func malformed(
        by deadline: NIODeadline,
        _ isExpected: (Int) -> Bool
    ) async throws(ProbeError) -> CheckOutcome {
        let statuses = try await statusesOfMalformedIDs(by: deadline)
        let text = zip(Self.malformedNames, statuses).map { "\($0): \($1)" }.joined(separator: ", ")
        return statuses.allSatisfy(isExpected) ? .ok(text) : .differs(text)
    }

    func malformedID(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        try await malformed(by: deadline) { (400...499).contains($0) && $0 != 410 }
    }

    func malformedIDStatus(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        try await malformed(by: deadline) { $0 == 400 }
    }

    func noSubprotocol(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        var request = ProbeRequest(TunnelPath.new(try freshTunnel()).text)
        request.subprotocol = nil
        return try await expect(400, request, by: deadline)
    }

    func noUpgrade(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        var request = ProbeRequest(TunnelPath.new(try freshTunnel()).text)
        request.requestsUpgrade = false
        return try await expect(426, request, by: deadline)
    }

    func notGet(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        var request = ProbeRequest(TunnelPath.new(try freshTunnel()).text)
        request.method = "POST"
        request.fields = [("Content-Length", "0")]
        return try await expect(405, request, by: deadline)
    }

    func unknownPath(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        try await expect(404, ProbeRequest("/cable/other/\(try freshTunnel().hex)"), by: deadline)
    }

    func contactNotGone(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        // Hexadecimal digits are base64url, too, so this is an unused contact ID.
        var request = ProbeRequest("/cable/contact/\(try freshTunnel().hex)")
        request.fields = [("X-caBLE-Client-Payload", "a103626761")]
        let response = try await ask(request, by: deadline).response
        guard response.status == 410 else { return .ok(response.summary) }
        return options.offersContact
            ? .ok("410, which is right for a relay that serves linked phones")
            : .differs("410, which is right only for a relay that serves linked phones (then use --contact)")
    }

    func slowHead(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        guard options.isSlow else { return .skipped("only with --slow") }
        let limit = options.reactionTimeout(of: .slowHead)
        let socket = try await connect(by: deadline)
        try await socket.send(Array("GET /cable/new/".utf8), by: deadline)
        do throws(ProbeError) {
            let last = NIODeadline.now() + TimeAmount(limit)
            let response = try await socket.next(by: last, ProbeResponse.take(from:))
            return .ok(response.summary)
        } catch {
            switch error {
            case .timedOut: return .differs("still waiting after \(limit.words)")
            case .disconnected: return .ok("closed")
            default: throw error
            }
        }
    }

    func token(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        guard options.token != nil else { return .skipped("only with --tunnel-token-file") }
        var request = ProbeRequest(TunnelPath.new(try freshTunnel()).text)
        request.carriesToken = false
        let response = try await exchange(request, by: deadline).response
        return response.status == 401 ? .ok("401") : .differs(response.summary)
    }
}
