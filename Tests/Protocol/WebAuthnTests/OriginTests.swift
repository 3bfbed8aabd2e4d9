// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridWebAuthn
import Testing

/// Returns the error of reading an origin.
func originError(_ text: String) -> OriginError? {
    do throws(OriginError) {
        _ = try Origin(text)
        return nil
    } catch {
        return error
    }
}

@Suite("Origins")
struct OriginTests {
    @Test(
        "origins are serialized as in browsers",
        arguments: [
            ("https://example.com", "https://example.com"),
            ("https://example.com:443", "https://example.com"),
            ("https://example.com:8443", "https://example.com:8443"),
            ("https://example.com:080", "https://example.com:80"),
            ("HTTPS://Login.Example.COM", "https://login.example.com"),
            ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
            ("https://intranet", "https://intranet"),
            ("http://localhost", "http://localhost"),
            ("http://localhost:80", "http://localhost"),
            ("http://localhost:8080", "http://localhost:8080"),
            ("http://app.localhost:3000", "http://app.localhost:3000"),
            ("https://localhost", "https://localhost"),
        ]
    )
    func serialization(text: String, expected: String) throws {
        #expect(try Origin(text).text == expected)
        #expect(try Origin(expected) == Origin(text))
    }

    @Test(
        "texts other than origins are rejected",
        arguments: [
            "", "example.com", "//example.com", "https:example.com", "https:/example.com", "https://", "https://:443",
            "https://example.com/", "https://example.com/path", "https://example.com?q", "https://example.com#f",
            "https://user@example.com", "https://user:pw@example.com", "https://example.com\\evil.com",
            "https://example.com:", "https://example.com:0", "https://example.com:65536", "https://example.com:-1",
            "https://example.com:+1", "https://example.com:4x", "https://example.com:1:2", "https://example.com.",
            "https://.example.com", "https://a..b", "https://*.example.com",
            " https://example.com", "https://example.com ", "https://exam ple.com", "https://example.com\n",
            "https://bücher.example", "https://example.com\0", "https://\u{212A}elvin.example",
            "https://https://example.com",
        ]
    )
    func notAnOrigin(text: String) {
        #expect(originError(text) == .notAnOrigin)
    }

    @Test(
        "IP addresses in every spelling that browsers know are refused",
        arguments: [
            "https://192.0.2.1", "https://127.0.0.1:8443", "https://[::1]", "https://[2001:db8::1]:443",
            "http://127.0.0.1",
            "https://3221225985", "https://0x7f000001", "https://127.1", "https://example.0x1f", "https://1.2.3.4.",
            "https://0x",
        ]
    )
    func addresses(text: String) {
        #expect(originError(text) == .ipAddress)
    }

    @Test(
        "http is rejected except for localhost",
        arguments: [
            "http://example.com", "http://localhost.example.com", "http://notlocalhost", "http://localhost.com",
        ]
    )
    func insecure(text: String) {
        #expect(originError(text) == .insecure)
    }

    @Test("other schemes are rejected", arguments: ["ftp://example.com", "wss://example.com", "android://x", "://a"])
    func schemes(text: String) {
        #expect(originError(text) == .scheme)
    }

    @Test("every error has its own sentence")
    func sentences() {
        let errors: [OriginError] = [.notAnOrigin, .scheme, .insecure, .ipAddress]
        #expect(Set(errors.map(\.sentence)).count == errors.count)
    }
}

