// SPDX-License-Identifier: Apache-2.0

internal import CaBLE
internal import DataChannel
internal import Glibc
internal import HybridSession
internal import Logging
internal import NIOCore
internal import RelayCore
internal import ServiceSupport

/// A relay on the loopback interface under the name of a tunnel domain.
struct DemoRelay: Sendable {
    let domain: TunnelDomain
    let port: Int
    private let server: RelayServer
    private let authorityFile: String

    static func start(domainID: UInt16) async throws -> DemoRelay {
        guard let domain = TunnelDomain(id: domainID) else {
            throw CommandFailure("\(domainID) is no tunnel domain", status: .software)
        }
        let authority = try ThrowawayAuthority()
        let server = RelayServer(
            configuration: RelayConfiguration(
                listen: [try SocketAddress(ipAddress: "127.0.0.1", port: 0)],
                transport: .tls(try authority.serverContext(for: domain.host))
            ),
            logger: Logger(label: "relay") { _ in SwiftLogNoOpLogHandler() }
        )
        let addresses = try await server.start()
        return DemoRelay(
            domain: domain,
            port: addresses.first?.port ?? 0,
            server: server,
            authorityFile: try TemporaryFile.write(try authority.pem, suffix: ".pem")
        )
    }

    /// How both ends reach it: by name, sent to the loopback interface, trusting the throwaway authority alone.
    var route: RelayRoute {
        RelayRoute(
            detours: [Detour("\(domain.host):443:127.0.0.1:\(port)")].compactMap(\.self),
            trustedCertificates: authorityFile
        )
    }

    func stop() async {
        await server.shutdown()
        unlink(authorityFile)
    }
}

/// A file that only this user can read.
enum TemporaryFile {
    static func write(_ text: String, suffix: String) throws -> String {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(folder)/hybrid-lab-XXXXXX\(suffix)".utf8CString)
        let descriptor = mkstemps(&template, Int32(suffix.utf8.count))
        guard descriptor >= 0 else {
            throw CommandFailure(
                "no file can be made in \(folder): \(String(cString: strerror(errno)))",
                status: .ioError
            )
        }
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let bytes = Array(text.utf8)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard bytes.withUnsafeBytes({ Glibc.write(descriptor, $0.baseAddress, $0.count) }) == bytes.count else {
            unlink(path)
            throw CommandFailure("\(path) can't be written", status: .ioError)
        }
        return path
    }
}
