// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridRelayCore
internal import Logging
internal import NIOCore

/// A relay on the loopback interface with the host name of a tunnel domain.
struct LabRelay: Sendable {
    /// The tunnel domain, whose host name is in the certificate.
    let domain: TunnelDomain
    /// The port on 127.0.0.1.
    let port: Int
    /// The path of a PEM file with the certificate of the authority that has issued the relay's certificate.
    let authorityFile: String
    /// The SHA-256 hash of the certificate's SubjectPublicKeyInfo in base64.
    ///
    /// Browsers can use it to trust this certificate without trusting the authority.
    let pin: String
    /// The authority that has issued the relay's certificate.
    let authority: ThrowawayAuthority
    private let server: RelayServer

    /// Starts a relay.
    ///
    /// - Parameter port: The port; 0 selects a free one.
    static func start(_ domain: TunnelDomain, port: Int = 0) async throws -> LabRelay {
        let authority = try ThrowawayAuthority()
        let (context, pin) = try authority.serverContext(for: domain.host)
        var limits = RelayLimits()
        // Only local programs can connect, and on a busy computer it may take long until a request head is complete.
        limits.headTime = .seconds(60)
        var configuration = RelayConfiguration(
            listen: [try SocketAddress(ipAddress: "127.0.0.1", port: port)],
            transport: .tls(context),
            limits: limits
        )
        configuration.contactHost = domain.host
        let server = RelayServer(
            configuration: configuration,
            logger: Logger(label: "relay") { _ in SwiftLogNoOpLogHandler() }
        )
        do {
            let addresses = try await server.start()
            return LabRelay(
                domain: domain,
                port: addresses.first?.port ?? 0,
                authorityFile: try writeTemporaryFile(try authority.makeCertificate()),
                pin: pin,
                authority: authority,
                server: server
            )
        } catch {
            await server.shutdown()
            guard let error = error as? ListenError else { throw error }
            throw CommandFailure("the relay \(error.sentence)", status: .unavailable)
        }
    }

    /// The value of `--connect-to` that maps the relay's name to its address.
    var connectTo: String { "\(domain.host):443:127.0.0.1:\(port)" }

    /// The network configuration for client and phone.
    ///
    /// It maps the relay's host name to the loopback interface and trusts only the throwaway authority.
    var network: NetworkConfiguration {
        NetworkConfiguration(connectTo: [ConnectTo(connectTo)].compactMap(\.self), trustedCertificates: authorityFile)
    }

    func stop() async {
        await server.shutdown()
        unlink(authorityFile)
    }

    /// Writes a PEM file that only this user can read, and returns its path.
    private static func writeTemporaryFile(_ text: String) throws -> String {
        let folder = ProcessEnvironment.variables["TMPDIR"] ?? "/tmp"
        var template = Array("\(folder)/hybrid-lab-XXXXXX.pem".utf8CString)
        let descriptor = mkstemps(&template, Int32(".pem".utf8.count))
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw CommandFailure("cannot create a file in \(folder): \(reason)", status: .ioError)
        }
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard writeAll(Array(text.utf8), to: descriptor) else {
            unlink(path)
            throw CommandFailure("\(path) cannot be written", status: .ioError)
        }
        return path
    }
}
