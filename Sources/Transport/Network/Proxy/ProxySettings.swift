// SPDX-License-Identifier: Apache-2.0

/// The proxy and the hosts that need none, from the environment variables that curl reads.
///
/// `https_proxy` names the proxy, and `no_proxy` the hosts that need none. If either is unset, the upper-case variable
/// is read instead. An empty variable counts as unset. The values may contain secrets; only host and port are shown.
public struct ProxySettings: Sendable {
    private let proxy: Result<HTTPProxy?, NetworkError>
    private let exceptions: NoProxyList

    /// Settings without a proxy.
    public static let none = ProxySettings(environment: [:])

    /// Creates settings from environment variables; an unusable value is reported when a host needs the proxy.
    public init(environment: [String: String]) {
        func first(_ names: [String]) -> (name: String, value: String)? {
            names.lazy.compactMap { name in environment[name].map { (name, $0) } }.first { !$0.value.isEmpty }
        }
        exceptions = NoProxyList(first(["no_proxy", "NO_PROXY"])?.value ?? "")
        guard let (name, value) = first(["https_proxy", "HTTPS_PROXY"]) else {
            proxy = .success(nil)
            return
        }
        do throws(ProxySettingError) {
            proxy = .success(try HTTPProxy(value))
        } catch {
            proxy = .failure(.proxySettingUnusable(variable: name, why: error))
        }
    }

    /// Returns the proxy for a host, a lower-case name or an address; `nil` if the host needs none.
    ///
    /// - Throws: ``NetworkError/proxySettingUnusable(variable:why:)``.
    package func proxy(for host: String, port: Int) throws(NetworkError) -> HTTPProxy? {
        exceptions.contains(host, port: port) ? nil : try proxy.get()
    }

    /// Returns host and port of the proxy, even if no host needs it; `nil` if no proxy is set.
    ///
    /// - Throws: ``NetworkError/proxySettingUnusable(variable:why:)``.
    public func namedProxy() throws(NetworkError) -> String? { try proxy.get()?.description }
}
