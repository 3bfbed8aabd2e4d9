// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridCaBLE
import HybridPrimitives
import TestSupport
import Testing

/// The results of both programs of a ceremony.
struct CeremonyResult: CustomStringConvertible {
    let client: RunningProgram.Ending
    let authenticator: RunningProgram.Ending

    var isSuccess: Bool { client.status == 0 && authenticator.status == 0 }
    var description: String { "client: \(client)\nauthenticator: \(authenticator)" }

    /// Expects both programs to succeed.
    func expectSuccess(
        _ comment: Comment = "",
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(isSuccess, "\(self) \(comment)", sourceLocation: location)
    }
}

extension RunningProgram.Ending {
    /// The last line on standard output, which contains the result of a counterpart.
    var lastOutput: String { output.split(separator: "\n").last.map(String.init) ?? "" }

    /// Expects a status, a last line of the program on standard error that contains `words`, and no standard output.
    func expect(_ status: Int32, _ words: String, _ location: SourceLocation = #_sourceLocation) {
        expect(status, errors: words, location)
        #expect(lastLine.contains(words), "\(self)", sourceLocation: location)
    }

    /// Expects a status, `words` on standard error, a last line of the program there, and no standard output.
    func expect(_ status: Int32, errors words: String, _ location: SourceLocation = #_sourceLocation) {
        #expect(self.status == status, "\(self)", sourceLocation: location)
        #expect(lastLine.hasPrefix("hybrid-"), "\(self)", sourceLocation: location)
        #expect(errors.contains(words), "\(self)", sourceLocation: location)
        #expect(output.isEmpty, "\(self)", sourceLocation: location)
    }

    /// Returns the JSON objects on standard error.
    func events() throws -> [JSONValue] { try JSONValue.lines(errors) }
}

extension JSONValue {
    /// Returns the value of each line.
    static func lines(_ text: String) throws -> [JSONValue] {
        try text.split(separator: "\n").map { try JSONDecoder().decode(JSONValue.self, from: Data($0.utf8)) }
    }
}

extension QROffer {
    /// Returns the offer of a client that does not exist, or of the test itself.
    static func random(
        key: P256.KeyAgreement.PublicKey = P256.KeyAgreement.PrivateKey(compactRepresentable: false).publicKey,
        hint: RequestHint = .getAssertion
    ) -> QROffer {
        var generator = SystemRandomNumberGenerator()
        return QROffer(clientKey: key, secret: QRSecret(using: &generator), created: 1_700_000_000, hint: hint)
    }
}

extension CeremonyEnvironment {
    /// The vault of the authenticator.
    var vault: String { folder + "/vault" }

    /// Writes the settings file of hybrid-client.
    func configure(_ text: String) throws {
        let settings = folder + "/config/hybrid"
        try FileManager.default.createDirectory(atPath: settings, withIntermediateDirectories: true)
        try TestFile.write(text, to: settings + "/client.env")
    }

    /// Starts `hybrid-client show-qr`.
    func showQR(
        _ options: String,
        origin: String = origin,
        network: [String]? = nil,
        extra: [String] = [],
        variables: [String: String] = [:],
        output: String? = nil
    ) throws -> RunningProgram {
        let display = extra.contains("--json") ? [] : ["--print-url"]
        return try start(
            "hybrid-client",
            ["show-qr", "--request", "-", "--origin", origin] + display + (network ?? self.network) + extra,
            variables: variables,
            input: options,
            output: output
        )
    }

    /// Starts `hybrid-client show-qr` and waits for its code.
    func startClient(
        _ options: String,
        origin: String = origin,
        network: [String]? = nil,
        extra: [String] = [],
        variables: [String: String] = [:]
    ) async throws -> (program: RunningProgram, code: String) {
        let client = try showQR(options, origin: origin, network: network, extra: extra, variables: variables)
        guard extra.contains("--json") else { return (client, try await client.line { $0.hasPrefix("FIDO:/") }) }
        let event = try await client.line { $0.contains(#""event":"qr""#) }
        return (client, try JSONDecoder().decode(JSONValue.self, from: Data(event.utf8)).text("text"))
    }

    /// Starts `hybrid-auth scan` with a code, under another program if `tracer` is not empty.
    func startAuthenticator(
        _ code: String,
        _ user: TestUser = TestUser(),
        domain: Int = Self.domain,
        network: [String]? = nil,
        pinentry: String? = nil,
        link: Bool = false,
        extra: [String] = [],
        variables: [String: String] = [:],
        under tracer: [String] = []
    ) throws -> RunningProgram {
        var arguments: [String] = tracer.isEmpty ? [] : tracer.dropFirst() + [BuildFolder.program("hybrid-auth")]
        arguments += ["scan", link ? "--link=\(code)" : "-", "--vault", vault, "--tunnel-domain", "\(domain)"]
        arguments += ["--pinentry", pinentry ?? TestUser.program(in: folder)]
        arguments += (network ?? self.network) + extra
        return try start(
            tracer.first ?? "hybrid-auth",
            arguments,
            variables: user.variables(in: folder).merging(variables) { $1 },
            input: code + "\n"
        )
    }

    /// Runs a ceremony between hybrid-client and hybrid-auth.
    func runCeremony(
        _ options: String,
        _ user: TestUser = TestUser(),
        origin: String = origin
    ) async throws -> CeremonyResult {
        let (client, code) = try await startClient(options, origin: origin)
        let authenticator = try startAuthenticator(code, user)
        return CeremonyResult(client: try await client.ending(), authenticator: try await authenticator.ending())
    }

    /// Starts a counterpart that takes part in a ceremony.
    func startCounterpart(_ name: String, _ arguments: [String], input: String) throws -> Counterpart {
        let network = ["--relay", "127.0.0.1:\(relay.port)", "--ca", folder + "/ca.pem"]
        return try counterparts.start(name, network + arguments, input: input)
    }

    /// Runs a ceremony between a foreign client and hybrid-auth.
    func runAuthenticator(
        for user: TestUser = TestUser(),
        with client: String = "client.py",
        _ arguments: [String],
        requests: String,
        extra: [String] = []
    ) async throws -> CeremonyResult {
        let client = try startCounterpart(client, arguments, input: requests)
        let authenticator = try startAuthenticator(try await client.firstLine(), user, extra: extra)
        return CeremonyResult(client: try await client.ending(), authenticator: try await authenticator.ending())
    }

    /// Runs a ceremony between hybrid-client and a foreign authenticator.
    func runClient(
        _ options: String,
        extra: [String] = [],
        with authenticator: String = "authenticator.py",
        _ arguments: [String]
    ) async throws -> CeremonyResult {
        let (client, code) = try await startClient(options, extra: extra)
        let authenticator = try startCounterpart(authenticator, arguments, input: code)
        return CeremonyResult(client: try await client.ending(), authenticator: try await authenticator.ending())
    }

    /// Registers the passkey that a test then uses.
    func registerPasskey() async throws {
        let result = try await runCeremony(try await site("create-options"))
        try #require(result.isSuccess, "\(result)")
        try await site("verify-creation", input: result.client.output)
    }

    /// Returns the contents of every passkey's file.
    ///
    /// They stay the same if a user enters the PIN and then declines; the history does not.
    func passkeys() -> [String: Data] { TestFile.contents(below: vault + "/records") }

    /// Returns the contents of every file of the vault.
    func vaultContents() -> [String: Data] { TestFile.contents(below: vault) }
}
