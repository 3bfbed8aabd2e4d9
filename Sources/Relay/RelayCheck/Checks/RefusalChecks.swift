// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridPrimitives
internal import NIOCore

/// Checks of requests that a relay must reject.
extension CheckRun {
    func expect(_ wanted: Int, _ request: ProbeRequest) async throws(ProbeError) -> CheckOutcome {
        let response = try await ask(request).response
        return response.status == wanted ? .ok("\(wanted)") : .differs(response.summary)
    }

    func unknownTunnel() async throws(ProbeError) -> CheckOutcome {
        // The routing ID is one that the relay assigned, so only the tunnel is unknown.
        let routing = (try? opening?.get().response.routingID)?.hex ?? "000000"
        return try await expect(404, ProbeRequest("/cable/connect/\(routing)/\(TunnelID.random().hex)"))
    }

    func wrongRoutingID() async throws(ProbeError) -> CheckOutcome {
        let phone = try await phone()
        // Another region, another node of the region, and another tunnel of the node, at this project's relay.
        let masks: [(name: String, bytes: [UInt8])] = [
            ("region", [0xFC, 0, 0]), ("node", [0x03, 0xFF, 0]), ("check byte", [0, 0, 0xFF]),
        ]
        for (name, mask) in masks {
            let bytes = zip(phone.routing.bytes, mask).map { $0 ^ $1 }
            guard let other = RoutingID(bytes: bytes) else { throw .malformed("no routing ID") }
            let response = try await ask(ProbeRequest(TunnelPath.connect(other, phone.tunnel).text)).response
            guard response.status == 404 else { return .differs("another \(name): \(response.summary)") }
        }
        return .ok("404")
    }

    private func statusesOfMalformedIDs() async throws(ProbeError) -> [(name: String, status: Int)] {
        if let malformedStatuses { return try malformedStatuses.get() }
        do throws(ProbeError) {
            let tunnel = TunnelID.random().hex
            var statuses: [(name: String, status: Int)] = []
            for (name, path) in [
                ("too short", "/cable/new/\(tunnel.dropLast(2))"),
                ("not hexadecimal", "/cable/new/\(tunnel.dropLast())g"),
                ("routing ID not hexadecimal", "/cable/connect/12345g/\(tunnel)"),
            ] {
                statuses.append((name, try await ask(ProbeRequest(path)).response.status))
            }
            malformedStatuses = .success(statuses)
            return statuses
        } catch {
            malformedStatuses = .failure(error)
            throw error
        }
    }

    func malformedIDs(areAnswered isExpected: (Int) -> Bool) async throws(ProbeError) -> CheckOutcome {
        let statuses = try await statusesOfMalformedIDs()
        let text = statuses.map { "\($0.name): \($0.status)" }.joined(separator: ", ")
        return statuses.allSatisfy { isExpected($0.status) } ? .ok(text) : .differs(text)
    }

    func contactNotGone() async throws(ProbeError) -> CheckOutcome {
        // Hexadecimal digits are base64url, too, so this is an unused contact ID.
        var request = ProbeRequest("/cable/contact/\(TunnelID.random().hex)")
        request.fields = [("X-caBLE-Client-Payload", "a103626761")]
        let response = try await ask(request).response
        guard response.status == 410 else { return .ok(response.summary) }
        return options.offersContact
            ? .ok("410, which is right for a relay that serves linked phones")
            : .differs("410, which is right only for a relay that serves linked phones (then use --contact)")
    }

    func slowHead() async throws(ProbeError) -> CheckOutcome {
        guard options.isSlow else { return .skipped("only with --slow") }
        let limit = options.reactionTimeout(of: .slowHead)
        let socket = try await connect()
        try await socket.send(Array("GET /cable/new/".utf8), by: deadline)
        do throws(ProbeError) {
            let last = NIODeadline.now() + TimeAmount(limit)
            let response = try await socket.nextTimed(by: last, ProbeResponse.take(from:)).value
            return .ok(response.summary)
        } catch {
            switch error {
            case .timedOut: return .differs("still waiting after \(limit.words)")
            case .disconnected: return .ok("closed")
            default: throw error
            }
        }
    }

    func token() async throws(ProbeError) -> CheckOutcome {
        guard options.token != nil else { return .skipped("only with --tunnel-token-file") }
        let response = try await exchange(newRequest { $0.carriesToken = false }).response
        return response.status == 401 ? .ok("401") : .differs(response.summary)
    }
}
