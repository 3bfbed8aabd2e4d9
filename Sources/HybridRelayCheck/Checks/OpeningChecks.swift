// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HybridCaBLE
internal import NIOCore
internal import NIOSSL

/// Checks of TLS, and of requests that a relay must accept.
extension CheckRun {
    func tlsCertificate(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        guard relay.isSecure else { return .skipped("the address has no TLS") }
        do throws(ProbeError) {
            let socket = try await connectStrictly(by: deadline)
            // The system takes the request after the handshake; the response does not matter.
            try await socket.send(ProbeRequest("/").bytes(host: relay.authority), by: deadline)
            return .ok("valid for \(relay.host)")
        } catch {
            guard case .untrusted(let why) = error else { throw error }
            return .differs(await outOfDateReason(by: deadline) ?? why)
        }
    }

    /// Returns the reason if the certificate is outside its validity, which BoringSSL does not report.
    private func outOfDateReason(by deadline: NIODeadline) async -> String? {
        guard let socket = try? await incompleteRequest(by: deadline), let validity = await socket.certificateValidity()
        else {
            return nil
        }
        func day(_ seconds: Int) -> String {
            Date.ISO8601FormatStyle().format(Date(timeIntervalSince1970: Double(seconds)))
        }
        let now = Int(Date().timeIntervalSince1970)
        if now > validity.end { return "the certificate expired on \(day(validity.end))" }
        if now < validity.start { return "the certificate is not valid before \(day(validity.start))" }
        return nil
    }

    /// Opens a TLS connection and sends a request without its last line, so that no response ends the connection.
    private func incompleteRequest(by deadline: NIODeadline) async throws(ProbeError) -> ProbeSocket {
        let socket = try await connectLeniently(by: deadline)
        try await socket.send(Array(ProbeRequest("/").bytes(host: relay.authority).dropLast(2)), by: deadline)
        return socket
    }

    func tlsVersion(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        guard relay.isSecure else { return .skipped("the address has no TLS") }
        do throws(ProbeError) {
            switch await (try incompleteRequest(by: deadline)).tlsVersion() {
            case .tlsv13: return .ok("TLS 1.3")
            case .tlsv12: return .ok("TLS 1.2")
            case .tlsv11: return .differs("TLS 1.1")
            case .tlsv1: return .differs("TLS 1.0")
            case nil: return .differs("no version")
            }
        } catch {
            abortReason = "there is no TLS connection"
            throw error
        }
    }

    private func firstOpening(by deadline: NIODeadline) async throws(ProbeError) -> Opening {
        if let opening { return try opening.get() }
        do throws(ProbeError) {
            let request = ProbeRequest(TunnelPath.new(try freshTunnel()).text)
            let made = Opening(request: request, response: try await ask(request, by: deadline).response)
            opening = .success(made)
            return made
        } catch {
            opening = .failure(error.asPremise(after: options.timeout))
            switch error {
            case .timedOut, .disconnected, .malformed: abortReason = "/cable/new got no HTTP response"
            case .untrusted: abortReason = "the token is not sent to a relay whose certificate is wrong"
            default: break
            }
            throw error
        }
    }

    /// Returns the response to `/cable/new`, for a check of one of its fields.
    private func acceptedOpening(by deadline: NIODeadline) async throws(ProbeError) -> Opening {
        let opening = try await firstOpening(by: deadline)
        guard opening.response.status == 101 else {
            throw .noTunnel("/cable/new was answered \(opening.response.summary)")
        }
        return opening
    }

    func newUpgrade(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        Self.upgrade(try await firstOpening(by: deadline).response)
    }

    private static func upgrade(_ response: ProbeResponse) -> CheckOutcome {
        guard response.status == 101 else { return .differs(response.summary) }
        guard response.list("Upgrade", contains: "websocket") else { return .differs("101 without Upgrade: websocket") }
        guard response.list("Connection", contains: "upgrade") else {
            return .differs("101 without Connection: upgrade")
        }
        return .ok("101")
    }

    func newAccept(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        Self.accept(try await acceptedOpening(by: deadline))
    }

