// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import NIOCore
import TestSupport

@testable import HybridNetwork

/// Checks proxy settings: the first line is the proxy, the second the exceptions, the third a host.
func fuzzProxySettings(_ input: [UInt8]) throws -> Bool {
    let lines = String(decoding: input, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    let (named, exceptions) = (String(lines[0]), lines.count > 1 ? String(lines[1]) : "")
    let third = lines.count > 2 ? lines[2].lowercased() : ""
    let host = HostName.isValid(third) || IPAddress(third) != nil ? third : "cable.ua5v.com"
    try invariant(NoProxyList(host).contains(host, port: 443), "a listed host is an exception")
    let settings = ProxySettings(environment: ["https_proxy": named, "no_proxy": exceptions])
    let proxy: HTTPProxy?
    do throws(NetworkError) {
        proxy = try settings.proxy(for: host, port: 443)
    } catch {
        let kind = error.sentence.dropFirst("https_proxy names a proxy of the kind ".count).prefix { $0 != ";" }
        let isExpected =
            error == .proxySettingUnusable(variable: "https_proxy", why: .malformed)
            || error == .proxySettingUnusable(variable: "https_proxy", why: .otherKind(String(kind)))
                && (1...16).contains(kind.utf8.count) && isPlain(kind)
        try invariant(isExpected, "the variable is named, and no more of its value than a kind")
        return false
    }
    guard let proxy else {
        try invariant(
            named.isEmpty || NoProxyList(exceptions).contains(host, port: 443),
            "only exceptions go without the proxy"
        )
        return false
    }
    try invariant(HostName.isValid(proxy.host) || IPAddress(proxy.host) != nil, "a proxy has a name or address")
    try invariant((1...65_535).contains(proxy.port), "and a port")
    if let authorization = proxy.authorization {
        let request = SecretRequest(capacity: authorization.fieldLength, ByteBufferAllocator())
        authorization.appendField(to: request)
        let said = Array(request.bytes.readableBytesView)
        try invariant(
            said.starts(with: "Proxy-Authorization: Basic ".utf8) && said.count <= 1425,
            "its length is limited"
        )
        try invariant(said.count == authorization.fieldLength && said.suffix(2) == [0x0D, 0x0A], "it ends its line")
        try invariant(said.dropLast(2).allSatisfy { (0x20...0x7E).contains($0) }, "it is one line")
        try invariant("\(proxy) \(authorization)".hasSuffix(" ProxyAuthorization(hidden)"), "it is not shown")
    }
    return true
}

private func isPlain(_ text: some StringProtocol) -> Bool {
    text.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
}
