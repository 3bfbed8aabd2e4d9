// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import TestSupport

@testable import HybridLocalPage

/// A connection to the page's server that sends arbitrary bytes and never blocks.
final class RawClient: Sendable {
    struct NotConnected: Error {
        let errorNumber: Int32
    }

    private let descriptor: Int32

    init(port: Int) throws(NotConnected) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        let descriptor = descriptor
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let number = errno
            Glibc.close(descriptor)
            throw NotConnected(errorNumber: number)
        }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { Glibc.close(descriptor) }

    /// Closes the connection in both directions.
    func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Sends bytes; a closed connection discards them.
    func send(_ bytes: [UInt8]) {
        _ = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    /// Receives until a text has arrived; returns everything received.
    func receive(until text: String) async throws -> String {
        var received: [UInt8] = []
        try await Waiting.until("\(text) from the server", evidence: String(decoding: received, as: UTF8.self)) {
            let more = self.take()
            received += more.bytes
            let isThere = String(decoding: received, as: UTF8.self).contains(text)
            if !isThere, more.isEnd {
                throw RunningProgram.TimedOut(
                    description: "it ended without \(text): \(String(decoding: received, as: UTF8.self))"
                )
            }
            return isThere
        }
        return String(decoding: received, as: UTF8.self)
    }

    /// Receives until the server closes the connection.
    func receiveAll() async throws -> String {
        var received: [UInt8] = []
        try await Waiting.until("the server to close a connection", evidence: String(decoding: received, as: UTF8.self))
        {
            let more = self.take()
            received += more.bytes
            return more.isEnd
        }
        return String(decoding: received, as: UTF8.self)
    }

    /// True if the server has closed the connection; discards what was received.
    var isClosed: Bool { take().isEnd }

    private func take() -> (bytes: [UInt8], isEnd: Bool) {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count > 0 {
                bytes += chunk[..<count]
            } else {
                return (bytes, count == 0 || (errno != EAGAIN && errno != EINTR))
            }
        }
    }
}

extension PageLimits {
    /// Limits with enough time for a busy machine; tests of timeouts shorten them.
    static var generous: PageLimits {
        var limits = PageLimits()
        (limits.requestTimeout, limits.reconnectTimeout, limits.closeTimeout) = (.minutes(2), .minutes(2), .minutes(2))
        return limits
    }
}

/// A running page, and requests to it as a browser makes them.
struct RunningPage: Sendable {
    let server: PageServer
    let port: Int
    let tokenPath: String

    static func start(_ limits: PageLimits = .generous) async throws -> RunningPage {
        try await start(limits, owner: SocketOwner.user)
    }

    static func start(_ limits: PageLimits, owner: @escaping PageServer.OwnerLookup) async throws -> RunningPage {
        let subject = PageSubject(site: "example.com", operation: .signIn)
        let server = try await PageServer.start(subject, limits: limits, owner: owner)
        let parts = server.address.text.split(separator: "/", maxSplits: 2)
        let port = parts[1].split(separator: ":").last.flatMap { Int($0) } ?? 0
        return RunningPage(server: server, port: port, tokenPath: "/" + parts[2])
    }

    func request(_ path: String, cookie: String? = nil) -> String {
        "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n" + (cookie.map { "Cookie: \($0)\r\n" } ?? "") + "\r\n"
    }

    /// Requests a path; returns the complete response.
    func get(_ path: String, cookie: String? = nil) async throws -> String {
        let client = try RawClient(port: port)
        client.send(request(path, cookie: cookie))
        return try await client.receiveAll()
    }

    /// Exchanges the token; returns the cookie.
    func exchangeToken() async throws -> String {
        let answer = try await get(tokenPath)
        let field = answer.split(separator: "\r\n").first { $0.hasPrefix("Set-Cookie: ") } ?? ""
        return String(field.dropFirst("Set-Cookie: ".count).prefix { $0 != ";" })
    }

    /// Opens an event stream and waits for its first event.
    func openStream(_ cookie: String) async throws -> RawClient {
        let client = try RawClient(port: port)
        client.send(request("/events", cookie: cookie))
        _ = try await client.receive(until: "data: {")
        return client
    }
}
