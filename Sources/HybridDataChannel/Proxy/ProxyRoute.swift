// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// The way through a proxy, for connections that are not tunnels: those of whoever looks at a relay from outside.
package struct ProxyRoute: Sendable, CustomStringConvertible {
    private let proxy: HTTPProxy

    /// The proxy for a host, a name in lower case; `nil` if it needs none.
    ///
    /// - Throws: ``TunnelError/proxySettingUnusable(variable:why:)``.
    package init?(to host: String, port: Int, by settings: ProxySettings) throws(TunnelError) {
        guard let proxy = try settings.proxy(for: host, port: port) else { return nil }
        self.proxy = proxy
    }

    /// The proxy's name or address.
    package var host: String { proxy.host }
    /// The proxy's port.
    package var port: Int { proxy.port }
    /// Host and port; never who uses it.
    package var description: String { proxy.description }

    /// The first handler of a connection to the proxy: asks for a way to `host` and lets what stands behind it know of
    /// the connection when it is open.
    ///
    /// - Parameter ended: told how that went, at least once; nothing but the first time counts.
    package func handler(
        to host: String,
        port: Int,
        ended: @escaping (Result<Void, TunnelError>) -> Void
    ) -> any ChannelHandler {
        ProxyConnectHandler(proxy: proxy, host: host, port: port) {
            ended(.success(()))
        } failed: { error in
            ended(.failure(error))
        }
    }
}
