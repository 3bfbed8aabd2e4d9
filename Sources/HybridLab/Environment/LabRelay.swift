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
    /// The domain whose name its certificate has.
    let domain: TunnelDomain
    /// Where it listens on 127.0.0.1.
    let port: Int
    /// The certificate of the authority that signed its own, in PEM.
    let authorityFile: String
    /// What its certificate is known by, for browsers that are to trust this one and no authority.
    let pin: CertificatePin
    private let server: RelayServer

    /// Starts one.
    ///
    /// - Parameter port: 0 takes a free one.
    static func start(_ domain: TunnelDomain, port: Int = 0) async throws -> LabRelay {
        let authority = try ThrowawayAuthority()
        let (context, pin) = try authority.serverContext(for: domain.host)
        var limits = RelayLimits()
        // No stranger reaches it, and a busy machine's programs may take their time for a head.
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
                authorityFile: try TemporaryFile.write(try authority.pem, suffix: ".pem"),
                pin: pin,
                server: server
            )
        } catch {
            await server.shutdown()
            throw error
        }
    }

    /// The detour from the relay's name to where it listens, as `--connect-to` takes it.
    var detour: String { "\(domain.host):443:127.0.0.1:\(port)" }

    /// How both ends reach it: by name, sent to the loopback interface, trusting the throwaway authority alone.
    var route: RelayRoute {
        RelayRoute(detours: [ConnectTo(detour)].compactMap(\.self), trustedCertificates: authorityFile)
    }

    func stop() async {
        await server.shutdown()
        unlink(authorityFile)
    }
}
