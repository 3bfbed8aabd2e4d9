// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("Setting up", .timeLimit(.minutes(10)))
struct SetupTests {
    private static let file = ".config/hybrid/auth.env"

    private func mode(_ desk: Desk, _ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: "\(desk.folder)/\(name)")[.posixPermissions] as? Int
    }

    private func setup(_ desk: Desk, _ domain: String, _ more: [String] = []) async throws -> RunningProgram.Ending {
        try await desk.run(["setup", "--tunnel-domain", domain, "--no-check"] + more)
    }

    @Test("writes a file that only its owner reads, in which scan finds the relay")
    func written() async throws {
        try await Desk.with { desk in
            let before = try await desk.run(["scan", "-"], input: Desk.code + "\n")
            #expect(before.status == 64 && before.lastLine.contains("hybrid-auth setup"), "\(before)")
            let ending = try await setup(desk, "266")
            #expect(ending.status == 0 && ending.errors.contains("HYBRID_TUNNEL_DOMAIN=266"), "\(ending)")
            #expect(desk.text(Self.file) == "HYBRID_TUNNEL_DOMAIN=266\n")
            #expect(try mode(desk, Self.file) == 0o600 && mode(desk, ".config/hybrid") == 0o700)
            let after = try await desk.run(["scan", "-"], input: Desk.code + "\n")
            #expect(after.status == 69 && after.lastLine.contains(Desk.afterReading), "\(after)")
        }
    }

    @Test("again changes nothing, not even the file's time")
    func again() async throws {
        try await Desk.with { desk in
            _ = try await setup(desk, "cable.wufkweyy3uaxb.com")
            var (first, second) = (stat(), stat())
            #expect(stat("\(desk.folder)/\(Self.file)", &first) == 0)
            let ending = try await setup(desk, "266")
            #expect(ending.status == 0 && ending.lastLine.contains("nothing to do"), "\(ending)")
            #expect(stat("\(desk.folder)/\(Self.file)", &second) == 0)
            #expect(first.st_ino == second.st_ino)
        }
    }

    @Test("keeps what else is in the file, as it stands there")
    func kept() async throws {
        try await Desk.with { desk in
            try FileManager.default.createDirectory(
                atPath: desk.folder + "/.config/hybrid",
                withIntermediateDirectories: true
            )
            let old = "# mine\n\nHYBRID_VAULT='/a b'\nHYBRID_TUNNEL_DOMAIN=2\\\n66\n; end\nHYBRID_PINENTRY=/x"
            _ = try desk.write(Self.file, Array(old.utf8))
            let certificates = try desk.write("ca.pem", Array(SampleCertificate.pem.utf8))
            let ending = try await setup(desk, "4711", ["--cacert", certificates])
            #expect(ending.status == 0, "\(ending)")
            let real = URL(fileURLWithPath: certificates).resolvingSymlinksInPath().path
            #expect(
                desk.text(Self.file)
                    == "# mine\n\nHYBRID_VAULT='/a b'\nHYBRID_TUNNEL_DOMAIN=4711\n; end\nHYBRID_PINENTRY=/x\n"
                    + "HYBRID_CACERT=\(real)\n"
            )
            #expect(try mode(desk, Self.file) == 0o600)
            let names = try FileManager.default.contentsOfDirectory(atPath: desk.folder + "/.config/hybrid")
            #expect(names == ["auth.env"], "nothing is left over")
        }
    }

    @Test("leaves a relay's token out where another relay is chosen, and keeps it for the same")
    func tokens() async throws {
        try await Desk.with { desk in
            let token = try desk.write("token", Array("secret\n".utf8))
            let real = URL(fileURLWithPath: token).resolvingSymlinksInPath().path
            _ = try await setup(desk, "266", ["--tunnel-token-file", token])
            let both = "HYBRID_TUNNEL_DOMAIN=266\nHYBRID_TUNNEL_TOKEN_FILE=\(real)\n"
            #expect(desk.text(Self.file) == both)
            let again = try await setup(desk, "266")
            #expect(again.lastLine.contains("nothing to do") && desk.text(Self.file) == both, "\(again)")

            let note = "is not sent"
            let same = try await desk.run(["scan", "--tunnel-domain", "266", "-"], input: Desk.code)
            #expect(same.lastLine.contains(Desk.afterReading) && !same.errors.contains(note), "\(same)")
            let other = try await desk.run(["scan", "--tunnel-domain", "4711", "-"], input: Desk.code)
            #expect(other.lastLine.contains(Desk.afterReading) && other.errors.contains(note), "\(other)")
            let given = try await desk.run(["scan", "--tunnel-token-file", token, "-"], input: Desk.code)
            #expect(given.lastLine.contains(Desk.afterReading) && !given.errors.contains(note), "\(given)")

            let moved = try await setup(desk, "4711")
            #expect(moved.status == 0 && moved.errors.contains("no HYBRID_TUNNEL_TOKEN_FILE"), "\(moved)")
            #expect(desk.text(Self.file) == "HYBRID_TUNNEL_DOMAIN=4711\n")
        }
    }

    @Test("with bad input is one clear line, and the file is as it was")
    func badInput() async throws {
        try await Desk.with { desk in
            for wrong in ["999999", "example.com", "", "5", "-1"] {
                let ending = try await setup(desk, wrong)
                #expect(ending.status == 64, "\(wrong): \(ending)")
            }
            let silent = try await desk.run(["setup"])
            #expect(silent.status == 64 && silent.lastLine.contains("--tunnel-domain"), "\(silent)")
            let token = try await setup(desk, "266", ["--tunnel-token-file", desk.folder + "/none"])
            #expect(token.status == 66 && token.lastLine.contains("no such file"), "\(token)")
            let empty = try desk.write("empty", [])
            for option in ["--tunnel-token-file", "--cacert"] {
                for file in [empty, desk.folder] {
                    let unusable = try await setup(desk, "266", [option, file])
                    #expect(unusable.status == 66 && unusable.lastLine.contains(file), "\(unusable)")
                }
            }
            #expect(!desk.exists(Self.file))
            try FileManager.default.createDirectory(
                atPath: desk.folder + "/.config/hybrid",
                withIntermediateDirectories: true
            )
            _ = try desk.write(Self.file, Array("HYBRID_VAULT /a\n".utf8))
            let broken = try await setup(desk, "266")
            #expect(broken.status == 78 && broken.lastLine.contains("auth.env line 1"), "\(broken)")
            #expect(desk.text(Self.file) == "HYBRID_VAULT /a\n")
            let path = "\(desk.folder)/\(Self.file)"
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: desk.folder + "/none")
            let dangling = try await setup(desk, "266")
            #expect(dangling.status == 78 && dangling.lastLine.contains("leads nowhere"), "\(dangling)")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == desk.folder + "/none")
        }
    }

    @Test("refuses a relay that can't be reached, unless told not to look")
    func unreachable() async throws {
        try await Desk.with { desk in
            let ending = try await desk.run(
                ["setup", "--tunnel-domain", "266", "--connect-to", "::127.0.0.1:1"]
            )
            #expect(ending.status == 69 && ending.lastLine.contains("nothing was written"), "\(ending)")
            #expect(!desk.exists(Self.file))
        }
    }

    @Test("checks a relay that works, and remembers it")
    func checked() async throws {
        try await Desk.with { desk in
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
                ["/bin/sh", "-c", script, "sh", desk.folder],
                environment: desk.environment()
            )
            try #require(try await openssl.end() == 0)
            let relay = try RunningProgram(
                "hybrid-relay",
                [
                    "serve", "--listen", "127.0.0.1:0", "--tls-cert", desk.folder + "/relay.pem", "--tls-key",
                    desk.folder + "/relay.key",
                ],
                in: desk.folder,
                environment: desk.environment()
            )
            let line = try await relay.line { $0.contains("listening on") }
            let port = try #require(line.split(separator: ":").last.flatMap { Int($0) })
            let ending = try await desk.run([
                "setup", "--tunnel-domain", "266", "--cacert", desk.folder + "/ca.pem", "--connect-to",
                "::127.0.0.1:\(port)",
            ])
            #expect(ending.status == 0 && ending.errors.contains("the relay works"), "\(ending)")
            #expect(desk.text(Self.file).contains("HYBRID_TUNNEL_DOMAIN=266\n"))
            let again = try await desk.run(["setup", "--tunnel-domain", "266", "--connect-to", "::127.0.0.1:\(port)"])
            #expect(again.status == 0 && again.lastLine.contains("nothing to do"), "remembers whom to trust: \(again)")

            // The relay does not answer before the file was changed by somebody else.
            try FileManager.default.removeItem(atPath: desk.folder + "/" + Self.file)
            relay.send(SIGSTOP)
            let late = try desk.start([
                "setup", "--tunnel-domain", "266", "--cacert", desk.folder + "/ca.pem", "--connect-to",
                "::127.0.0.1:\(port)",
            ])
            _ = try await late.line { $0.contains("checking the relay") }
            _ = try desk.write(Self.file, Array("HYBRID_VAULT=/mine\n".utf8))
            relay.send(SIGCONT)
            let refused = try await late.ending()
            #expect(refused.status == 75 && refused.lastLine.contains("changed meanwhile"), "\(refused)")
            #expect(desk.text(Self.file) == "HYBRID_VAULT=/mine\n")
            let names = try FileManager.default.contentsOfDirectory(atPath: desk.folder + "/.config/hybrid")
            #expect(names == ["auth.env"], "nothing is left over")
            relay.send(SIGINT)
            _ = try await relay.ending(within: .seconds(60))
        }
    }

    @Test("and whatever else is configured: a name that is no setting is an error")
    func unknown() async throws {
        try await Desk.with { desk in
            let ending = try await desk.run(["scan", "-"], input: Desk.code, ["HYBRID_TUNEL_DOMAIN": "266"])
            #expect(ending.status == 78 && ending.lastLine.contains("HYBRID_TUNNEL_DOMAIN"), "\(ending)")
        }
    }
}
