// SPDX-License-Identifier: Apache-2.0

internal import Hummingbird
internal import HummingbirdCore
internal import HybridRelyingParty
internal import Logging
internal import NIOCore

/// The site as an HTTP server on the loopback interface.
///
/// TLS, where the origin requires it, is the task of a proxy on the same computer.
public struct ShinyServer: Sendable {
    private let configuration: ShinyConfiguration
    private let port: Int

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - configuration: Names and limits.
    ///   - port: The port on 127.0.0.1; 0 selects a free one.
    public init(_ configuration: ShinyConfiguration, port: Int) {
        self.configuration = configuration
        self.port = port
    }

    /// Serves until the task is canceled.
    ///
    /// - Parameter started: Called with the port when the server accepts connections.
    /// - Throws: An error of the system, such as `EADDRINUSE`.
    public func run(started: @escaping @Sendable (Int) -> Void) async throws {
        let router = Router(context: BasicRequestContext.self)
        router.add(middleware: RequestRules(origins: configuration.relyingParty.origins))
        let site = Site(configuration)
        PageRoutes(site: site).add(to: router)
        AccountRoutes(site: site).add(to: router)
        PasskeyRoutes(site: site).add(to: router)
        let limits = configuration.limits
        let quiet = Logger(label: "shiny") { _ in SwiftLogNoOpLogHandler() }
        let application = Application(
            router: router,
            server: .http1(
                configuration: .init(
                    idleTimeout: .nanoseconds(limits.idleTime.nanoseconds),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 8 * 1024,
                        maxHeaderListSize: 16 * 1024,
                        maxHeaderFieldCount: 100
                    )
                )
            ),
            configuration: ApplicationConfiguration(
                address: .hostname("127.0.0.1", port: port),
                availableConnectionsDelegate: MaximumAvailableConnections(limits.connections, logger: quiet)
            ),
            onServerRunning: { channel in started(channel.localAddress?.port ?? 0) },
            logger: quiet
        )
        try await application.run()
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
