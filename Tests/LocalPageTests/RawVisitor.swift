// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import TestSupport

@testable import HybridLocalPage

/// A connection to the page's server that says whatever it wants; nothing of it waits in a thread.
final class RawVisitor: Sendable {
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
            close(descriptor)
            throw NotConnected(errorNumber: number)
        }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close(descriptor) }

    /// Ends the connection, both ways.
    func hangUp() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Says something; what a closed connection does not take is lost.
    func say(_ bytes: [UInt8]) {
        _ = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    func say(_ text: String) { say(Array(text.utf8)) }

    /// What has come until a text is part of it.
    func hear(_ text: String) async throws -> String {
        var heard: [UInt8] = []
        try await Waiting.until("the server to say \(text)", evidence: String(decoding: heard, as: UTF8.self)) {
            let more = self.take()
            heard += more.bytes
            let isThere = String(decoding: heard, as: UTF8.self).contains(text)
            if !isThere, more.isEnd {
                throw RunningProgram.TimedOut(
                    description: "it ended without \(text): \(String(decoding: heard, as: UTF8.self))"
                )
            }
            return isThere
        }
        return String(decoding: heard, as: UTF8.self)
    }

    /// All that comes until the server ends the connection.
    func hearAll() async throws -> String {
        var heard: [UInt8] = []
        try await Waiting.until("the server to end a connection", evidence: String(decoding: heard, as: UTF8.self)) {
            let more = self.take()
            heard += more.bytes
            return more.isEnd
        }
        return String(decoding: heard, as: UTF8.self)
    }

    /// Whether the server has ended the connection; what it said before is lost.
    var isOver: Bool { take().isEnd }

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
    /// With all the time that a busy machine takes; tests of impatience say how little they want.
    static var patient: PageLimits {
        var limits = PageLimits()
        (limits.patience, limits.absence, limits.closeTimeout) = (.minutes(2), .minutes(2), .minutes(2))
        return limits
    }
}

/// A running page, and requests to it as a browser makes them.
struct Visit: Sendable {
    let server: PageServer
    let port: Int
    let tokenPath: String

    static func begin(_ limits: PageLimits = .patient) async throws -> Visit {
        try await begin(limits, owner: SocketOwner.user)
    }

    static func begin(_ limits: PageLimits, owner: @escaping PageServer.OwnerLookup) async throws -> Visit {
        let subject = PageSubject(site: "example.com", operation: .signIn)
        let server = try await PageServer.start(subject, limits: limits, owner: owner)
        let parts = server.address.text.split(separator: "/", maxSplits: 2)
        let port = parts[1].split(separator: ":").last.flatMap { Int($0) } ?? 0
        return Visit(server: server, port: port, tokenPath: "/" + parts[2])
    }

    func request(_ path: String, cookie: String? = nil) -> String {
        "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n" + (cookie.map { "Cookie: \($0)\r\n" } ?? "") + "\r\n"
    }

    /// A whole answer.
    func ask(_ path: String, cookie: String? = nil) async throws -> String {
        let visitor = try RawVisitor(port: port)
        visitor.say(request(path, cookie: cookie))
        return try await visitor.hearAll()
    }

    /// Uses the token; returns the cookie.
    func enter() async throws -> String {
        let answer = try await ask(tokenPath)
        let field = answer.split(separator: "\r\n").first { $0.hasPrefix("Set-Cookie: ") } ?? ""
        return String(field.dropFirst("Set-Cookie: ".count).prefix { $0 != ";" })
    }

    /// An event stream that has had its first event.
    func stream(_ cookie: String) async throws -> RawVisitor {
        let visitor = try RawVisitor(port: port)
        visitor.say(request("/events", cookie: cookie))
        _ = try await visitor.hear("data: {")
        return visitor
    }
}
