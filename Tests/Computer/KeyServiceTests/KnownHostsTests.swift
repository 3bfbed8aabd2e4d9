// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridPrimitives
import HybridSSHAgent
import SSHTestSupport
import TestSupport
import Testing

@testable import HybridKeyService

@Suite("Names of hosts")
struct KnownHostsTests {
    let server = TestServer()

    private func line(_ names: String, _ server: TestServer? = nil, marker: String = "") -> String {
        let key = String(decoding: Base64.encode((server ?? self.server).blob), as: UTF8.self)
        return "\(marker)\(names) ssh-ed25519 \(key) a comment\n"
    }

    private func name(_ text: String, _ candidates: [String] = []) throws -> String? {
        KnownHosts(files: [Array(text.utf8)]).name(of: try server.hostKey, candidates: candidates)
    }

    private func hashed(_ name: String) -> String {
        let salt = [UInt8](repeating: 0xFB, count: 20)
        let code = HMAC<Insecure.SHA1>.authenticationCode(for: Array(name.utf8), using: SymmetricKey(data: salt))
        func text(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }
        return "|1|\(text(salt))|\(text(Array(code)))"
    }

    @Test("A plain name counts, the client's word for it first")
    func plain() throws {
        #expect(try name(line("example.org,192.0.2.1")) == "example.org")
        #expect(try name(line("example.org,192.0.2.1"), ["192.0.2.1"]) == "192.0.2.1")
        #expect(try name("# \(line("a"))\n\n" + line("[b.example]:2222")) == "[b.example]:2222")
    }

    @Test("A hashed name counts if the client names it")
    func hashedNames() throws {
        let text = line(hashed("example.org"))
        #expect(try name(text) == nil)
        #expect(try name(text, ["example.com"]) == nil)
        #expect(try name(text, ["example.com", "example.org"]) == "example.org")
        // A candidate alone proves nothing: the key beside the hash must be the server's.
        #expect(try name(line(hashed("example.org"), TestServer()), ["example.org"]) == nil)
    }

    @Test("Other keys, authorities, revoked keys and wildcards give no name")
    func others() throws {
        #expect(try name(line("example.org", TestServer())) == nil)
        #expect(try name(line("example.org", marker: "@cert-authority ")) == nil)
        #expect(try name(line("example.org") + line("*", marker: "@revoked ")) == nil)
        #expect(try name(line("*.example.org,!a.example.org")) == nil)
        #expect(try name(line("a\u{202E}b")) == nil)
        for broken in ["example.org", "example.org ssh-ed25519", "|1|x|y ssh-ed25519 AAAA", "@revoked", "|1||| a b"] {
            #expect(try name(broken, ["example.org"]) == nil)
        }
    }

    @Test("The keys of a host are those beside its name, without revoked ones and authorities")
    func keys() throws {
        let (other, revoked) = (TestServer(), TestServer())
        let text =
            line("example.org,192.0.2.1") + line(hashed("example.org"), other) + line("[example.org]:22")
            + line("example.org", revoked) + line("*", revoked, marker: "@revoked ")
            + line("example.org", TestServer(), marker: "@cert-authority ") + "example.org ssh-ed25519 AAAA\n"
        let hosts = KnownHosts(files: [Array(text.utf8)])
        let (first, second) = (try server.hostKey, try other.hostKey)
        for name in ["example.org", "Example.ORG"] { #expect(hosts.keys(of: name) == [first, second]) }
        for name in ["192.0.2.1", "[example.org]:22"] { #expect(hosts.keys(of: name) == [first]) }
        for name in ["*", "example.com", "", "example.org,192.0.2.1"] { #expect(hosts.keys(of: name) == []) }
    }

    @Test("Candidates are the words of the client's command line, also with its port")
    func candidates() {
        let words = ["ssh", "-p", "2222", "ada@Example.org", "rsync", "host:path", "-oPort=99"]
        let names = HostCandidates.names(inCommandLine: Array(words.joined(separator: "\0").utf8) + [0])
        for name in ["example.org", "[example.org]:2222", "[example.org]:99", "host"] {
            #expect(names.contains(name), "\(name)")
        }
        #expect(HostCandidates.names(inCommandLine: []) == [])
    }

    @Test("A file of several MiB has names; one that is too large or unreadable is reported, an absent one is not")
    func files() async throws {
        try await TestFolder.with { folder in
            let server = TestServer()
            let line = "example.org ssh-ed25519 \(Data(server.blob).base64EncodedString())\n"
            let filling = String(repeating: "# " + String(repeating: "x", count: 97) + "\n", count: 30_000)
            let path = folder.path + "/known_hosts"
            try Data((filling + line).utf8).write(to: URL(fileURLWithPath: path))
            var reports: [String] = []
            let absent = folder.path + "/absent"
            let hosts = KnownHosts(paths: [absent, path]) { reports.append($0) }
            #expect(try hosts.name(of: server.hostKey, candidates: []) == "example.org")
            #expect(reports == [])
            _ = KnownHosts(paths: [path, folder.path], maximumSize: 1 << 20) { reports.append($0) }
            #expect(reports.count == 2 && reports[0].contains("too large") && reports[1].contains("not a regular file"))
        }
    }
}
