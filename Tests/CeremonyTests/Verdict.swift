// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// What the relying party found in a response that it accepted.
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
    /// Of a creation: the attestation's format.
    let format: String?
    /// Of a creation: who made the attestation: `NONE`, `SELF` or `BASIC`.
    let attestation: String?
    /// Of a creation: the model.
    let aaguid: String?
    /// Whether the page was a frame in a page of another origin, and in which.
    let crossOrigin: Bool
    let topOrigin: String?
    /// Of a sign-in: whose passkey, if the phone said so.
    let userHandle: String?
    let extensions: Extensions

    var prf: PRF? { extensions.prf }
}

extension SharedStage.Props {
    /// What hybrid-client brings from a foreign phone for a website's options, as the website judges it.
    func judged(
        _ options: String,
        with extra: [String] = [],
        _ phone: [String]
    ) async throws -> Verdict {
        let meeting = try await hybridClient(asking: options, extra: extra, phone)
        try #require(meeting.desktop.status == 0 && meeting.phone.status == 0, "\(meeting)")
        let verification = options.contains("pubKeyCredParams") ? "verify-creation" : "verify-request"
        let text = try await workshop.site(verification, input: meeting.desktop.output)
        return try JSONDecoder().decode(Verdict.self, from: Data(text.utf8))
    }

    /// A website's options with further members; `command` and `flags` are the relying party's.
    func options(_ command: String, _ flags: [String] = [], with more: [String: Any] = [:]) async throws -> String {
        try await workshop.site(command, flags + Self.flags(more))
    }

    /// A registration by a desktop that inspects every answer; `with` are further members of the options.
    func create(
        for person: Person = Person(),
        user: String? = nil,
        with more: [String: Any] = [:]
    ) async throws -> Verdict {
        let flags = try (user.map { ["--user", $0] } ?? []) + Self.flags(more)
        let options = try await workshop.site("create-options", flags)
        return try await verdict("verify-creation", person, options)
    }

    /// A sign-in by a desktop that inspects every answer.
    func signIn(
        _ flags: [String] = [],
        for person: Person = Person(),
        with more: [String: Any] = [:]
    ) async throws -> Verdict {
        let options = try await workshop.site("request-options", flags + Self.flags(more))
        return try await verdict("verify-request", person, options)
    }

    private func verdict(_ verification: String, _ person: Person, _ options: String) async throws -> Verdict {
        let meeting = try await hybridAuth(for: person, ["--inspect"], asking: options)
        try #require(meeting.desktop.status == 0 && meeting.phone.status == 0, "\(meeting)")
        let text = try await workshop.site(verification, input: meeting.desktop.lastOutput)
        return try JSONDecoder().decode(Verdict.self, from: Data(text.utf8))
    }

    private static func flags(_ more: [String: Any]) throws -> [String] {
        guard !more.isEmpty else { return [] }
        return ["--with", String(decoding: try JSONSerialization.data(withJSONObject: more), as: UTF8.self)]
    }
}
