// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridAge
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridDBus
internal import HybridKeyService
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSecrets
internal import HybridThreads

/// The plug-in of age, which an age client starts as `age-plugin-phone` or `age-plugin-fido2prf`.
///
/// Both names are links to `hybrid-key`. Some clients start the target of a link, so the name does not matter: the first
/// argument makes this program the plug-in, and the prefix of an identity decides what it is.
struct AgePluginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "age-plugin-phone",
        abstract: "Serve an age client with keys on a phone.",
        shouldDisplay: false
    )

    /// The beginning of the first argument.
    static let argument = "--age-plugin="
    /// The time limit in seconds for finding a phone, and again for its user.
    private static let seconds = 120

    @Option(name: .customLong("age-plugin"))
    var machine: String

    @OptionGroup
    var options: CeremonyOptions

    func run() async throws {
        guard let machine = PluginMachine(rawValue: machine) else {
            throw CommandFailure("this plug-in has no \(SafeText(quoting: machine)); update it", status: .usage)
        }
        guard let cancellation = SigningCancellation() else {
            throw CommandFailure("no file descriptors left", status: .unavailable)
        }
        let client = PluginClient(cancellation)
        let stanzas = try await DedicatedThread.run { Result { try client.readPart() } }.get()
        let onlyKey = (try? SecretStore.ofUser())?.onlyKey
        let conversation: any PluginConversation
        switch machine {
        case .recipient: conversation = FileWrapping(stanzas, onlyKey: onlyKey)
        case .identity:
            do throws(AgeFormatError) {
                conversation = try FileUnwrapping(stanzas, onlyKey: onlyKey)
            } catch {
                throw PluginClient.malformed
            }
        }
        try await perform(conversation, client, cancellation)
    }

    private func perform(
        _ conversation: any PluginConversation,
        _ client: PluginClient,
        _ cancellation: SigningCancellation
    ) async throws {
        var (conversation, phone): (any PluginConversation, SecretPhone?) = (conversation, nil)
        while true {
            switch conversation.next() {
            case .command(let stanza): try await Self.send(stanza, client)
            case .ask(let question):
                let asked = try phone ?? self.phone(client, cancellation)
                phone = asked
                let (answer, warning) = await Self.answer(question, asked)
                guard !client.isGone else { return }
                if let warning { try await Self.send(.message(warning), client) }
                conversation.receive(answer)
            case .done: return try client.end()
            }
        }
    }

    private static func send(_ stanza: AgeStanza, _ client: PluginClient) async throws {
        try await DedicatedThread.run { Result { try client.send(stanza) } }.get()
    }

    private static func answer(_ question: PhoneQuestion, _ phone: SecretPhone) async -> (PhoneAnswer, String?) {
        do {
            let results = try await phone.results(for: question)
            let isUnverified = question.purpose == .encrypt && !results.isVerified
            return (.results(results.key, of: results.passkey), isUnverified ? unverified : nil)
        } catch let failure as CommandFailure where failure.code == "no-passkey" {
            return (.noPasskey(failure.sentence), nil)
        } catch {
            return (.failed((error as? CommandFailure)?.sentence ?? "\(error)"), nil)
        }
    }

    private static let unverified = """
        warning: this passkey was not created on this computer, so the answer can't be verified; if another person has \
        scanned the code, that person can read the file
        """

    /// Returns the phone: a window shows its code if there is one, otherwise the client does.
    private func phone(_ client: PluginClient, _ cancellation: SigningCancellation) throws -> SecretPhone {
        let settings = try KeySettings.resolve(options)
        let graphical = try KeySettings.display(settings)
        let hasWindow = graphical != .page && graphical.problem(in: ProcessEnvironment.variables) == nil
        let launcher = try options.launcher(settings, display: hasWindow ? graphical : .caller) {
            hasWindow && SessionLock.isLocked()
        } showProgress: { line in
            client.show(line)
        }
        return SecretPhone(
            seconds: Self.seconds,
            journal: Journal(in: try KeySettings.stateFolder()),
            door: .agePlugin,
            report: HybridKey.report
        ) { request in
            if !hasWindow { client.showCode(for: request.purpose) }
            let ceremony = CeremonyRequest(
                request.command,
                purpose: request.purpose,
                seconds: Self.seconds,
                needsSecret: true
            )
            return await DedicatedThread.run {
                launcher.perform(ceremony, event: request.event, cancellation: cancellation)
            }
        }
    }
}
