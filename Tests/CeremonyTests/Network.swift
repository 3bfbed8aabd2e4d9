// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HybridCaBLE
import TestSupport
import Testing

/// What may stand between a program and its relay: processes in Python, with the certificates they need.
extension Stage {
    /// A host name that belongs to a tunnel domain.
    static func host(of domain: UInt16) throws -> String { try #require(TunnelDomain(id: domain)).host }

    /// A process of the stage that listens; gone when it is no longer referred to.
    struct Listener {
        let program: RunningProgram
        let port: Int
        /// Where it writes what was asked of it.
        let log: String

        /// What was asked of it so far: request lines with their fields.
        func requests() throws -> [(line: String, fields: [String: String])] {
            let text = String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self)
            struct Entry: Decodable {
                let request: String
                let fields: [String: String]
            }
            return try text.split(separator: "\n").map { line in
                let entry = try JSONDecoder().decode(Entry.self, from: Data(line.utf8))
                return (entry.request, entry.fields)
            }
        }
    }

    private func listen(_ script: String, _ arguments: [String]) async throws -> Listener {
        let python = try #require(RelyingParty.interpreter, "HYBRID_TEST_PYTHON is not set")
        let log = "\(folder)/\(UUID().uuidString.prefix(8)).log"
        let program = try RunningProgram(
            python,
            ["\(Workshop.programs)/\(script)", "--log", log] + arguments,
            in: folder,
            environment: environment(["PYTHONDONTWRITEBYTECODE": "1"])
        )
        let line = try await program.line { $0.hasPrefix("listening on ") }
        return Listener(
            program: program,
            port: try #require(line.split(separator: ":").last.flatMap { Int($0) }),
            log: log
        )
    }

    /// A proxy.
    func proxy(_ arguments: [String] = []) async throws -> Listener { try await listen("proxy.py", arguments) }

    /// A web server whose certificate is for `host`, by an authority of the stage: `ca`, which programs are told to
    /// trust, or any other name.
    func webServer(
        for host: String,
        issuedBy authority: String = "ca",
        _ arguments: [String] = []
    ) async throws -> Listener {
        let name = UUID().uuidString.prefix(8)
        let script = """
            set -e; cd "$1"
            [ -e "$4.pem" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$4.key" \
              -out "$4.pem" -days 2 -subj "/O=Corporation/CN=$4" -addext keyUsage=critical,keyCertSign
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$3.key" -out "$3.csr" \
              -subj "/CN=web"
            printf 'subjectAltName=DNS:%s\\nextendedKeyUsage=serverAuth\\n' "$2" > "$3.ext"
            openssl x509 -req -in "$3.csr" -CA "$4.pem" -CAkey "$4.key" -set_serial 0x$3 -days 2 -extfile "$3.ext" \
              -out "$3.pem"
            """
        let openssl = try SpawnedProcess(
            ["/bin/sh", "-c", script, "sh", folder, host, String(name), authority],
            environment: ProcessInfo.processInfo.environment
        )
        try #require(try await openssl.end() == 0)
        return try await listen(
            "web_server.py",
            ["--cert", "\(folder)/\(name).pem", "--key", "\(folder)/\(name).key"] + arguments
        )
    }

    /// A socket at which nobody ever takes a connection or answers: a port of 127.0.0.1, or a file.
    final class KeepaliveState: Sendable {
        private let descriptor: Int32
        let port: Int

        /// At a port.
        init() throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &address) { [descriptor] pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, length) == 0 && Glibc.listen(descriptor, 64) == 0
                        && getsockname(descriptor, $0, &length) == 0
                }
            }
            port = Int(UInt16(bigEndian: address.sin_port))
            try #require(isBound)
        }

        /// At a file.
        init(path: String) throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            port = 0
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let fits = withUnsafeMutableBytes(of: &address.sun_path) { bytes in
                guard path.utf8.count < bytes.count else { return false }
                bytes.copyBytes(from: path.utf8)
                return true
            }
            let isBound = withUnsafePointer(to: &address) { [descriptor] pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                        && Glibc.listen(descriptor, 64) == 0
                }
            }
            try #require(fits && isBound)
        }

        deinit { close(descriptor) }
    }

    /// The variables of a program that looks for a name which nobody has: where no server answers, that takes a second
    /// for each, and not longer than the program waits for a connection.
    static let briefLookups = ["RES_OPTIONS": "timeout:1 attempts:1"]

    /// The flag that leads connections for `host` to a port of this machine.
    static func detour(_ host: String, _ port: Int) -> [String] { ["--connect-to", "\(host):443:127.0.0.1:\(port)"] }

    /// The variables of programs that are to use a proxy.
    static func variables(_ proxy: Listener, user: String = "", exceptions: String? = nil) -> [String: String] {
        var variables = ["HTTPS_PROXY": "http://\(user)127.0.0.1:\(proxy.port)"]
        variables["NO_PROXY"] = exceptions
        return variables
    }
}
