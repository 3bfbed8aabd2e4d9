// SPDX-License-Identifier: Apache-2.0

/// Which proxy leads to which host, by the variables that curl reads.
///
/// `https_proxy`, else `HTTPS_PROXY`, names the proxy; `no_proxy`, else `NO_PROXY`, the hosts that need none. A variable
/// that is empty counts as not set. What the variables hold may be a secret and is never shown but for host and port.
public struct ProxySettings: Sendable {
    private enum Choice {
        case none
        case proxy(HTTPProxy)
        case unusable(variable: String, why: ProxySettingFault)
    }

    private let choice: Choice
    private let exceptions: NoProxyList

    /// No proxy for anybody.
    public static let none = ProxySettings(environment: [:])

    /// Reads the variables of an environment; one that can't be used is told of when a host needs it.
    public init(environment: [String: String]) {
        func first(_ names: [String]) -> (name: String, value: String)? {
            names.lazy.compactMap { name in environment[name].map { (name, $0) } }.first { !$0.value.isEmpty }
        }
        exceptions = NoProxyList(first(["no_proxy", "NO_PROXY"])?.value ?? "")
        guard let (name, value) = first(["https_proxy", "HTTPS_PROXY"]) else {
            choice = .none
            return
        }
        do throws(HTTPProxy.ParseError) {
            choice = .proxy(try HTTPProxy(value))
        } catch {
            switch error {
            case .malformed: choice = .unusable(variable: name, why: .malformed)
            case .otherKind(let kind): choice = .unusable(variable: name, why: .otherKind(kind))
            }
        }
    }

    /// The proxy for a host, a name in lower case.
    ///
    /// - Throws: ``TunnelError/proxySettingUnusable(variable:why:)``.
    func proxy(for host: String, port: Int) throws(TunnelError) -> HTTPProxy? {
        guard !exceptions.contains(host, port: port) else { return nil }
        switch choice {
        case .none: return nil
        case .proxy(let proxy): return proxy
        case .unusable(let variable, let why): throw .proxySettingUnusable(variable: variable, why: why)
        }
    }

    /// Host and port of the proxy that is named, whether or not a host needs it.
    ///
    /// - Throws: ``TunnelError/proxySettingUnusable(variable:why:)``.
    public func namedProxy() throws(TunnelError) -> String? {
        switch choice {
        case .none: return nil
        case .proxy(let proxy): return proxy.description
        case .unusable(let variable, let why): throw .proxySettingUnusable(variable: variable, why: why)
        }
    }
}

/// Why a variable names no proxy that can be used.
public enum ProxySettingFault: Equatable, Sendable {
    /// Not `[http://][USER[:PASSWORD]@]HOST[:PORT]`.
    case malformed
    /// A kind of proxy that is not spoken to, such as `socks5`; letters and digits, 16 at most.
    case otherKind(String)
}
