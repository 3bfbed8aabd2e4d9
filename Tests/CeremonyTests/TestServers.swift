// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import TestSupport
import Testing

/// Servers between a program and its relay, as processes in Python with the certificates that they need.
extension CeremonyEnvironment {
    /// Returns the host of a tunnel domain.
    static func host(of domain: UInt16) throws -> String { try #require(TunnelDomain(id: domain)).host }

    /// A server of the environment; it ends when it is released.
    struct Server {
        let program: RunningProgram
        let port: Int
        /// The file of the requests that it received.
        let log: String

        /// Returns the requests so far: request lines with their fields.
        func requests() throws -> [(line: String, fields: [String: String])] {
            struct Entry: Decodable {
                let request: String
                let fields: [String: String]
            }
            return try TestFile.text(log).split(separator: "\n").map { line in
                let entry = try JSONDecoder().decode(Entry.self, from: Data(line.utf8))
                return (entry.request, entry.fields)
            }
        }
    }

    private func startServer(_ script: String, _ arguments: [String]) async throws -> Server {
        let log = "\(folder)/\(UUID().uuidString.prefix(8)).log"
        let program = try start(
            try Python.path(),
            ["\(CounterpartLauncher.folder)/\(script)", "--log", log] + arguments,
            variables: ["PYTHONDONTWRITEBYTECODE": "1"]
        )
        let line = try await program.line { $0.hasPrefix("listening on ") }
        return Server(
            program: program,
            port: try #require(line.split(separator: ":").last.flatMap { Int($0) }),
            log: log
        )
    }

    /// Starts an HTTP proxy.
    func proxy(_ arguments: [String] = []) async throws -> Server { try await startServer("proxy.py", arguments) }

    /// Starts a web server with a certificate for `host`.
    ///
    /// - Parameters:
    ///   - host: The name in the certificate.
    ///   - names: Alternative names in openssl's notation, in place of that name.
    ///   - authority: The issuer: `ca`, which ``trust`` names, or another name.
    ///   - arguments: Arguments of the server.
    func webServer(
        for host: String,
        names: String? = nil,
        issuedBy authority: String = "ca",
        _ arguments: [String] = []
    ) async throws -> Server {
        let name = UUID().uuidString.prefix(8)
        let script = """
            set -e; cd "$1"
            [ -e "$4.pem" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$4.key" \
              -out "$4.pem" -days 2 -subj "/O=Corporation/CN=$4" -addext keyUsage=critical,keyCertSign
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$3.key" -out "$3.csr" \
              -subj "/CN=web"
            printf 'subjectAltName=%s\\nextendedKeyUsage=serverAuth\\n' "$2" > "$3.ext"
            openssl x509 -req -in "$3.csr" -CA "$4.pem" -CAkey "$4.key" -set_serial 0x$3 -days 2 -extfile "$3.ext" \
              -out "$3.pem"
            """
        let openssl = try SpawnedProcess([
            "/bin/sh", "-c", script, "sh", folder, names ?? "DNS:\(host)", String(name), authority,
        ])
        try #require(try await openssl.end() == 0)
        return try await startServer(
            "web_server.py",
            ["--cert", "\(folder)/\(name).pem", "--key", "\(folder)/\(name).key"] + arguments
        )
    }

    /// Variables for lookups of names that do not exist: without a reachable name server, each takes a second, not longer
    /// than the program waits for a connection.
    static let briefLookups = ["RES_OPTIONS": "timeout:1 attempts:1"]

    /// Returns the variables of programs that use a proxy.
    static func variables(_ proxy: Server, user: String = "", exceptions: String? = nil) -> [String: String] {
        var variables = ["HTTPS_PROXY": "http://\(user)127.0.0.1:\(proxy.port)"]
        variables["NO_PROXY"] = exceptions
        return variables
    }
}
