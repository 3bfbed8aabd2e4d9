// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOSSL
import Testing

/// A phone or client on a blocking socket, with or without TLS.
///
/// Must be used on one thread only. Calls that wait must not be used on the threads that run tasks.
final class WireEnd {
    let socket: BlockingSocket
    let tls: TLSClientEngine?
    /// The relay's end of a socket pair, which a test may inspect while the relay has it open.
    private let far: CInt
    /// The number of that end, which tells it from a later socket with the same descriptor.
    private let farNumber: ino_t?
    /// True if input is read when the relay's loops run.
    var isReading = true
    private(set) var received: [UInt8] = []
    private var unsent: ArraySlice<UInt8> = []
    /// True after the end of the input, or a reset.
    private(set) var hasEnded = false
    private(set) var wasReset = false

    init(_ socket: BlockingSocket, tls: NIOSSLContext? = nil, far: CInt = -1) throws {
        self.socket = socket
        self.far = far
        farNumber = Self.number(far)
        self.tls = try tls.map { try TLSClientEngine($0) }
    }

    // MARK: Bytes

    /// Returns the bytes on the wire for these bytes.
    func wire(_ bytes: [UInt8]) throws -> [UInt8] { try tls?.encrypt(bytes) ?? bytes }

    func send(_ bytes: [UInt8]) throws { try socket.send(try wire(bytes)) }

    /// Performs the TLS handshake.
    ///
    /// The client's last message is sent, but the server may not have read it.
    func handshake() throws {
        guard let tls else { return }
        try socket.send(try tls.takeOutput())
        while true {
            take(try socket.receive())
            let output = try tls.takeOutput()
            if !output.isEmpty { return try socket.send(output) }
            try #require(!hasEnded, "the connection ended in the handshake")
        }
    }

    /// Sends bytes without waiting; what the kernel does not accept is sent by ``pump()``.
    func enqueue(wire: [UInt8]) { unsent += wire }

    /// Number of bytes that the relay has not read, including those that are not sent yet.
    var unread: Int {
        var count: CInt = 0
        return unsent.count + (ioctl(far, UInt(FIONREAD), &count) == 0 ? Int(count) : 0)
    }

    /// Sends and takes what is possible without waiting, and answers what TLS must answer.
    ///
    /// - Returns: True if there was anything.
    @discardableResult
    func pump() throws -> Bool {
        var isBusy = false
        if !unsent.isEmpty, !hasEnded {
            // If the relay has closed the connection, the rest cannot be sent.
            let count = (try? socket.sendSome(Array(unsent.prefix(100_000)))) ?? unsent.count
            unsent = unsent.dropFirst(count)
            isBusy = count > 0
        }
        while isReading, !hasEnded {
            do {
                // A child process of another test may still have a copy of the descriptor that the relay has closed.
                let bytes = farNumber == Self.number(far) ? try socket.receiveSome() : try socket.receive()
                guard let bytes else { break }
                take(bytes)
            } catch let error as BlockingSocket.Failed where error.number == ECONNRESET {
                (hasEnded, wasReset) = (true, true)
            }
            isBusy = true
        }
        if isReading, let output = try tls?.takeOutput(), !output.isEmpty {
            _ = try? socket.send(output)
            isBusy = true
        }
        return isBusy
    }

    /// Returns the bytes that have arrived.
    func takeReceived() -> [UInt8] {
        defer { received = [] }
        return received
    }

    /// Closes the connection.
    func close() {
        (isReading, hasEnded) = (false, true)
        socket.close()
    }

    private static func number(_ descriptor: CInt) -> ino_t? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status.st_ino : nil
    }

    private func take(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else {
            hasEnded = true
            return
        }
        guard let tls else {
            received += bytes
            return
        }
        do {
            received += try tls.decrypt(bytes)
        } catch {
            Issue.record("TLS: \(error)")
            hasEnded = true
        }
    }

    /// The connection ended before the expected bytes.
    struct Ended: Error {}

    private func readMore() throws {
        guard !hasEnded else { throw Ended() }
        take(try socket.receive())
        if let output = try tls?.takeOutput(), !output.isEmpty { _ = try? socket.send(output) }
    }

    // MARK: Responses and frames

    /// Returns the response head including its empty line.
    func readHead() throws -> String {
        while true {
            if let head = takeHead() { return head }
            try readMore()
        }
    }

    /// Returns the response head if it has arrived.
    func takeHead() -> String? {
        guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        defer { received.removeFirst(end.upperBound) }
        return String(decoding: received[..<end.upperBound], as: UTF8.self)
    }

    /// Returns the next frame other than a ping.
    func readFrame() throws -> Wire.Received {
        while true {
            while let frame = takeFrame() {
                if frame.opcode != Wire.ping { return frame }
                try? send(Wire.frame(frame.payload, opcode: Wire.pong))
            }
            try readMore()
        }
    }

    /// Returns all frames that have arrived.
    func takeFrames() -> [Wire.Received] {
        var frames: [Wire.Received] = []
        while let frame = takeFrame() { frames.append(frame) }
        return frames
    }

    /// Returns the next frame if it has arrived.
    func takeFrame() -> Wire.Received? {
        var rest = received[...]
        guard let frame = Wire.take(from: &rest) else { return nil }
        received = Array(rest)
        return frame
    }

    /// Returns all bytes up to the end of the connection.
    ///
    /// A reset also counts as the end.
    func readToEnd() -> [UInt8] {
        while !hasEnded {
            do { try readMore() } catch { hasEnded = true }
        }
        defer { received = [] }
        return received
    }

    // MARK: Requests

    /// Returns the request of a phone, or of a client if there is a routing ID.
    static func request(routing: String? = nil, tunnel: String = UpgradeRequestTests.tunnel) -> [UInt8] {
        let path = routing.map { "connect/\($0)/\(tunnel)" } ?? "new/\(tunnel)"
        return UpgradeRequestTests.head(["GET": "GET /cable/\(path) HTTP/1.1"])
    }

    /// Returns the routing ID in a response head.
    static func routing(in head: String) throws -> String {
        try #require(head.hasPrefix("HTTP/1.1 101 "), "\(head)")
        let field = try #require(head.firstRange(of: "X-caBLE-Routing-ID: "))
        return String(head[field.upperBound...].prefix(6))
    }
}
