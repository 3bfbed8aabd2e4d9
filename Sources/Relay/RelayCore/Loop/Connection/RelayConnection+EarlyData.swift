// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

// TLS 1.3 early data (RFC 8446 §2.3, RFC 8470).
//
// A client with a session ticket sends its request before the handshake is complete. An attacker can replay it, but cannot
// complete the handshake or read the response. So only requests whose replay is harmless are processed at once, and their
// tunnels end unless the handshake is complete within the time of a request.
extension RelayConnection {
    /// Parses a request; `nil` if it must wait for the end of the handshake (RFC 8470 §3).
    func request(parsing head: [UInt8]) throws(UpgradeRefusal) -> UpgradeRequest? {
        guard socket.isInEarlyData else { return try UpgradeRequest(parsing: head, fromBalancer: isFromBalancer) }
        let parsed = try? UpgradeRequest(parsing: head, fromBalancer: isFromBalancer)
        guard let request = parsed, request.isSafeInEarlyData else { return nil }
        return loop.context.registry.isReplay(request) ? nil : request
    }

    /// Processes early data up to the end of the handshake; while the connection closes, it is dropped.
    func processEarlyData(_ tls: TLSConnection) throws(ConnectionFailure) {
        while tls.isInEarlyData, isReading || isClosingInEarlyData {
            let received = try tls.readEarlyData(into: socket.roomForPlaintext(in: loop.buffers))
            if tls.isEstablished { completeHandshake(tls) }
            switch received {
            case .bytes(let count): receive(count)
            // A request may have waited for the end of the handshake.
            case .nothing:
                if tls.isEstablished { receive(0) }
                return
            case .end: return close()
            }
        }
    }

    /// Continues without the restrictions of early data.
    private func completeHandshake(_ tls: TLSConnection) {
        // A request that waits for the end of the handshake is parsed now.
        socket.neededBytes = 0
        switch role {
        case .tunnel: deadline = nil
        case .closing:
            tls.isOutputLast = true
            writeOutput()
        case .proxyHeader, .head, .moving, .contacting, .listening, .closed: break
        }
    }

    /// True if the last bytes were written in early data, so that the output can end only after the handshake.
    var isClosingInEarlyData: Bool { if case .closing = role { socket.isInEarlyData } else { false } }

    /// Limits the time until the handshake is complete, after the response; without early data, there is no limit.
    func startHandshakeDeadline() { deadline = socket.isInEarlyData ? loop.now + limits.headTime : nil }
}
