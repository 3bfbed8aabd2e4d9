// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HybridAge
import HybridCommandSupport
import HybridPrimitives
import HybridProgram
import HybridSecrets
import TestSupport
import Testing

@Suite("The files of keys that phones open", .timeLimit(.minutes(5)))
struct StoreTests {
    @Test("a file is an identity file of age, for its user only")
    func file() async throws {
        try await TestFolder.with { folder in
            let fixture = try SecretsFixture(in: folder)
            let (name, sealed) = (try SecretsFixture.name(), try await fixture.seal(SimulatedPhone()))
            try fixture.store.add(sealed, as: name)
            #expect(try fixture.store.key(name) == sealed)
            #expect(try fixture.store.names() == [name])
            #expect(fixture.store.onlyKey == sealed)
            let path = fixture.store.path(of: name)
            var status = stat()
            #expect(lstat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
            let lines = TestFile.text(path).split(separator: "\n")
            #expect(lines.contains("# public key: \(sealed.recipient)"))
            #expect(lines.contains("# passkey: \(sealed.relyingPartyID)"))
            #expect(lines.last.map(String.init) == sealed.text)
        }
    }

    @Test("a second key of a name is refused, and the first one stays")
    func names() async throws {
        try await TestFolder.with { folder in
            let fixture = try SecretsFixture(in: folder)
            let name = try SecretsFixture.name()
            let sealed = try await fixture.seal(SimulatedPhone())
            try fixture.store.add(sealed, as: name)
            let other = try await fixture.seal(SimulatedPhone())
            let failure = #expect(throws: CommandFailure.self) { try fixture.store.add(other, as: name) }
            #expect(failure?.code == "secret-exists")
            #expect(try fixture.store.key(name) == sealed)
            // Two keys: none is the only one.
            try fixture.store.add(other, as: try SecretsFixture.name("other"))
            #expect(fixture.store.onlyKey == nil)
            for text in ["", ".hidden", "-x", "a/b", "ä", "a b", String(repeating: "x", count: 65)] {
                #expect(SecretName(text) == nil, "\(text)")
            }
        }
    }

    @Test("a key that changed meanwhile is not replaced")
    func replacement() async throws {
        try await TestFolder.with { folder in
            let fixture = try SecretsFixture(in: folder)
            let name = try SecretsFixture.name()
            let sealed = try await fixture.seal(SimulatedPhone())
            let (other, third) = (try await fixture.seal(SimulatedPhone()), try await fixture.seal(SimulatedPhone()))
            try fixture.store.add(sealed, as: name)
            try fixture.store.replace(sealed, with: other, as: name)
            #expect(throws: CommandFailure.self) { try fixture.store.replace(sealed, with: third, as: name) }
            #expect(try fixture.store.key(name) == other)
            try fixture.store.remove(name)
            let failure = #expect(throws: CommandFailure.self) { _ = try fixture.store.key(name) }
            #expect(failure?.code == "no-secret")
        }
    }

    @Test(
        "a file that is not an identity is named",
        arguments: ["", "AGE-PLUGIN-PHONE-1RSN8H8\n", "x\ny\n", "\u{FEFF}"]
    )
    func damaged(text: String) async throws {
        try await TestFolder.with { folder in
            let fixture = try SecretsFixture(in: folder)
            let name = try SecretsFixture.name()
            try TestFile.write(text, to: fixture.store.path(of: name))
            let failure = #expect(throws: CommandFailure.self) { _ = try fixture.store.key(name) }
            #expect(failure?.code == "bad-secret-file")
            #expect(failure?.sentence.contains(fixture.store.path(of: name)) == true)
        }
    }
}

@Suite("Memory that a command reads as a file")
struct SealedMemoryTests {
    @Test("is read again and again by its path, and can't be changed")
    func contents() throws {
        let descriptor = try #require(SealedMemory.make(Array("AGE-SECRET-KEY-1X\n".utf8)))
        defer { close(descriptor) }
        let path = "/dev/fd/\(descriptor)"
        for _ in 0..<3 { #expect(TestFile.text(path) == "AGE-SECRET-KEY-1X\n") }
        #expect(write(descriptor, "x", 1) == -1 && ftruncate(descriptor, 0) == -1)
        // A command inherits it.
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC == 0)
    }
}
