// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import TestSupport

/// A TCP connection to this computer with blocking calls on separate threads.
final class Conversation: Sendable {
    struct Failed: Error {
        let what: String
        let number: Int32
    }

    private static let queue = DispatchQueue(label: "conversations", attributes: .concurrent)
    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Connects to a local port.
    ///
    /// Every later call times out after 30 seconds.
    static func open(host: String = "127.0.0.1", port: Int) async throws -> Conversation {
        try await perform {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            guard descriptor >= 0 else { throw Failed(what: "socket", number: errno) }
            let conversation = Conversation(descriptor)
            var timeout = timeval(tv_sec: 30, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
            setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = inet_addr(host)
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard result == 0 else { throw Failed(what: "connect", number: errno) }
            return conversation
        }
    }

    /// Sends a text on a new connection and returns the whole response.
    static func exchange(host: String = "127.0.0.1", port: Int, _ text: String) async throws -> String {
        let conversation = try await open(host: host, port: port)
        try await conversation.send(Array(text.utf8))
        return String(decoding: try await conversation.readToEnd(), as: UTF8.self)
    }

    func send(_ bytes: [UInt8]) async throws {
        try await Self.perform { [descriptor] in
            var sent = 0
            while sent < bytes.count {
                let count = bytes[sent...].withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw Failed(what: "send", number: errno) }
                sent += count
            }
        }
    }

    /// Sends FIN; the response can still be read.
    func shutDownOutput() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes the connection end with a reset.
    func resetWhenClosed() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Reads the head of a response including its empty line, and nothing after it.
    func readHead() async throws -> String {
        try await Self.perform { [descriptor] in
            var head: [UInt8] = []
            while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                var byte: UInt8 = 0
                let count = recv(descriptor, &byte, 1, 0)
                guard count == 1 else { throw Failed(what: "no head", number: count == 0 ? 0 : errno) }
                head.append(byte)
            }
            return String(decoding: head, as: UTF8.self)
        }
    }

    func read(_ count: Int) async throws -> [UInt8] {
        try await Self.perform { [descriptor] in
            var bytes = [UInt8](repeating: 0, count: count)
            let received = recv(descriptor, &bytes, count, Int32(MSG_WAITALL))
            guard received == count else { throw Failed(what: "\(received) of \(count) bytes", number: errno) }
            return bytes
        }
    }

    /// Reads all bytes up to the end of the connection.
    ///
    /// A reset also counts as the end.
    func readToEnd() async throws -> [UInt8] {
        try await Self.perform { [descriptor] in
            var all: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(descriptor, &chunk, chunk.count, 0)
                if count < 0, errno != ECONNRESET { throw Failed(what: "recv", number: errno) }
                guard count > 0 else { return all }
                all += chunk[..<count]
            }
        }
    }

    private static func perform<Result: Sendable>(
        _ work: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Swift.Result { try work() }) }
        }
    }
}
