// SPDX-License-Identifier: Apache-2.0

import NIOCore

@testable import HybridDataChannel

/// What the environment says about proxies: the first line names one, the second the exceptions, the third a host.
func fuzzProxySettings(_ input: [UInt8]) throws -> Bool {
    let lines = String(decoding: input, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    let (named, exceptions) = (String(lines[0]), lines.count > 1 ? String(lines[1]) : "")
    let third = lines.count > 2 ? lines[2].lowercased() : ""
    let host = HostName.isValid(third) || NetworkAddress(third) != nil ? third : "cable.ua5v.com"
    try invariant(NoProxyList(host).contains(host, port: 443), "who is named is an exception")
    let settings = ProxySettings(environment: ["https_proxy": named, "no_proxy": exceptions])
    let proxy: HTTPProxy?
    do throws(TunnelError) {
        proxy = try settings.proxy(for: host, port: 443)
    } catch {
        guard case .proxySettingUnusable(let variable, let why) = error else {
            throw BrokenInvariant(description: "broken: settings have one fault only")
        }
        try invariant(variable == "https_proxy", "the variable is named")
        if case .otherKind(let kind) = why {
            try invariant((1...16).contains(kind.utf8.count) && isPlain(kind), "no more than a kind is shown")
        }
        return false
    }
    guard let proxy else {
        try invariant(
            named.isEmpty || NoProxyList(exceptions).contains(host, port: 443),
            "who is no exception goes by the proxy"
        )
        return false
    }
    try invariant(HostName.isValid(proxy.host) || NetworkAddress(proxy.host) != nil, "a proxy has a name or address")
    try invariant((1...65_535).contains(proxy.port), "and a port")
    if let authorization = proxy.authorization {
        let request = SecretRequest(capacity: authorization.fieldLength, ByteBufferAllocator())
        authorization.appendField(to: request)
        let said = Array(request.bytes.readableBytesView)
        try invariant(said.starts(with: "Proxy-Authorization: Basic ".utf8) && said.count <= 1425, "it is bounded")
        try invariant(said.count == authorization.fieldLength && said.suffix(2) == [0x0D, 0x0A], "it ends its line")
        try invariant(said.dropLast(2).allSatisfy { (0x20...0x7E).contains($0) }, "it stays on its line")
        try invariant("\(proxy) \(authorization)".hasSuffix(" ProxyAuthorization(hidden)"), "it is not shown")
    }
    return true
}

private func isPlain(_ text: String) -> Bool {
    text.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
}
