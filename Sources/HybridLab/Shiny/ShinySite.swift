// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads

/// The demo site: the program `hybrid-shiny` behind a proxy for TLS, with two host names.
///
/// The program is a package of its own, so that hybrid-lab is built without an HTTP framework.
struct ShinySite: Sendable {
    /// The host of the site, which is also its relying party ID.
    static let host = "shiny.example"
    /// The host of the second site, which uses the passkeys of the first (related origins).
    static let relatedHost = "shiny-shop.example"
    private static let programName = "hybrid-shiny"
    /// The time in milliseconds within which the program must report its port.
    private static let startTimeout: CInt = 60_000

    /// The port of the proxy on 127.0.0.1.
    let port: Int
    /// The SHA-256 hash of the certificate's SubjectPublicKeyInfo in base64.
    let pin: String

    /// The address of the site.
    static let address = "https://\(host)/"
    /// The host names with the proxy's port.
    var hosts: [(String, Int)] { [(Self.host, port), (Self.relatedHost, port)] }

    /// Runs `body` while the site is served.
    ///
    /// - Parameters:
    ///   - program: The path of `hybrid-shiny`.
    ///   - authority: The authority that issues the site's certificate.
    static func run(
        _ program: String,
        _ authority: ThrowawayAuthority,
        _ body: @escaping @Sendable (ShinySite) async throws -> Void
    ) async throws {
        guard let (input, held) = SocketPair.make() else { throw failure(String(cString: strerror(errno))) }
        // The program ends when this end is closed, even if this process is killed.
        defer { close(held) }
        let (child, httpPort) = try await start(program, input: input)
        try await withCleanup {
            child.send(SIGTERM)
            _ = await child.wait()
        } of: {
            let server = try authority.issue(to: "hybrid-lab shiny", for: [host, relatedHost])
            let proxy = try await TLSProxy.start(certificate: server.certificate, key: server.key, target: httpPort)
            try await withThrowingTaskGroup { group in
                group.addTask { try await proxy.run() }
                group.addTask { try await body(ShinySite(port: proxy.port, pin: server.pin)) }
                group.addTask {
                    try await ended(child)
                    throw failure("it ended")
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    /// Returns the path of the program: the given one, one beside this program, or one in PATH.
    static func program(_ path: String?) throws(CommandFailure) -> String {
        if let path {
            guard access(path, X_OK) == 0 else {
                throw CommandFailure("\(path) is not a program that can be run; \(remedy)", status: .unavailable)
            }
            return path
        }
        let search = ProcessEnvironment.variables["PATH"] ?? ""
        let folders = [programFolder].compactMap(\.self) + search.split(separator: ":").map(String.init)
        let paths = folders.map { "\($0)/\(programName)" }
        guard let found = paths.first(where: { path in access(path, X_OK) == 0 }) else {
            throw CommandFailure(
                "\(programName) is neither next to hybrid-lab nor in PATH; \(remedy)",
                status: .unavailable
            )
        }
        return found
    }

    private static let remedy =
        "build it with swift build --package-path Shiny, and pass --program Shiny/.build/debug/\(programName)"

    /// The folder of this program.
    static var programFolder: String? {
        var characters = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &characters, characters.count)
        guard count > 0 else { return nil }
        let path = String(decoding: characters.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        return path.lastIndex(of: "/").map { String(path[..<$0]) }
    }

    private static func start(_ program: String, input: CInt) async throws -> (ChildProcess, port: Int) {
        defer { close(input) }
        guard let (reader, writer) = SocketPair.make() else { throw failure(String(cString: strerror(errno))) }
        defer { close(reader) }
        let child: ChildProcess
        do throws(ChildProcess.SpawnError) {
            defer { close(writer) }
            child = try ChildProcess.spawn(
                [
                    program, "--port", "0", "--origin", "https://\(host)", "--related-origin", "https://\(relatedHost)",
                    "--until-input-ends",
                ],
                input: .descriptor(input),
                output: .descriptor(writer),
                role: .service
            )
        } catch {
            throw failure(error.reason)
        }
        guard let port = await DedicatedThread.run({ port(from: reader) }) else {
            child.send(SIGKILL)
            _ = await child.wait()
            throw failure("it did not report its port")
        }
        return (child, port)
    }

    /// Reads the program's first line, which ends with the port.
    private static func port(from reader: CInt) -> Int? {
        var line: [UInt8] = []
        var descriptor = pollfd(fd: reader, events: CShort(POLLIN), revents: 0)
        while line.last != UInt8(ascii: "\n"), line.count < 1024 {
            var byte: UInt8 = 0
            guard poll(&descriptor, 1, startTimeout) == 1, read(reader, &byte, 1) == 1 else { return nil }
            line.append(byte)
        }
        return String(decoding: line.dropLast(), as: UTF8.self).split(separator: ":").last.flatMap { Int($0) }
    }

    /// Returns when the program has ended.
    private static func ended(_ child: ChildProcess) async throws {
        while child.poll() == nil { try await Task.sleep(for: .milliseconds(200)) }
    }

    private static func failure(_ reason: String) -> CommandFailure {
        CommandFailure("\(programName) failed: \(reason)", status: .unavailable)
    }
}
