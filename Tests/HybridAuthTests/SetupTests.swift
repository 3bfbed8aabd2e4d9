// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("hybrid-auth setup", .timeLimit(.minutes(10)))
struct SetupTests {
    private static let file = ".config/hybrid/auth.env"

    private func mode(_ fixture: ScanFixture, _ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: "\(fixture.folder)/\(name)")[.posixPermissions] as? Int
    }

    private func setup(
        _ fixture: ScanFixture,
        _ domain: String,
        _ more: [String] = []
    ) async throws -> RunningProgram.Ending {
        try await fixture.run(["setup", "--tunnel-domain", domain, "--no-check"] + more)
    }

    @Test("Writes a private file that scan reads")
    func written() async throws {
        try await ScanFixture.with { fixture in
            let before = try await fixture.run(["scan", "-"], input: ScanFixture.code + "\n")
            #expect(before.status == 64 && before.lastLine.contains("hybrid-auth setup"), "\(before)")
            let ending = try await setup(fixture, "266")
            #expect(ending.status == 0 && ending.errors.contains("HYBRID_TUNNEL_DOMAIN=266"), "\(ending)")
            #expect(fixture.text(Self.file) == "HYBRID_TUNNEL_DOMAIN=266\n")
            #expect(try mode(fixture, Self.file) == 0o600 && mode(fixture, ".config/hybrid") == 0o700)
            let after = try await fixture.run(["scan", "-"], input: ScanFixture.code + "\n")
            #expect(after.status == 69 && after.lastLine.contains(ScanFixture.afterReading), "\(after)")
        }
    }

    @Test("Running it again does not replace the file")
    func again() async throws {
        try await ScanFixture.with { fixture in
            _ = try await setup(fixture, "cable.wufkweyy3uaxb.com")
            var (first, second) = (stat(), stat())
            #expect(stat("\(fixture.folder)/\(Self.file)", &first) == 0)
            let ending = try await setup(fixture, "266")
            #expect(ending.status == 0 && ending.lastLine.contains("nothing to do"), "\(ending)")
            #expect(stat("\(fixture.folder)/\(Self.file)", &second) == 0)
            #expect(first.st_ino == second.st_ino)
        }
    }

    @Test("Keeps the other lines of the file")
    func kept() async throws {
        try await ScanFixture.with { fixture in
            try FileManager.default.createDirectory(
                atPath: fixture.folder + "/.config/hybrid",
                withIntermediateDirectories: true
            )
            let old = "# mine\n\nHYBRID_VAULT='/a b'\nHYBRID_TUNNEL_DOMAIN=2\\\n66\n; end\nHYBRID_PINENTRY=/x"
            _ = try fixture.write(Self.file, Array(old.utf8))
            let certificates = try fixture.write("ca.pem", Array(SampleCertificate.pem.utf8))
            let ending = try await setup(fixture, "4711", ["--cacert", certificates])
            #expect(ending.status == 0, "\(ending)")
            let real = URL(fileURLWithPath: certificates).resolvingSymlinksInPath().path
            #expect(
                fixture.text(Self.file)
                    == "# mine\n\nHYBRID_VAULT='/a b'\nHYBRID_TUNNEL_DOMAIN=4711\n; end\nHYBRID_PINENTRY=/x\n"
                    + "HYBRID_CACERT=\(real)\n"
            )
            #expect(try mode(fixture, Self.file) == 0o600)
            let names = try FileManager.default.contentsOfDirectory(atPath: fixture.folder + "/.config/hybrid")
            #expect(names == ["auth.env"], "no temporary files remain")
        }
    }

    @Test("Removes a relay's token when another relay is chosen")
    func tokens() async throws {
        try await ScanFixture.with { fixture in
            let token = try fixture.write("token", Array("secret\n".utf8))
            let real = URL(fileURLWithPath: token).resolvingSymlinksInPath().path
            _ = try await setup(fixture, "266", ["--tunnel-token-file", token])
            let both = "HYBRID_TUNNEL_DOMAIN=266\nHYBRID_TUNNEL_TOKEN_FILE=\(real)\n"
            #expect(fixture.text(Self.file) == both)
            let again = try await setup(fixture, "266")
            #expect(again.lastLine.contains("nothing to do") && fixture.text(Self.file) == both, "\(again)")

            let note = "is not sent"
            let same = try await fixture.run(["scan", "--tunnel-domain", "266", "-"], input: ScanFixture.code)
            #expect(same.lastLine.contains(ScanFixture.afterReading) && !same.errors.contains(note), "\(same)")
            let other = try await fixture.run(["scan", "--tunnel-domain", "4711", "-"], input: ScanFixture.code)
            #expect(other.lastLine.contains(ScanFixture.afterReading) && other.errors.contains(note), "\(other)")
            let given = try await fixture.run(["scan", "--tunnel-token-file", token, "-"], input: ScanFixture.code)
            #expect(given.lastLine.contains(ScanFixture.afterReading) && !given.errors.contains(note), "\(given)")

            let moved = try await setup(fixture, "4711")
            #expect(moved.status == 0 && moved.errors.contains("no HYBRID_TUNNEL_TOKEN_FILE"), "\(moved)")
            #expect(fixture.text(Self.file) == "HYBRID_TUNNEL_DOMAIN=4711\n")
        }
    }

    @Test("A relay's link chooses the relay, and its token is saved in a private file")
    func links() async throws {
        try await ScanFixture.with { fixture in
            let token = ".config/hybrid/relay-token-266"
            func link(_ text: String, input: String? = nil) async throws -> RunningProgram.Ending {
                try await fixture.run(["setup", "--no-check", "--json", "--link", text], input: input)
            }
            let plain = try await link("HYBRID-RELAY:266")
            #expect(plain.status == 0 && plain.lastLine.contains(#""state":"saved""#), "\(plain)")
            #expect(fixture.text(Self.file) == "HYBRID_TUNNEL_DOMAIN=266\n" && !fixture.exists(token))
            let secret = try await link("-", input: "hybrid-relay:cable.wufkweyy3uaxb.com?token=se.cret\r\n")
            #expect(secret.status == 0 && !secret.errors.contains("se.cret"), "\(secret)")
            #expect(try fixture.text(token) == "se.cret\n" && mode(fixture, token) == 0o600)
            let saved = URL(fileURLWithPath: fixture.folder + "/" + token).resolvingSymlinksInPath().path
            #expect(fixture.text(Self.file).contains("HYBRID_TUNNEL_TOKEN_FILE=\(saved)\n"))
            let again = try await link("hybrid-relay:266?token=se.cret")
            #expect(again.lastLine.contains(#""state":"unchanged""#), "\(again)")
            let renewed = try await link("hybrid-relay:266?token=newer")
            #expect(renewed.lastLine.contains(#""state":"saved""#) && fixture.text(token) == "newer\n", "\(renewed)")
            let other = try await link("hybrid-relay:4711?token=other")
            #expect(other.status == 0 && fixture.text(token) == "newer\n", "a relay's token stays its own: \(other)")
            let before = fixture.text(Self.file)
            for wrong in [
                "", "FIDO:/123", "hybrid-relay:", "hybrid-relay:example.com", "hybrid-relay:266?",
                "hybrid-relay:266?token=",
                "hybrid-relay:266?token=a b", "hybrid-relay:266?key=a", "hybrid-relay:266#a",
                "hybrid-relay:266?token=" + String(repeating: "a", count: 600),
                String(repeating: "hybrid-relay:", count: 99),
            ] {
                let ending = try await link(wrong)
                #expect(ending.status == 65 && ending.lastLine.hasPrefix(#"{"event":"error""#), "\(wrong): \(ending)")
            }
            #expect(fixture.text(Self.file) == before)
            let both = try await fixture.run(["setup", "--link", "hybrid-relay:266", "--tunnel-domain", "266"])
            #expect(both.status == 64, "\(both)")
        }
    }

    @Test("Reports bad input in one line and leaves the file unchanged")
    func badInput() async throws {
        try await ScanFixture.with { fixture in
            for wrong in ["999999", "example.com", "", "5", "-1"] {
                let ending = try await setup(fixture, wrong)
                #expect(ending.status == 64, "\(wrong): \(ending)")
            }
            let silent = try await fixture.run(["setup"])
            #expect(silent.status == 64 && silent.lastLine.contains("--tunnel-domain"), "\(silent)")
            let token = try await setup(fixture, "266", ["--tunnel-token-file", fixture.folder + "/none"])
            #expect(token.status == 66 && token.lastLine.contains("no such file"), "\(token)")
            let empty = try fixture.write("empty", [])
            for option in ["--tunnel-token-file", "--cacert"] {
                for file in [empty, fixture.folder] {
                    let unusable = try await setup(fixture, "266", [option, file])
                    #expect(unusable.status == 66 && unusable.lastLine.contains(file), "\(unusable)")
                }
            }
            #expect(!fixture.exists(Self.file))
            try FileManager.default.createDirectory(
                atPath: fixture.folder + "/.config/hybrid",
                withIntermediateDirectories: true
            )
            _ = try fixture.write(Self.file, Array("HYBRID_VAULT /a\n".utf8))
            let broken = try await setup(fixture, "266")
            #expect(broken.status == 78 && broken.lastLine.contains("auth.env line 1"), "\(broken)")
            #expect(fixture.text(Self.file) == "HYBRID_VAULT /a\n")
            let path = "\(fixture.folder)/\(Self.file)"
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: fixture.folder + "/none")
            let dangling = try await setup(fixture, "266")
            #expect(dangling.status == 78 && dangling.lastLine.contains("leads nowhere"), "\(dangling)")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == fixture.folder + "/none")
        }
    }

    @Test("Rejects a relay that cannot be reached, except with --no-check")
    func unreachable() async throws {
        try await ScanFixture.with { fixture in
            let ending = try await fixture.run(
                ["setup", "--tunnel-domain", "266", "--connect-to", "::127.0.0.1:1"]
            )
            #expect(ending.status == 69 && ending.lastLine.contains("nothing was written"), "\(ending)")
            #expect(!fixture.exists(Self.file))
        }
    }

    @Test("Checks a working relay and saves it")
    func checked() async throws {
        try await ScanFixture.with { fixture in
            let script = """
                set -e; cd "$1"
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 2 \
                  -subj "/CN=test authority" -addext keyUsage=critical,keyCertSign
                openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout relay.key -out relay.csr \
                  -subj "/CN=relay"
                printf 'subjectAltName=DNS:cable.wufkweyy3uaxb.com\\nextendedKeyUsage=serverAuth\\n' > relay.ext
                openssl x509 -req -in relay.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile relay.ext \
                  -out relay.pem
                """
            let openssl = try SpawnedProcess(
                ["/bin/sh", "-c", script, "sh", fixture.folder],
                environment: fixture.environment()
            )
            try #require(try await openssl.end() == 0)
            let relay = try RunningProgram(
                "hybrid-relay",
                [
                    "serve", "--listen", "127.0.0.1:0", "--tls-cert", fixture.folder + "/relay.pem", "--tls-key",
                    fixture.folder + "/relay.key",
                ],
                in: fixture.folder,
                environment: fixture.environment()
            )
            let line = try await relay.line { $0.contains("listening on") }
            let port = try #require(line.split(separator: ":").last.flatMap { Int($0) })
            let ending = try await fixture.run([
                "setup", "--tunnel-domain", "266", "--cacert", fixture.folder + "/ca.pem", "--connect-to",
                "::127.0.0.1:\(port)",
            ])
            #expect(ending.status == 0 && ending.errors.contains("the relay works"), "\(ending)")
            #expect(fixture.text(Self.file).contains("HYBRID_TUNNEL_DOMAIN=266\n"))
            let again = try await fixture.run([
                "setup", "--tunnel-domain", "266", "--connect-to", "::127.0.0.1:\(port)",
            ])
            #expect(
                again.status == 0 && again.lastLine.contains("nothing to do"),
                "saves the trusted certificates: \(again)"
            )

            // The relay answers only after the file was changed.
            try FileManager.default.removeItem(atPath: fixture.folder + "/" + Self.file)
            relay.send(SIGSTOP)
            let late = try fixture.start([
                "setup", "--tunnel-domain", "266", "--cacert", fixture.folder + "/ca.pem", "--connect-to",
                "::127.0.0.1:\(port)",
            ])
            _ = try await late.line { $0.contains("checking the relay") }
            _ = try fixture.write(Self.file, Array("HYBRID_VAULT=/mine\n".utf8))
            relay.send(SIGCONT)
            let refused = try await late.ending()
            #expect(refused.status == 75 && refused.lastLine.contains("changed in the meantime"), "\(refused)")
            #expect(fixture.text(Self.file) == "HYBRID_VAULT=/mine\n")
            let names = try FileManager.default.contentsOfDirectory(atPath: fixture.folder + "/.config/hybrid")
            #expect(names == ["auth.env"], "no temporary files remain")
            relay.send(SIGINT)
            _ = try await relay.ending(within: .seconds(60))
        }
    }

    @Test("A variable that is not a setting is an error")
    func unknown() async throws {
        try await ScanFixture.with { fixture in
            let ending = try await fixture.run(["scan", "-"], input: ScanFixture.code, ["HYBRID_TUNEL_DOMAIN": "266"])
            #expect(ending.status == 78 && ending.lastLine.contains("HYBRID_TUNNEL_DOMAIN"), "\(ending)")
        }
    }
}
