// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HybridCaBLE
internal import HybridNetwork
internal import HybridPrimitives
internal import NIOCore

/// Checks of TLS, and of requests that a relay must accept.
extension CheckRun {
    func tlsCertificate() async throws(ProbeError) -> CheckOutcome {
        guard relay.isSecure else { return .skipped("the address is not secured by TLS") }
        let socket = try await connect(tls: strict)
        do throws(ProbeError) {
            // The request is sent only after the handshake has succeeded; the response does not matter.
            try await socket.send(ProbeRequest("/").bytes(host: relay.authority), by: deadline)
            return .ok("valid for \(relay.host)")
        } catch {
            guard case .untrusted(let why) = error else { throw error }
            return .differs(await outOfDateReason(socket) ?? why)
        }
    }

    /// Returns the reason if the certificate is outside its validity period, with the date.
    private func outOfDateReason(_ socket: ProbeSocket) async -> String? {
        guard let validity = await socket.recorded(\.certificateValidity) else { return nil }
        func day(_ seconds: Int) -> String {
            Date.ISO8601FormatStyle().format(Date(timeIntervalSince1970: Double(seconds)))
        }
        let now = Int(Date().timeIntervalSince1970)
        if let end = validity.end, now > end { return "the certificate expired on \(day(end))" }
        if let start = validity.start, now < start { return "the certificate is not valid before \(day(start))" }
        return nil
    }

    /// Opens a TLS connection and sends a request without its last line, so that no response ends the connection.
    private func incompleteRequest() async throws(ProbeError) -> ProbeSocket {
        let socket = try await connect(tls: lenient)
        try await socket.send(Array(ProbeRequest("/").bytes(host: relay.authority).dropLast(2)), by: deadline)
        return socket
    }

    func tlsVersion() async throws(ProbeError) -> CheckOutcome {
        guard relay.isSecure else { return .skipped("the address is not secured by TLS") }
        do throws(ProbeError) {
            switch try await incompleteRequest().recorded(\.tlsVersion) {
            case .tls12?: return .ok("TLS 1.2")
            case .tls13?: return .ok("TLS 1.3")
            case let old?: return .differs(old.rawValue)
            case nil: return .differs("no version")
            }
        } catch {
            abortReason = "there is no TLS connection"
            throw error
        }
    }

    /// Returns the first request for `/cable/new` and its response.
    func firstOpening() async throws(ProbeError) -> ProbeExchange {
        if let opening { return try opening.get() }
        do throws(ProbeError) {
            let made = try await ask(newRequest())
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

    /// Returns the first request for `/cable/new` and its response, if the relay accepted the request.
    func acceptedOpening() async throws(ProbeError) -> ProbeExchange {
        let opening = try await firstOpening()
        guard opening.response.status == 101 else {
            throw .noTunnel("/cable/new was answered \(opening.response.summary)")
        }
        return opening
    }

    static func upgrade(_ response: ProbeResponse) -> CheckOutcome {
        guard response.status == 101 else { return .differs(response.summary) }
        guard response.list("Upgrade", contains: "websocket") else { return .differs("101 without Upgrade: websocket") }
        guard response.list("Connection", contains: "upgrade") else {
            return .differs("101 without Connection: upgrade")
        }
        return .ok("101")
    }

    static func accept(_ opening: ProbeExchange) -> CheckOutcome {
        let values = opening.response.values(of: "Sec-WebSocket-Accept")
        return values == [opening.request.accept] ? .ok("it matches") : .differs(list(values))
    }

    static func subprotocol(_ response: ProbeResponse) -> CheckOutcome {
        let values = response.values(of: "Sec-WebSocket-Protocol")
        return values == [TunnelPath.subprotocol] ? .ok(TunnelPath.subprotocol) : .differs(list(values))
    }

    func newRoutingID() async throws(ProbeError) -> CheckOutcome {
        let values = try await acceptedOpening().response.values(of: TunnelPath.routingIDHeader)
        guard values.count == 1, let routing = RoutingID(hex: values[0]) else { return .differs(Self.list(values)) }
        let node = routing.node
        return .ok("\(routing.hex) (of a hybrid-relay: region \(node.region), node \(node.node))")
    }

    private static func list(_ values: [String]) -> String {
        guard !values.isEmpty else { return "no such field" }
        let shown = values.prefix(3).map { "\"\($0.prefix(80))\"" }.joined(separator: ", ")
        return values.count > 3 ? "\(shown) and \(values.count - 3) more" : shown
    }

    func join() async throws(ProbeError) -> CheckOutcome {
        let phone = try await phone()
        let joined = try await ask(ProbeRequest(phone.path.text))
        let findings = [
            Self.upgrade(joined.response), Self.accept(joined), Self.subprotocol(joined.response),
        ]
        for finding in findings { if case .differs = finding { return finding } }
        shared = ProbeTunnel(phone: phone.socket, client: joined.socket, path: phone.path)
        return .ok("101")
    }

    func uppercaseIDs() async throws(ProbeError) -> CheckOutcome {
        // As a client, Chrome writes IDs in upper case, but authenticators write them in lower case.
        let phone = try await phone()
        let path = "/cable/connect/\(phone.routing.hex.uppercased())/\(phone.tunnel.hex.uppercased())"
        let joined = try await ask(ProbeRequest(path)).response.status
        guard joined == 101 else { return .differs("/cable/connect in upper case: \(joined)") }
        let other = ProbeRequest("/cable/new/\(TunnelID.random().hex.uppercased())")
        let opened = try await ask(other).response.status
        guard opened == 101 else { return .differs("/cable/new in upper case: \(opened)") }
        return .ok("101 both times")
    }

    func origin() async throws(ProbeError) -> CheckOutcome {
        for scheme in ["wss", "https"] {
            let origin = "\(scheme)://\(relay.authority)"
            let status = try await ask(newRequest { $0.fields = [("Origin", origin)] }).response.status
            guard status == 101 else { return .differs("Origin: \(origin) was answered \(status)") }
        }
        return .ok("wss:// and https://")
    }

    func noDeflate() async throws(ProbeError) -> CheckOutcome {
        let request = newRequest {
            $0.fields = [("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits")]
        }
        let response = try await ask(request).response
        guard response.status == 101 else { return .differs(response.summary) }
        let values = response.values(of: "Sec-WebSocket-Extensions")
        return values.isEmpty ? .ok("no extension") : .differs(Self.list(values))
    }

    func tunnelTwice() async throws(ProbeError) -> CheckOutcome {
        let tunnel = try await phone().tunnel
        let second = try await ask(ProbeRequest(TunnelPath.new(tunnel).text))
        guard second.response.status == 101 else { return .differs(second.response.summary) }
        guard let routing = second.response.routingID else { return .differs("101 without a routing ID") }
        let joining = try await ask(ProbeRequest(TunnelPath.connect(routing, tunnel).text))
        guard joining.response.status == 101 else {
            return .differs("its client was answered \(joining.response.status)")
        }
        let message: [UInt8] = [1, 2, 3]
        try await joining.socket.send(.binary, message, by: deadline)
        let event = try await second.socket.nextEvent(by: deadline)
        return event == .message(message) ? .ok("served") : .differs("its client's message arrived as \(event.name)")
    }
}
