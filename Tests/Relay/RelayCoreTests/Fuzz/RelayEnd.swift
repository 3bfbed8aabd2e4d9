// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport

/// A phone or client at one end of a socket pair, with the bytes it sent and received.
final class RelayEnd {
    private let descriptor: CInt
    /// The requested tunnel ID.
    let tunnel: String
    private let maximumMessage: Int
    private let tls: EndTLS?
    /// Maximum number of bytes that are sent at once, so that TLS records arrive in pieces.
    var pace = 1 << 20
    /// The other end, once they are paired.
    weak var peer: RelayEnd?
    /// The routing ID assigned to a phone.
    private(set) var routing: String?
    /// True if the end reads what the relay sends.
    var isReading = true
    /// True for a phone that listens, whose messages come from the relay itself.
    var isListener = false
    /// True for a client to which a message of the relay signals that the phone has joined.
    var expectsSignal = false

    /// Bytes sent after the request, including those in ``unsent``.
    private var sent: [UInt8] = []
    /// Bytes that the kernel has not accepted yet.
    private var unsent: ArraySlice<UInt8> = []
    /// Received bytes, including the response.
    private var received: [UInt8] = []
    private var isOpen = true
    private var isSending = true
    private var hasEnded = false

    private init(_ descriptor: CInt, tunnel: String, maximumMessage: Int, tls: EndTLS?) {
        (self.descriptor, self.tunnel, self.maximumMessage) = (descriptor, tunnel, maximumMessage)
        self.tls = tls
    }

    deinit { close() }

    /// Returns an end and the descriptor for the relay, whose send buffer is small.
    static func pair(
        tunnel: String,
        maximumMessage: Int,
        tls: EndTLS? = nil
    ) throws -> (end: RelayEnd, descriptor: CInt) {
        var pair: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        try invariant(socketpair(AF_UNIX, kind, 0, &pair) == 0, "there are descriptors")
        var size: CInt = 8 << 10
        setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        return (RelayEnd(pair[0], tunnel: tunnel, maximumMessage: maximumMessage, tls: tls), pair[1])
    }

    static func head(path: String, key: String, subprotocol: String = "fido.cable", fields: String = "") -> String {
        "GET \(path) HTTP/1.1\r\nHost: cable.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \(key)\r\nSec-WebSocket-Protocol: \(subprotocol)\r\n"
            + "\(fields)\r\n"
    }

    // MARK: Bytes

    /// Records bytes that follow the request.
    func recordSent(_ bytes: [UInt8]) {
        if isSending { sent += bytes }
    }

    /// Sends bytes after the unsent ones, as far as the kernel accepts them.
    func write(_ bytes: ArraySlice<UInt8>) {
        guard let tls else { return writeRaw(bytes) }
        guard isSending else { return }
        tls.encrypt(Array(bytes))
        writeRaw(tls.takeOutput()[...])
    }

    /// Sends bytes without TLS.
    func writeRaw(_ bytes: ArraySlice<UInt8>) {
        guard isSending else { return }
        unsent = unsent.isEmpty ? bytes : unsent + bytes
        _ = flush()
    }

    /// Sends and receives what is possible; returns true if there was any.
    func transfer() throws -> Bool {
        let hasSent = flush()
        return try read() || hasSent
    }

    private func flush() -> Bool {
        var hasSent = false
        while isSending, !unsent.isEmpty {
            let count = unsent.prefix(pace).withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else {
                // The relay has closed.
                if errno != EAGAIN { unsent = [] }
                break
            }
            unsent = unsent.dropFirst(count)
            hasSent = true
            // The relay runs before the next piece.
            if pace < 1 << 20 { break }
        }
        return hasSent
    }

    private func read() throws -> Bool {
        guard isOpen, isReading, !hasEnded else { return false }
        var chunk = [UInt8](repeating: 0, count: 1 << 14)
        var hasRead = false
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count < 0, errno == EAGAIN { break }
            hasRead = true
            guard count > 0 else {
                hasEnded = true
                break
            }
            received += tls?.decrypt(Array(chunk[..<count])) ?? Array(chunk[..<count])
        }
        // Messages of the handshake, and bytes that waited for its end.
        if let output = tls?.takeOutput(), !output.isEmpty { writeRaw(output[...]) }
        if routing == nil, isAccepted, let response {
            let lines = String(decoding: response, as: UTF8.self).split(separator: "\r\n")
            routing = lines.first { $0.hasPrefix("X-caBLE-Routing-ID: ") }.map { String($0.dropFirst(20)) }
        }
        return hasRead
    }

    func halfClose() {
        guard isSending else { return }
        isSending = false
        shutdown(descriptor, CInt(SHUT_WR))
    }

    func close() {
        guard isOpen else { return }
        (isOpen, isSending) = (false, false)
        // A child process of another test may still have a copy of the descriptor.
        shutdown(descriptor, CInt(SHUT_RDWR))
        Glibc.close(descriptor)
    }

    // MARK: Checks

    /// The response head including its empty line, once it is complete.
    ///
    /// Refusals have a body after it.
    private var response: ArraySlice<UInt8>? {
        let end = Array("\r\n\r\n".utf8)
        guard received.count >= end.count else { return nil }
        // No response of the relay is longer.
        let places = 0...(min(received.count, 1000) - end.count)
        return places.first { received[$0...].starts(with: end) }.map { received[..<($0 + end.count)] }
    }

    /// True if it became the end of a tunnel.
    var isAccepted: Bool { received.starts(with: "HTTP/1.1 101 ".utf8) }

    /// True if the tunnel is open as far as this end knows.
    private var isConnected: Bool {
        isSending && !hasEnded && tls?.isBroken != true && ReferenceFrames(afterResponse, masked: false).end == .open
    }

    /// Checks that all messages have arrived while both ends are connected.
    func checkBeforeClosing() throws {
        guard let peer, isConnected, peer.isConnected else { return }
        try invariant(unsent.isEmpty, "an open tunnel reads everything")
        try invariant(try peer.receivedMessages() == sentFrames().messages, "an open tunnel loses nothing")
    }

    func check() throws {
        guard !received.isEmpty else { return }
        guard isAccepted else {
            let text = String(decoding: received, as: UTF8.self)
            try invariant(
                text.hasPrefix("HTTP/1.1 4") || text.hasPrefix("HTTP/1.1 503 "),
                "a refusal is an HTTP response"
            )
            return
        }
        let messages = try receivedMessages()
        if isListener { return }
        let expected = peer?.sentFrames().messages ?? []
        try invariant(expected.starts(with: messages), "messages arrive in order and unchanged")
    }

    private var afterResponse: [UInt8] { Array(received.dropFirst(response?.count ?? 0)) }

    /// Returns the sent frames, parsed by the reference implementation.
    private func sentFrames() -> ReferenceFrames { ReferenceFrames(sent, masked: true, maximumMessage: maximumMessage) }

    /// Returns the received messages.
    ///
    /// Frames must be a server's, and nothing may follow a close frame. The last frame may be incomplete.
    func receivedMessages() throws -> [[UInt8]] {
        let read = ReferenceFrames(afterResponse, masked: false)
        try invariant(read.end != .broken, "after the response there are frames of a server")
        let written = ReferenceFrames.written(Array(afterResponse.dropLast(read.rest.count)))
        try invariant(try present(written, "frames are complete") == read.frames, "nothing follows a close frame")
        guard expectsSignal, let first = read.messages.first else { return read.messages }
        try invariant(first == [0], "the signal precedes the phone's messages")
        return Array(read.messages.dropFirst())
    }
}
