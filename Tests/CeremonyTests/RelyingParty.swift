// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The properties of a response that the relying party accepted.
struct Verdict: Decodable {
    struct PRF: Decodable {
        let enabled: Bool?
        let results: [String: String]?
    }

    struct LargeBlob: Decodable, Equatable {
        var supported: Bool?
        var written: Bool?
        var blob: String?
    }

    struct CredentialProperties: Decodable {
        let rk: Bool?
    }

    struct Extensions: Decodable {
        let prf: PRF?
        let largeBlob: LargeBlob?
        let credProps: CredentialProperties?
    }

    let id: String
    /// The format of the attestation, after a registration.
    let format: String?
    /// The kind of attestation after a registration: `NONE`, `SELF` or `BASIC`.
    let attestation: String?
    /// The model of the authenticator, after a registration.
    let aaguid: String?
    /// True if the page was a frame in a page of another origin, `topOrigin`.
    let crossOrigin: Bool
    let topOrigin: String?
    /// The user handle of the passkey after a sign-in, if the authenticator sent it.
    let userHandle: String?
    let extensions: Extensions

    var prf: PRF? { extensions.prf }
}

extension CeremonyEnvironment {
    /// A response that the relying party rejected.
    struct Rejected: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs a command of the relying party, `relying_party.py`, and returns its output.
    @discardableResult
    func site(
        _ command: String,
        _ flags: [String] = [],
        with members: [String: Any] = [:],
        input: String = ""
    ) async throws -> String {
        let program = PackageFolder.path + "/Tests/CeremonyTests/relying_party.py"
        var arguments = [command, folder + "/site.json"] + flags
        if !members.isEmpty {
            let json = try JSONSerialization.data(withJSONObject: members)
            arguments += ["--with", String(decoding: json, as: UTF8.self)]
        }
        let ending = try await counterparts.start(program, arguments, input: input).ending()
        guard ending.status == 0 else { throw Rejected(description: "\(command): \(ending)") }
        return ending.output
    }

    /// Returns the verdict on a response.
    private func verdict(on response: String, to options: String) async throws -> Verdict {
        let command = options.contains("pubKeyCredParams") ? "verify-creation" : "verify-request"
        return try JSONDecoder().decode(Verdict.self, from: Data(try await site(command, input: response).utf8))
    }

    /// Returns the verdict on a ceremony of hybrid-client with a foreign authenticator.
    func verdict(
        on options: String,
        extra: [String] = [],
        _ authenticator: [String]
    ) async throws -> Verdict {
        let result = try await runClient(options, extra: extra, authenticator)
        try #require(result.isSuccess, "\(result)")
        return try await verdict(on: result.client.output, to: options)
    }

    /// Registers a passkey of hybrid-auth with a foreign client that inspects every message.
    ///
    /// - Parameter members: Further members of the options.
    func create(
        user: String? = nil,
        with members: [String: Any] = [:]
    ) async throws -> Verdict {
        try await inspected(TestUser(), site("create-options", user.map { ["--user", $0] } ?? [], with: members))
    }

    /// Signs in with a passkey of hybrid-auth and a foreign client that inspects every message.
    func signIn(
        _ flags: [String] = [],
        for user: TestUser = TestUser(),
        with members: [String: Any] = [:]
    ) async throws -> Verdict {
        try await inspected(user, site("request-options", flags, with: members))
    }

    private func inspected(_ user: TestUser, _ options: String) async throws -> Verdict {
        let result = try await runAuthenticator(for: user, ["--inspect"], requests: options)
        try #require(result.isSuccess, "\(result)")
        return try await verdict(on: result.client.lastOutput, to: options)
    }
}
