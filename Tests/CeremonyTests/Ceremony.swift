// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridVirtualBlueZ
import TestSupport

/// One ceremony between the two programs.
struct Ceremony {
    let client: RunningProgram.Ending
    let authenticator: RunningProgram.Ending
}

extension Stage {
    /// Starts the desktop and waits for its code.
    func startClient(
        _ options: String,
        origin: String = RelyingParty.origin,
        extra: [String] = [],
        variables: [String: String] = [:]
    ) async throws -> (program: RunningProgram, code: String) {
        let client = try RunningProgram(
            "hybrid-client",
            ["show-qr", "--request", "-", "--origin", origin, "--print-url"] + network + extra,
            in: folder,
            environment: environment(variables),
            input: options
        )
        return (client, try await client.line { $0.hasPrefix("FIDO:/") })
    }

    /// Starts the phone on a code; under another program if that is given, with its arguments.
    func startAuthenticator(
        _ code: String,
        _ person: Person = Person(),
        vault: String? = nil,
        domain: Int = Stage.domain,
        network: [String]? = nil,
        pinentry: String? = nil,
        link: Bool = false,
        extra: [String] = [],
        variables: [String: String] = [:],
        under tracer: [String] = []
    ) throws -> RunningProgram {
        try RunningProgram(
            tracer.first ?? "hybrid-auth",
            (tracer.isEmpty ? [] : tracer.dropFirst() + [BuildFolder.program("hybrid-auth")]) + [
                "scan", link ? "--link=\(code)" : "-", "--vault", vault ?? self.vault, "--tunnel-domain", "\(domain)",
                "--pinentry", pinentry ?? Person.program(in: folder),
            ] + (network ?? self.network) + extra,
            in: folder,
            environment: environment(person.variables(self)).merging(variables) { $1 },
            input: code + "\n"
        )
    }

    /// Where the phone's passkeys are.
    var vault: String { folder + "/vault" }

    /// A whole ceremony; both programs end by themselves.
    func perform(_ options: String, _ person: Person = Person(), vault: String? = nil) async throws -> Ceremony {
        let (client, code) = try await startClient(options)
        let authenticator = try startAuthenticator(code, person, vault: vault)
        return Ceremony(client: try await client.ending(), authenticator: try await authenticator.ending())
    }

    /// Registers a passkey that the tests then use.
    func register(_ site: RelyingParty) async throws {
        let made = try await perform(try await site.run("create-options"))
        guard made.client.status == 0, made.authenticator.status == 0 else {
            throw RelyingParty.Refused(description: "no registration:\n\(made.client)\n\(made.authenticator)")
        }
        try await site.run("verify-creation", input: made.client.output)
    }

    /// Waits until nothing is on the air, and fails if that takes longer.
    func expectSilence(within limit: Duration = .seconds(60)) async throws {
        try await Waiting.until("a silent radio", within: limit) { try await air.activeAdverts().isEmpty }
    }

    /// Every passkey's file: what stays as it is where a person typed the PIN and then nothing came of it.
    ///
    /// The history says that they did.
    func passkeys() -> [String: Data] { snapshot(of: vault + "/records") }

    /// Every file below the vault with its contents, to see that nothing was changed.
    func snapshot(of path: String) -> [String: Data] {
        var files: [String: Data] = [:]
        for name in FileManager.default.enumerator(atPath: path).map({ Array($0) }) ?? [] {
            guard let name = name as? String else { continue }
            files[name] = FileManager.default.contents(atPath: path + "/" + name)
        }
        return files
    }
}
