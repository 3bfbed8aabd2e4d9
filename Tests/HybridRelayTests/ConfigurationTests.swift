// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("The configuration of the relay", .timeLimit(.minutes(10)))
struct ConfigurationTests {
    struct Mistake: CustomTestStringConvertible, Sendable {
        let arguments: [String]
        var environment: [String: String] = [:]
        let status: Int32
        let says: String

        var testDescription: String { (arguments + environment.map { "\($0)=\($1)" }).joined(separator: " ") }
    }

    static let mistakes = [
        Mistake(arguments: ["--plaintext"], status: 64, says: "--listen"),
        Mistake(arguments: ["--listen", "127.0.0.1:0"], status: 64, says: "--tls-cert"),
        Mistake(arguments: ["--listen", "127.0.0.1", "--plaintext"], status: 64, says: "HOST:PORT"),
        Mistake(arguments: ["--listen", "0.0.0.0:0", "--plaintext"], status: 64, says: "--insecure-public-plaintext"),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--plaintext", "--cluster"],
            status: 64,
            says: "--cluster needs --node"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--plaintext", "--node", "1", "--region", "1"],
            status: 64,
            says: "--region needs --cluster"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--plaintext", "--cluster", "--region", "1", "--node", "1024"],
            status: 64,
            says: "0 to 1023"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--plaintext", "--cluster", "--region", "64", "--node", "1"],
            status: 64,
            says: "--region"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--plaintext", "--node", "70000"],
            status: 64,
            says: "--node"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:4433", "--plaintext", "--admin-listen", "127.0.0.1:4433"],
            status: 64,
            says: "cannot be the public one"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--plaintext", "--proxy-protocol-from", "10.0.0.1/8"],
            status: 64,
            says: "--proxy-protocol-from"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--plaintext", "--proxy-protocol-from", "8.8.8.0/24"],
            status: 64,
            says: "--insecure-public-balancers"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--plaintext", "--push-allow", "ntfy.lan/../x"],
            status: 64,
            says: "HOST[:PORT][/PATH]"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--plaintext", "--contact-host", "Relay.example"],
            status: 64,
            says: "--contact-host"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--plaintext"],
            environment: ["HYBRID_CONTACT_HOST": "relay.example:443"],
            status: 78,
            says: "HYBRID_CONTACT_HOST"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--plaintext", "--new-token-file", "/nonexistent"],
            status: 66,
            says: "/nonexistent: there is no such file"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--tls-cert", "/nonexistent", "--tls-key", "/nonexistent"],
            status: 66,
            says: "/nonexistent can't be read: No such file or directory; install certificate and key"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--tls-cert", "/usr", "--tls-key", "/usr"],
            status: 66,
            says: "/usr can't be read: Is a directory"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--plaintext", "--config", "/nonexistent"],
            status: 66,
            says: "/nonexistent"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0"],
            environment: ["HYBRID_TLS_CERT": "/tmp/chain.pem"],
            status: 78,
            says: "--tls-key"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--plaintext", "--tls-key", "/tmp/key.pem"],
            environment: ["HYBRID_TLS_CERT": "/tmp/chain.pem"],
            status: 78,
            says: "remove HYBRID_TLS_CERT in the environment and --tls-key, or --plaintext"
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--plaintext"],
            environment: ["HYBRID_IDLE_TIMEOUT": "5m"],
            status: 78,
            says: #"HYBRID_IDLE_TIMEOUT in the environment: "5m" is not"#
        ),
        Mistake(
            arguments: ["--listen", "127.0.0.1:0", "--plaintext"],
            environment: ["HYBRID_IDLE_TIMOUT": "5"],
            status: 78,
            says: "HYBRID_IDLE_TIMEOUT is one"
        ),
    ]

    @Test("errors are reported in one line with a remedy", arguments: mistakes)
    func mistake(_ mistake: Mistake) async throws {
        try await Folder.with { folder in
            let ending = try await RelayProcess.command(
                ["serve"] + mistake.arguments,
                in: folder,
                environment: mistake.environment
            )
            #expect(ending.status == mistake.status && ending.output == "", "\(ending)")
            #expect(ending.errors.split(separator: "\n").count == 1, "\(ending)")
            #expect(ending.lastLine.contains(mistake.says), "\(ending)")
        }
    }

    @Test("check-config prints each value and its source: flag, variable, file, default")
    func sources() async throws {
        try await Folder.with { folder in
            let file = folder + "/relay.env"
            try Folder.write("HYBRID_IDLE_TIMEOUT=50\nHYBRID_MAX_TUNNELS=\"70\"\nHYBRID_PLAINTEXT=yes\n", to: file)
            let ending = try await RelayProcess.command(
                ["check-config", "--config", file, "--listen", "127.0.0.1:0", "--max-tunnels", "90"],
                in: folder,
                environment: ["HYBRID_IDLE_TIMEOUT": "60", "HYBRID_WAITING_TIMEOUT": "7"]
            )
            #expect(ending.status == 0, "\(ending)")
            let rows = ending.output.split(separator: "\n").map {
                $0.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
            }
            func row(_ name: String) -> [String]? { rows.first { $0.first == name } }
            #expect(row("listen") == ["listen", "127.0.0.1:0", "--listen"])
            #expect(row("max-tunnels") == ["max-tunnels", "90", "--max-tunnels"])
            #expect(row("idle-timeout")?[1] == "60" && row("idle-timeout")?[2] == "HYBRID_IDLE_TIMEOUT")
            #expect(row("waiting-timeout")?[1] == "7")
            #expect(row("plaintext")?[1] == "yes" && ending.output.contains("\(file) line 3"))
            #expect(row("head-timeout") == ["head-timeout", "5", "default"])

            let json = try await RelayProcess.command(
                ["check-config", "--config", file, "--listen", "127.0.0.1:0", "--json"],
                in: folder
            )
            let value = try JSONDecoder().decode(JSONValue.self, from: Data(json.output.utf8))
            #expect(try value.elements.contains { try $0.text("name") == "idle-timeout" && $0.text("value") == "50" })
        }
    }

    @Test("check-config fails like serve")
    func same() async throws {
        try await Folder.with { folder in
            let ending = try await RelayProcess.command(
                ["check-config", "--plaintext", "--listen", "127.0.0.1:0", "--new-token-file", "/nonexistent"],
                in: folder
            )
            #expect(ending.status == 66 && ending.lastLine.contains("/nonexistent: there is no such file"), "\(ending)")
            #expect(ending.output.contains(/new-token-file +\/nonexistent +--new-token-file/), "\(ending)")
        }
    }

    @Test("check-config fails if its output cannot be written", arguments: [[], ["--json"]])
    func fullOutput(_ format: [String]) async throws {
        try await Folder.with { folder in
            let ending = try await RelayProcess.command(
                ["check-config", "--plaintext", "--listen", "127.0.0.1:0"] + format,
                in: folder,
                output: "/dev/full"
            )
            #expect(ending.status == 74 && ending.lastLine.contains("standard output"), "\(ending)")
        }
    }
}
