// SPDX-License-Identifier: Apache-2.0

import HybridCommandSupport
import HybridPrimitives
import HybridProgram
import HybridSSHAgent
import SSHTestSupport
import Testing

@testable import HybridKeyService

@Suite("Destinations by name")
struct NamedDestinationTests {
    let jump = TestServer()
    let target = TestServer()

    private func resolve(_ texts: String...) throws -> [String] {
        let lines = [("jump", jump), ("Target.example", target), ("target.example", jump)].map { name, server in
            "\(name) ssh-ed25519 \(String(decoding: Base64.encode(server.blob), as: UTF8.self))"
        }
        let hosts = KnownHosts(files: [Array(lines.joined(separator: "\n").utf8)])
        return try NamedDestinations.resolve(texts, in: hosts).map(\.description)
    }

    @Test("Names become the fingerprints of all their keys")
    func names() throws {
        let (one, two) = (try jump.hostKey.fingerprint, try target.hostKey.fingerprint)
        #expect(try resolve("jump") == ["\(one)"])
        #expect(try resolve("ada@jump", "\(two)", "jump") == ["ada@\(one)", "\(two)", "\(one)"])
        #expect(try resolve("jump", "jump>git@target.example") == ["\(one)", "\(one)>git@\(two)", "\(one)>git@\(one)"])
        #expect(try resolve("jump", "ada@jump", "jump").count == 2)
    }

    @Test("Unknown hosts, malformed texts and hops to which nothing leads are refused")
    func refused() throws {
        let beyond = "jump>\(try target.hostKey.fingerprint)"
        for text in ["", "@jump", "jump>", ">jump", "unknown", "*", "a b@jump", "*@jump", beyond] {
            #expect(throws: CommandFailure.self, "\(text)") { try resolve(text) }
        }
        let many = try (0...StoredSSHKey.maximumDestinations).map { _ in "\(try TestServer().hostKey.fingerprint)" }
        let hosts = KnownHosts(files: [])
        #expect(throws: CommandFailure.self) { try NamedDestinations.resolve(many, in: hosts) }
        #expect(try NamedDestinations.resolve(Array(many.dropLast()), in: hosts).count == many.count - 1)
    }
}
