// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import NIOCore
import TestSupport
import Testing

@testable import HybridNetwork

@Suite("Proxy settings")
struct ProxySettingsTests {
    @Test("Proxies are parsed as by curl")
    func proxies() throws {
        let cases: [(text: String, host: String, port: Int, authorization: String?)] = [
            ("proxy.example", "proxy.example", 1080, nil), ("http://Proxy.Example:3128", "proxy.example", 3128, nil),
            ("http://proxy.example:3128/", "proxy.example", 3128, nil), ("HTTP://10.0.0.1:8080", "10.0.0.1", 8080, nil),
            ("http://[2001:db8::1]:8080", "2001:db8::1", 8080, nil), ("[::1]", "::1", 1080, nil),
            // RFC 7617 §2.
            ("http://Aladdin:open%20sesame@p:1", "p", 1, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
            ("http://test:123%C2%A3@p:1", "p", 1, "Basic dGVzdDoxMjPCow=="), ("u@p:1", "p", 1, "Basic dTo="),
            ("http://u:a@b@p:1", "p", 1, "Basic dTphQGI="), ("u::@p:1", "p", 1, "Basic dTo6"),
        ]
        for (text, host, port, authorization) in cases {
            let proxy = try HTTPProxy(text)
            let request = SecretRequest(capacity: proxy.authorization?.fieldLength ?? 0, ByteBufferAllocator())
            proxy.authorization?.appendField(to: request)
            let field = authorization.map { "Proxy-Authorization: \($0)\r\n" } ?? ""
            #expect(proxy.host == host && proxy.port == port && String(buffer: request.bytes) == field, "\(text)")
            #expect(request.bytes.readableBytes == proxy.authorization?.fieldLength ?? 0)
            #expect((proxy.authorization == nil) == (authorization == nil), "\(text)")
        }
    }

    @Test(
        "Malformed text names no proxy",
        arguments: [
            "", "http://", "http://:80", "p:0", "p:65536", "p:+1", "p:x", "p q", "http://u:%zz@p", "u:%1@p", "u:%0a@p",
            "u%3Aa:b@p", "::1", "[::1", "[p]:1", "p:1:2", "b\u{FC}cher.example:1", "127.1:80",
            "http://alice:2024#Geheim@proxy:3128", "http://TOKEN/x@proxy",
            "u:\(String(repeating: "x", count: 1100))@p",
        ]
    )
    func malformed(text: String) {
        #expect(throws: ProxySettingError.self) { try HTTPProxy(text) }
    }

    @Test("Other kinds of proxies are rejected")
    func otherKinds() throws {
        for (text, kind) in [("socks5://p:1", "socks5"), ("https://p", "https"), ("SOCKS4A://p", "socks4a")] {
            let settings = ProxySettings(environment: ["HTTPS_PROXY": text])
            #expect(throws: NetworkError.proxySettingUnusable(variable: "HTTPS_PROXY", why: .otherKind(kind))) {
                try settings.proxy(for: "a.example", port: 443)
            }
        }
    }