    private static func accept(_ opening: Opening) -> CheckOutcome {
        let values = opening.response.values(of: "Sec-WebSocket-Accept")
        return values == [opening.request.accept] ? .ok("it matches") : .differs(list(values))
    }

    func newSubprotocol(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        Self.subprotocol(try await acceptedOpening(by: deadline).response)
    }

    private static func subprotocol(_ response: ProbeResponse) -> CheckOutcome {
        let values = response.values(of: "Sec-WebSocket-Protocol")
        return values == [TunnelPath.subprotocol] ? .ok(TunnelPath.subprotocol) : .differs(list(values))
    }

    func newRoutingID(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        let values = try await acceptedOpening(by: deadline).response.values(of: TunnelPath.routingIDHeader)
        guard values.count == 1, let routing = RoutingID(hex: values[0]) else { return .differs(Self.list(values)) }
        return .ok(routing.hex)
    }

    private static func list(_ values: [String]) -> String {
        guard !values.isEmpty else { return "no such field" }
        let shown = values.prefix(3).map { "\"\($0.prefix(80))\"" }.joined(separator: ", ")
        return values.count > 3 ? "\(shown) and \(values.count - 3) more" : shown
    }

    func join(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        let phone = try await phone(by: deadline)
        let request = ProbeRequest(TunnelPath.connect(phone.routing, phone.tunnel).text)
        let (socket, response) = try await ask(request, by: deadline)
        let findings = [
            Self.upgrade(response), Self.accept(Opening(request: request, response: response)),
            Self.subprotocol(response),
        ]
        for finding in findings { if case .differs = finding { return finding } }
        share(ProbeTunnel(phone: phone.socket, client: socket, routing: phone.routing, tunnel: phone.tunnel))
        return .ok("101")
    }

    func uppercaseIDs(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        // Chrome as a client writes upper case, authenticators lower case.
        let phone = try await phone(by: deadline)
        let path = "/cable/connect/\(phone.routing.hex.uppercased())/\(phone.tunnel.hex.uppercased())"
        let joined = try await ask(ProbeRequest(path), by: deadline).response.status
        guard joined == 101 else { return .differs("/cable/connect in upper case: \(joined)") }
        let other = ProbeRequest("/cable/new/\(try freshTunnel().hex.uppercased())")
        let opened = try await ask(other, by: deadline).response.status
        guard opened == 101 else { return .differs("/cable/new in upper case: \(opened)") }
        return .ok("101 both times")
    }

    func origin(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        for scheme in ["wss", "https"] {
            var request = ProbeRequest(TunnelPath.new(try freshTunnel()).text)
            request.fields = [("Origin", "\(scheme)://\(relay.authority)")]
            let status = try await ask(request, by: deadline).response.status
            guard status == 101 else {
                return .differs("Origin: \(scheme)://\(relay.authority) was answered \(status)")
            }
        }
        return .ok("wss:// and https://")
    }

    func noDeflate(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        var request = ProbeRequest(TunnelPath.new(try freshTunnel()).text)
        request.fields = [("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits")]
        let response = try await ask(request, by: deadline).response
        guard response.status == 101 else { return .differs(response.summary) }
        let values = response.values(of: "Sec-WebSocket-Extensions")
        return values.isEmpty ? .ok("no extension") : .differs(Self.list(values))
    }

    func tunnelTwice(by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        let tunnel = try freshTunnel()
        _ = try await phone(tunnel: tunnel, by: deadline)
        let (socket, response) = try await ask(ProbeRequest(TunnelPath.new(tunnel).text), by: deadline)
        guard response.status == 101 else { return .differs(response.summary) }
        guard let text = response.values(of: TunnelPath.routingIDHeader).first, let routing = RoutingID(hex: text)
        else {
            return .differs("101 without a routing ID")
        }
        let path = TunnelPath.connect(routing, tunnel)
        let joining = try await ask(ProbeRequest(path.text), by: deadline)
        guard joining.response.status == 101 else {
            return .differs("its client was answered \(joining.response.status)")
        }
        let message: [UInt8] = [1, 2, 3]
        try await joining.socket.sendMessage(message, by: deadline)
        let event = try await socket.nextEvent(by: deadline)
        return event == .message(message) ? .ok("served") : .differs("its client's message arrived as \(event.name)")
    }
}
