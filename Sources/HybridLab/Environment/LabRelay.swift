// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridRelayCore
internal import HybridSession
internal import Logging
internal import NIOCore

/// A relay on the loopback interface under the name of a tunnel domain.
struct LabRelay: Sendable {
    /// The tunnel domain, whose host name is in the certificate.
    let domain: TunnelDomain
    /// The port on 127.0.0.1.
    let port: Int
    /// The path of the PEM certificate of the authority that has signed the relay's.
    let authorityFile: String
    /// The hash of the certificate's key, for browsers that trust this certificate and not the authority.
    let pin: CertificatePin
    private let server: RelayServer

    /// Starts a relay.
    ///
    /// - Parameter port: The port; 0 selects a free one.
    static func start(_ domain: TunnelDomain, port: Int = 0) async throws -> LabRelay {
        let authority = try ThrowawayAuthority()
        let (context, pin) = try authority.serverContext(for: domain.host)
        var limits = RelayLimits()
        // Only local programs reach it, and on a busy computer a request head may take long.
        limits.headTime = .seconds(60)
        let server = RelayServer(
            configuration: RelayConfiguration(
                listen: [try SocketAddress(ipAddress: "127.0.0.1", port: port)],
                transport: .tls(context),
                limits: limits
            ),
            logger: Logger(label: "relay") { _ in SwiftLogNoOpLogHandler() }
        )
        let addresses: [SocketAddress]
        do {
            addresses = try await server.start()
        } catch let error as ListenError {
            await server.shutdown()
            throw CommandFailure("the relay \(error.sentence)", status: .unavailable)
        } catch {
            await server.shutdown()
            throw error
        }
        do {
            return LabRelay(
                domain: domain,
                port: addresses.first?.port ?? 0,
                authorityFile: try writeTemporaryFile(try authority.pem, suffix: ".pem"),
                pin: pin,
                server: server
            )
        } catch {
            await server.shutdown()
            throw error
        }
    }

    /// The value of `--connect-to` that maps the relay's name to its address.
    var connectTo: String { "\(domain.host):443:127.0.0.1:\(port)" }

    /// The network configuration of both roles: the relay's name leads to the loopback interface, and only the
    /// throwaway authority is trusted.
    var network: NetworkConfiguration {
        NetworkConfiguration(connectTo: [ConnectTo(connectTo)].compactMap(\.self), trustedCertificates: authorityFile)
    }

    func stop() async {
        await server.shutdown()
        unlink(authorityFile)
    }

    /// Writes a file that only this user can read, and returns its path.
    private static func writeTemporaryFile(_ text: String, suffix: String) throws -> String {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(folder)/hybrid-lab-XXXXXX\(suffix)".utf8CString)
        let descriptor = mkstemps(&template, Int32(suffix.utf8.count))
        guard descriptor >= 0 else {
            throw CommandFailure(
                "cannot create a file in \(folder): \(String(cString: strerror(errno)))",
                status: .ioError
            )
        }
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let bytes = Array(text.utf8)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard bytes.withUnsafeBytes({ Glibc.write(descriptor, $0.baseAddress, $0.count) }) == bytes.count else {
            unlink(path)
            throw CommandFailure("\(path) cannot be written", status: .ioError)
        }
        return path
    }
}
