// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCTAP
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridKeyService
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSSHAgent
internal import HybridWebAuthn

/// The command `hybrid-key ssh-keygen`, which creates an SSH key on a phone.
struct SSHKeygenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ssh-keygen",
        abstract: "Create an SSH key on a phone and print its public key.",
        discussion: """
            The phone stores the key as a passkey. The line on standard output goes in ~/.ssh/authorized_keys on a \
            server. The agent offers the key at once.
            """
    )

    @Option(
        help: ArgumentHelp(
            "Your domain for the passkey, such as ssh.example.org, or ssh:NAME; default: a random name below .invalid.",
            valueName: "domain|ssh:name"
        )
    )
    var rp: String?

    @Option(help: ArgumentHelp("The name of the key; default: user@host phone.", valueName: "text"))
    var comment: String?

    @Flag(help: "Let a forwarded agent sign messages, such as git commits on another host.")
    var allowForwardedMessages = false

    @OptionGroup
    var limits: DestinationOptions

    @OptionGroup
    var options: KeyCreationOptions

    func run() async throws {
        try StandardOutput.requireOpen()
        let launcher = try options.launcher()
        let destinations = try limits.destinations()
        let folder = try KeySettings.stateFolder()
        // A store that can't be read or is full is reported before the phone is asked.
        let store = SSHKeyStore(in: folder)
        try store.checkRoom()
        let creation = try creation(destinations)
        let outcome = try await perform(creation, launcher)
        do throws(CommandFailure) {
            try Journal(in: folder).append(outcome, of: creation.request, purpose: creation.purpose, by: .keygen)
        } catch {
            // The phone has stored the key already, so it must not be lost.
            HybridKey.report(error.sentence)
        }
        let (key, answer) = try key(of: creation, outcome)
        options.report(created: key.publicKey.fingerprint.description, by: answer)
        do {
            try store.add([key])
        } catch {
            HybridKey.report("the phone has stored the key; keep these lines in a file for: hybrid-key ssh-keys import")
            try StandardOutput.write(SSHKeyList.text([key]))
            throw error
        }
        try StandardOutput.writeLine(key.publicKey.authorizedKeysLine(comment: key.comment))
    }

    private func creation(_ destinations: [PermittedDestination]?) throws -> SSHKeyCreation {
        var generator = SystemRandomNumberGenerator()
        guard let comment = SSHKeyComment(comment ?? Self.defaultComment) else {
            throw CommandFailure(
                "--comment takes 1 to \(SSHKeyComment.maximumLength) bytes of visible text",
                status: .usage
            )
        }
        let id = try rp.map(Self.relyingPartyID) ?? RelyingPartyID.random(prefix: "ssh-", using: &generator)
        guard let id,
            let creation = SSHKeyCreation(
                relyingPartyID: id,
                comment: comment,
                allowsForwardedMessages: allowForwardedMessages,
                destinations: destinations,
                using: &generator
            )
        else { throw CommandFailure("internal fault: no request; please report it", status: .software) }
        return creation
    }

    /// Returns the relying party ID for `ssh:` with a name, or for a domain, which must be below a registrable domain.
    private static func relyingPartyID(_ text: String) throws -> RelyingPartyID {
        guard let id = RelyingPartyID(text, accepting: [.domain, .ssh]) else {
            throw CommandFailure(
                "--rp takes a lower-case domain, in its xn-- form, or ssh: and a name of at most 200 letters, digits, "
                    + "dots, underscores and hyphens",
                status: .usage
            )
        }
        // No website can have such an ID.
        guard id.kind == .domain else { return id }
        guard try id.isBelowRegistrableDomain() else {
            throw CommandFailure(
                "\(id) is too general for --rp, because all its websites could use the key; name a subdomain, such as "
                    + "ssh.\(id)",
                status: .usage
            )
        }
        HybridKey.report("warning: websites at \(id) and below can ask the phone to sign with this key")
        return id
    }

    private func perform(_ creation: SSHKeyCreation, _ launcher: CeremonyLauncher) async throws -> CeremonyOutcome {
        try await launcher.performUntilSignal(
            options.request(.create(creation.request), purpose: creation.purpose),
            event: creation.event(timeout: .seconds(options.timeout))
        )
    }

    private func key(
        of creation: SSHKeyCreation,
        _ outcome: CeremonyOutcome
    ) throws -> (key: StoredSSHKey, answer: CeremonyAnswer) {
        switch outcome {
        case .answered(let answer):
            do throws(KeyCreationError) {
                return (try creation.key(in: answer.response), answer)
            } catch {
                throw CommandFailure(error.sentence, status: .dataError)
            }
        case .cancelled: throw CommandFailure("it was cancelled", status: .interrupted)
        case .sessionLocked: throw CommandFailure.sessionLocked
        case .refused(_, let failure), .failed(let failure):
            throw CommandFailure("no key was created", because: failure)
        }
    }

    /// `USER@HOST phone`.
    private static var defaultComment: String {
        var name = [CChar](repeating: 0, count: 256)
        let host = gethostname(&name, name.count - 1) == 0 ? name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) } : []
        let user = ProcessEnvironment.variables["USER"] ?? "user"
        return "\(user)@\(String(decoding: host, as: UTF8.self)) phone"
    }
}