@Suite("Relying party IDs of origins")
struct RelyingPartyScopeTests {
    private func failure(_ origin: String, _ claimed: String) throws -> RelyingPartyIDError? {
        let origin = try Origin(origin)
        do throws(RelyingPartyIDError) {
            _ = try origin.relyingPartyID(claimed: claimed)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "an origin may use its host or a registrable parent",
        arguments: [
            ("https://example.com", "example.com"),
            ("https://login.example.com", "example.com"),
            ("https://a.b.login.example.com:8443", "login.example.com"),
            ("https://shop.example.co.uk", "example.co.uk"),
            ("https://me.github.io", "me.github.io"),
            ("https://www.me.github.io", "me.github.io"),
            ("https://github.io", "github.io"),
            ("https://a.www.ck", "www.ck"),
            ("https://login.xn--55qx5d.example.com", "example.com"),
            ("https://shop.firma.xn--55qx5d.cn", "firma.xn--55qx5d.cn"),
            ("https://host.corp.internal", "corp.internal"),
            ("http://localhost:8080", "localhost"),
            ("http://app.localhost", "app.localhost"),
            ("https://intranet", "intranet"),
        ]
    )
    func allowed(origin: String, claimed: String) throws {
        #expect(try Origin(origin).relyingPartyID(claimed: claimed).text == claimed)
    }

    @Test("the default is the host")
    func defaultID() throws {
        #expect(try Origin("https://login.example.com:8443").relyingPartyID(claimed: nil).text == "login.example.com")
        #expect(try Origin("http://localhost:8080").relyingPartyID(claimed: nil).text == "localhost")
    }

    @Test(
        "similar names of other websites are rejected",
        arguments: [
            ("https://evil-example.com", "example.com"),
            ("https://evilexample.com", "example.com"),
            ("https://example.com.evil.org", "example.com"),
            ("https://example.com", "login.example.com"),
            ("https://example.com", "example.org"),
            ("https://a.example.com", "b.example.com"),
            ("https://example.com", "xample.com"),
            ("http://localhost", "example.com"),
            ("https://localhost.example.com", "localhost"),
        ]
    )
    func otherSites(origin: String, claimed: String) throws {
        let id = try #require(RelyingPartyID(claimed))
        #expect(try failure(origin, claimed) == .notOfOrigin(id, Origin(origin)))
    }

    @Test(
        "public suffixes are rejected",
        arguments: [
            ("https://example.com", "com"),
            ("https://example.co.uk", "co.uk"),
            ("https://example.co.uk", "uk"),
            ("https://me.github.io", "github.io"),
            ("https://me.github.io", "io"),
            ("https://a.b.kawasaki.jp", "b.kawasaki.jp"),
            ("https://firma.xn--55qx5d.cn", "xn--55qx5d.cn"),
            ("https://example.xn--p1ai", "xn--p1ai"),
            ("https://bucket.s3.amazonaws.com", "s3.amazonaws.com"),
            ("https://me.unknown-tld", "unknown-tld"),
            ("http://app.localhost", "localhost"),
            ("https://x.compute.amazonaws.com.cn", "amazonaws.com.cn"),
        ]
    )
    func publicSuffixes(origin: String, claimed: String) throws {
        let id = try #require(RelyingPartyID(claimed))
        #expect(try failure(origin, claimed) == .publicSuffix(id))
    }

    @Test(
        "domains are below a registrable domain, or are not",
        arguments: [
            ("ssh.example.com", true), ("a.b.example.co.uk", true), ("ssh.me.github.io", true),
            ("example.com", false), ("example.co.uk", false), ("me.github.io", false), ("github.io", false),
            ("com", false), ("localhost", false), ("x.unknown-tld", false),
        ]
    )
    func belowRegistrableDomains(domain: String, isBelow: Bool) throws {
        let id = try #require(RelyingPartyID(domain))
        let result = try id.isBelowRegistrableDomain()
        #expect(result == isBelow)
        let isSuffix = try id.isPublicSuffix()
        #expect(isSuffix == ["github.io", "com", "localhost"].contains(domain))
    }

    @Test(
        "texts other than plain domains are rejected",
        arguments: [
            "", "Example.com", "example.com.", ".example.com", "https://example.com", "example.com:443", "192.0.2.1",
            "[::1]",
            "exämple.com", "*.example.com", "example.com/", "example.com\0",
        ]
    )
    func notADomain(claimed: String) throws {
        #expect(try failure("https://login.example.com", claimed) == .notADomain)
    }
}