    @Test("Credentials are not shown")
    func hidden() throws {
        let proxy = try HTTPProxy("http://hunter:secret@proxy.example:3128")
        var dumped = ""
        dump(proxy, to: &dumped)
        dump(proxy.authorization, to: &dumped)
        dumped += "\(String(describing: proxy.authorization)) \(String(reflecting: proxy.authorization))"
        for text in ["\(proxy)", String(reflecting: proxy), dumped, "\([proxy])"] {
            #expect(
                !text.contains("hunter") && !text.contains("secret") && !text.contains("Basic")
                    && !text.contains("aHVudGVy")
            )
        }
        #expect(proxy.description == "proxy.example:3128")
    }

    @Test("Variables are read in curl's order; an empty one is unset")
    func variables() throws {
        func proxy(_ environment: [String: String]) throws -> String? {
            try ProxySettings(environment: environment).proxy(for: "cable.example", port: 443)?.description
        }
        #expect(try proxy([:]) == nil)
        #expect(try proxy(["HTTP_PROXY": "a:1", "http_proxy": "b:1", "ALL_PROXY": "c:1"]) == nil)
        #expect(try proxy(["HTTPS_PROXY": "a:1"]) == "a:1")
        #expect(try proxy(["HTTPS_PROXY": "a:1", "https_proxy": "b:1"]) == "b:1")
        #expect(try proxy(["HTTPS_PROXY": "a:1", "https_proxy": ""]) == "a:1")
        #expect(try proxy(["HTTPS_PROXY": ""]) == nil)
        #expect(try proxy(["HTTPS_PROXY": "a:1", "NO_PROXY": "example"]) == nil)
        #expect(try proxy(["HTTPS_PROXY": "a:1", "NO_PROXY": "example", "no_proxy": "other"]) == "a:1")
        #expect(try proxy(["HTTPS_PROXY": "a:1", "NO_PROXY": "example", "no_proxy": ""]) == nil)
        #expect(
            try proxy(["HTTPS_PROXY": "socks5://a:1", "NO_PROXY": "*"]) == nil,
            "an unused setting is not an error"
        )
    }

    @Test("Hosts of NO_PROXY need no proxy")
    func exceptions() {
        let cases: [(list: String, host: String, port: Int, isOn: Bool)] = [
            ("", "a.example", 443, false), ("*", "a.example", 443, true), (" * ", "::1", 443, true),
            // Only as the whole list, as in curl.
            ("*,b", "a.example", 443, false), ("*.example", "a.example", 443, false),
            ("example", "a.example", 443, true), (".example", "a.example", 443, true),
            (".example", "example", 443, true),
            ("example", "example", 443, true), ("EXAMPLE", "a.example", 443, true),
            ("example.", "a.example", 443, true),
            ("example", "a.example.", 443, true), ("example", "notexample", 443, false),
            ("ple", "a.example", 443, false), ("a.example", "example", 443, false),
            ("b,c a.example", "a.example", 443, true), ("b,\ta.example,", "a.example", 443, true),
            ("a.example:443", "a.example", 443, true), ("a.example:8443", "a.example", 443, false),
            (".example:443", "a.example", 443, true), ("a.example:", "a.example", 443, false),
            ("192.0.2.1", "192.0.2.1", 443, true), ("192.0.2.1", "192.0.2.10", 443, false),
            ("0.2.1", "192.0.2.1", 443, false), ("2.1", "192.0.2.1", 443, false),
            ("192.0.2.0/24", "192.0.2.77", 443, true), ("192.0.2.0/25", "192.0.2.200", 443, false),
            ("0.0.0.0/0", "192.0.2.200", 443, true), ("0.0.0.0/0", "::1", 443, false),
            ("192.0.2.0/33", "192.0.2.0", 443, false),
            ("192.0.2.1:443", "192.0.2.1", 443, true), ("192.0.2.1:80", "192.0.2.1", 443, false),
            ("::1", "::1", 443, true), ("[::1]", "::1", 443, true), ("[::1]:443", "::1", 443, true),
            ("[::1]:80", "::1", 443, false), ("2001:db8::/32", "2001:db8:1::1", 443, true),
            ("2001:0DB8:0:0::1", "2001:db8::1", 443, true), ("fe80::/10", "2001:db8::1", 443, false),
        ]
        for (list, host, port, isOn) in cases {
            #expect(NoProxyList(list).contains(host, port: port) == isOn, "\(list) \(host)")
        }
    }

    @Test("A name matches itself and all names below it")
    func property() {
        var random = SeededGenerator()
        func label(_ random: inout SeededGenerator) -> String {
            String(
                (0..<Int.random(in: 1...3, using: &random)).map { _ in "abC1-".randomElement(using: &random) ?? "a" }
            )
        }
        for _ in 0..<Thoroughness.rounds(2_000, thorough: 200_000) {
            let names = (0..<3).map { _ in
                (0..<Int.random(in: 1...3, using: &random)).map { _ in label(&random) }.joined(separator: ".") + ".x"
            }
            let host =
                (0..<Int.random(in: 1...4, using: &random)).map { _ in label(&random) }.joined(separator: ".") + ".x"
            let separators = [",", " ", ", ", ",,", "\t"]
            let list = names.map { (Bool.random(using: &random) ? "." : "") + $0 }
                .joined(separator: separators.randomElement(using: &random) ?? ",")
            let labels = host.lowercased().split(separator: ".")
            let isBelow = names.contains {
                labels.suffix($0.split(separator: ".").count) == $0.lowercased().split(separator: ".")[...]
            }
            #expect(NoProxyList(list).contains(host.lowercased(), port: 443) == isBelow, "\(list) \(host) \(random)")
        }
    }

    @Test("Arbitrary values are safe")
    func anything() {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(3_000, thorough: 300_000) {
            let alphabet = Array("aZ09.:[]/@%* ,\t-_é\u{202E}".unicodeScalars)
            let text = String(
                String.UnicodeScalarView(
                    (0..<Int.random(in: 0...30, using: &random)).compactMap { _ in
                        alphabet.randomElement(using: &random)
                    }
                )
            )
            let settings = ProxySettings(environment: ["https_proxy": text, "no_proxy": text])
            for host in ["a.example", "192.0.2.1", "::1"] {
                if let proxy = try? settings.proxy(for: host, port: 443) {
                    #expect(HostName.isValid(proxy.host) || IPAddress(proxy.host) != nil, "\(text) \(random)")
                    #expect((1...65_535).contains(proxy.port), "\(text) \(random)")
                    let request = SecretRequest(capacity: 0, ByteBufferAllocator())
                    proxy.authorization?.appendField(to: request)
                    let field = request.bytes.readableBytesView.dropLast(2)
                    #expect(field.allSatisfy { (0x20...0x7E).contains($0) }, "\(random)")
                }
            }
        }
    }
}
