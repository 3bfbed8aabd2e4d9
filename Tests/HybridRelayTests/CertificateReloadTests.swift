// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("A certificate that is reloaded", .timeLimit(.minutes(10)))
struct CertificateReloadTests {
    /// Creates a root and a certificate that it has issued, and returns both as PEM text.
    private static func issue(in folder: String) async throws -> (leaf: String, root: String) {
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        func create(_ name: String, _ arguments: [String]) async throws -> String {
            let files = ["-keyout", "\(folder)/\(name).key", "-out", "\(folder)/\(name).pem"]
            let subject = ["-subj", "/CN=\(name)"]
            let openssl = try SpawnedProcess(["openssl", "req", "-x509"] + key + subject + files + arguments)
            try #require(try await openssl.end() == 0)
            return TestFile.text("\(folder)/\(name).pem")
        }
        let root = try await create("root", [])
        let signer = ["-CA", "\(folder)/root.pem", "-CAkey", "\(folder)/root.key"]
        let leaf = try await create("leaf", signer + ["-addext", "basicConstraints=critical,CA:FALSE"])
        return (leaf, root)
    }

    @Test("stays suspect while its issuers are missing, however often it is reloaded, until they are back")
    func incomplete() async throws {
        try await Folder.with { folder in
            let (leaf, root) = try await Self.issue(in: folder)
            let chain = folder + "/chain.pem"
            try Folder.write(leaf + root, to: chain)
            let options = ["--tls-cert", chain, "--tls-key", "\(folder)/leaf.key"]
            try await RelayProcess.run(options) { relay in
                let warning = "clients may refuse the certificate: the issuers' certificates are missing"
                func warnings() -> Int { relay.program.errors.split(separator: warning).count - 1 }
                func isSuspect() async throws -> Bool {
                    try await relay.metric("hybrid_relay_certificate_suspect") == 1
                }
                #expect(try await !isSuspect())
                try Folder.write(leaf, to: chain)
                try await Waiting.until("the first reload", evidence: relay.program.errors) { warnings() >= 1 }
                #expect(try await isSuspect())
                let before = warnings()
                relay.program.send(SIGHUP)
                try await Waiting.until("the second reload", evidence: relay.program.errors) { warnings() > before }
                #expect(try await isSuspect())
                // An editor has added a byte order mark.
                try Folder.write("\u{FEFF}" + leaf + root, to: chain)
                try await Waiting.until("the repair", evidence: relay.program.errors) { try await !isSuspect() }
                #expect(!relay.program.errors.contains("kept the old"))
            }
        }
    }
}
