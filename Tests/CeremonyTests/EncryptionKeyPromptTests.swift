// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCBOR
import HybridCTAP
import TestSupport
import Testing

@testable import HybridKeyService

/// Ceremonies of hybrid-key with hybrid-auth, which says when the other device gets a key or a secret.
@Suite("Encryption keys in hybrid-auth", .keepsEvidence, SharedEnvironment(), .serialized)
struct EncryptionKeyPromptTests {
    private static let key = "secret-abcdefghijkl2457.invalid"
    private static let eval = PRFInput(salts: PRFSalts(first: PRFSalt(checked: 1...32))).extensionInput

    /// Performs a ceremony, and returns its outcome and the prompts that the user saw.
    private func perform(
        _ command: CeremonyRequest.Command
    ) async throws -> (ceremony: CeremonyResult, answer: [UInt8], prompts: String) {
        let environment = try CeremonyEnvironment.shared()
        let before = environment.pinentryLog.count
        let (ceremony, answer) = try await environment.performKeyCeremony(command, extra: ["--json"])
        return (ceremony, answer?.response ?? [], String(environment.pinentryLog.dropFirst(before)))
    }

    private func creation(
        _ name: String,
        _ rp: String = key,
        user: UInt8 = 1,
        excluding excluded: [CredentialID] = [],
        extensions: CBORMap? = eval
    ) throws -> CeremonyRequest.Command {
        let id = try #require(UserHandle(bytes: [UInt8](repeating: user, count: 16)))
        return .create(
            MakeCredentialRequest(
                clientDataHash: ClientDataHash(checked: [UInt8](repeating: 0, count: 32)),
                relyingParty: RelyingPartyEntity(id: try #require(RelyingPartyID(rp)), name: rp),
                user: UserEntity(id: id, name: name, displayName: name),
                algorithms: [.es256],
                excludeList: excluded.map { CredentialDescriptor(id: $0) },
                extensions: extensions,
                residentKey: true,
                userVerification: true
            )
        )
    }

    private func use(_ rp: String = key, extensions: CBORMap? = eval) throws -> CeremonyRequest.Command {
        .sign(
            GetAssertionRequest(
                relyingPartyID: try #require(RelyingPartyID(rp)),
                clientDataHash: ClientDataHash(checked: [UInt8](repeating: 0, count: 32)),
                extensions: extensions,
                userVerification: true
            )
        )
    }

    /// Runs `hybrid-auth passkeys` on the vault of the environment.
    private func passkeys(_ arguments: String...) async throws -> RunningProgram.Ending {
        let environment = try CeremonyEnvironment.shared()
        let pinentry = TestUser.program(in: environment.folder)
        return try await environment.start(
            "hybrid-auth",
            ["passkeys"] + arguments + ["--vault", environment.vault, "--pinentry", pinentry],
            variables: TestUser().variables(in: environment.folder)
        ).ending()
    }

    private static let heading = "SETDESC Encryption key%0A\(key)%0A%0A"

    @Test("Each prompt names the kind, and the last one the key; a deletion is warned about")
    func prompts() async throws {
        let none = try await perform(try use())
        #expect(none.prompts.contains("\(Self.heading)This device does not have the encryption key.%0A"), "\(none)")

        let made = try await perform(try creation("laptop (encryption key)"))
        made.ceremony.expectSuccess()
        #expect(made.prompts.contains("\(Self.heading)Create an encryption key?%0AAsked through"), "\(made.prompts)")
        let warning = "Files that only it opens are lost if you delete it."
        let consent = #"\#(Self.heading)Create this encryption key?%0A"laptop"%0A\#(warning)%0A"#
        #expect(made.prompts.contains(consent) && made.prompts.contains("SETOK Create"), "\(made.prompts)")

        let used = try await perform(try use())
        used.ceremony.expectSuccess()
        #expect(used.prompts.contains("\(Self.heading)Give the other device this key?%0AAsked through"))
        let question = #"\#(Self.heading)Give the other device this key?%0A"laptop"%0A"#
        #expect(used.prompts.contains(question), "\(used.prompts)")

        let id = try #require(try GetAssertionResponse(parsing: Array(used.answer.dropFirst())).credential?.id)
        let twice = try await perform(try creation("again", excluding: [id]))
        let notice = "\(Self.heading)This device already has this encryption key; you don't need another.%0A"
        #expect(twice.prompts.contains(notice), "\(twice.prompts)")

        let new = try await perform(try creation("desk (encryption key)"))
        new.ceremony.expectSuccess()
        let loss = "The old one is deleted permanently. Files that only it opens are lost."
        let replacement =
            #"Replace the encryption key of this account with a new one?%0A\#(loss)%0A"laptop"%0AThe new one is for%0A"desk"%0A"#
        #expect(new.prompts.contains(replacement), "\(new.prompts)")

        for (name, shown) in [
            (" (encryption key)", #""(encryption key)""#), ("an (encryption key) too", #""an (encryption key) too""#),
            ("", "a key without a name"),
        ] {
            let odd = try await perform(try creation(name, user: 2))
            odd.ceremony.expectSuccess()
            #expect(odd.prompts.contains("%0A\(shown)%0A"), "\(odd.prompts)")
        }
    }

    @Test("A client that does not ask for the secret is refused, and the user is not asked")
    func refused() async throws {
        for command in [try creation("laptop", extensions: nil), try use(extensions: PRFInput().extensionInput)] {
            let result = try await perform(command)
            #expect(result.ceremony.client.status != 0 && result.ceremony.authenticator.status == 65, "\(result)")
            let failure = try #require(try result.ceremony.authenticator.events().last)
            #expect(failure["code"] == "secret-not-requested", "\(failure)")
            #expect(failure["message"] == "the other device asked for an encryption key but not for its secret")
            #expect(failure["remedy"] == "use hybrid-key on the computer, and update it")
            #expect(!result.prompts.contains("GETPIN"), "\(result.prompts)")
        }
    }

    @Test("The question of a site says that it also gets a secret, if it does")
    func sites() async throws {
        let secret = "%0AIt also gets a secret.%0AAsked through"
        let plain = try await perform(try creation("ada", "example.com", extensions: PRFInput().extensionInput))
        #expect(plain.prompts.contains("example.com%0A%0ACreate a passkey for this site?%0AAsked"), "\(plain.prompts)")
        let made = try await perform(try creation("bob", "example.com", user: 2))
        #expect(made.prompts.contains("example.com%0A%0ACreate a passkey for this site?\(secret)"), "\(made.prompts)")
        let used = try await perform(try use("example.com"))
        #expect(used.prompts.contains("example.com%0A%0ASign in to this site?\(secret)"), "\(used.prompts)")
        let signed = try await perform(try use("example.com", extensions: nil))
        #expect(signed.prompts.contains("example.com%0A%0ASign in to this site?%0AAsked"), "\(signed.prompts)")
        let key = Self.with(Self.eval, SignedDataKind.ssh.extensionInput)
        let ssh = try await perform(try creation("work", "ssh-abc.invalid", extensions: key))
        #expect(ssh.prompts.contains("Create an SSH key?%0AThe other device also gets a secret.%0AAsked"), "\(ssh)")
        for result in [plain, made, used, signed, ssh] { result.ceremony.expectSuccess() }
    }

    private static func with(_ map: CBORMap, _ other: CBORMap) -> CBORMap {
        CBORMap(map.entries.map { ($0, $1) } + other.entries.map { ($0, $1) })
    }

    @Test("Lists, details and the question before a deletion say that a passkey is an encryption key")
    func lists() async throws {
        let key = "secret-zzzzzzzzzzzzzzzz.invalid"
        try await perform(try creation("laptop (encryption key)", key)).ceremony.expectSuccess()
        try await perform(try use(key)).ceremony.expectSuccess()
        let list = try await passkeys("list")
        #expect(list.output.contains(#"\#(key) (encryption key)  "laptop (encryption key)""#), "\(list)")
        let details = try await passkeys("show", key)
        #expect(details.output.contains("signs         only for a client that gets its secret\n"), "\(details)")
        #expect(details.output.contains("  give key  done"), "\(details)")
        let json = try await passkeys("show", key, "--json")
        #expect(json.output.contains(#""sshKey":false,"encryptionKey":true"#), "\(json)")
        let history = try await passkeys("history")
        #expect(history.output.contains("  give key  done"), "\(history)")

        let environment = try CeremonyEnvironment.shared()
        let before = environment.pinentryLog.count
        let deleted = try await passkeys("delete", key)
        deleted.expect(0, "deleted the passkey for \(key) (encryption key)")
        #expect(!deleted.errors.contains("at the site"), "\(deleted)")
        let question = environment.pinentryLog.dropFirst(before)
        let loss = "It is deleted on every device and cannot be restored. Files that only it opens are lost.%0A"
        #expect(
            question.contains("Encryption key%0A\(key)%0A%0ADelete the passkey of") && question.contains(loss),
            "\(question)"
        )
    }
}
