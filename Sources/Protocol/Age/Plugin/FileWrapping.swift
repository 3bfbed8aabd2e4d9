// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The state machine `recipient-v1`: wraps file keys for identities, with a question to a phone for each passkey that files
/// are encrypted to directly.
///
/// Nothing is sent before all questions are answered: a client gets every stanza, or only errors.
package struct FileWrapping: PluginConversation {
    private enum Job: Sendable {
        case passkey(PasskeyIdentity, number: Int, AgeFileKey, file: Int)
        case sealed(SealedKey, AgeFileKey, file: Int)
    }

    private var jobs: ArraySlice<Job> = []
    private var question: PhoneQuestion?
    private var stanzas: [AgeStanza] = []
    private var commands: ArraySlice<AgeStanza> = []

    /// Creates the machine from the client's part.
    ///
    /// - Parameters:
    ///   - stanzas: The commands, without the last one; unknown ones are ignored.
    ///   - onlyKey: The only key of this user, for an identity without data.
    package init(_ stanzas: [AgeStanza], onlyKey: SealedKey?) {
        var identities = PluginIdentities(onlyKey: onlyKey)
        var (errors, keys, recipients): ([AgeStanza], [AgeFileKey], Int) = ([], [], 0)
        for stanza in stanzas {
            switch stanza.type {
            case "add-identity": identities.add(stanza)
            case "add-recipient":
                errors.append(.failure("recipient", recipients, text: Self.noRecipients))
                recipients += 1
            case "wrap-file-key":
                if let key = AgeFileKey(bytes: stanza.body) {
                    keys.append(key)
                } else {
                    errors.append(.failure("the file key does not have 16 bytes"))
                }
            default: break
            }
        }
        errors = identities.errors + errors
        guard errors.isEmpty else {
            commands = errors[...]
            return
        }
        for (file, key) in keys.enumerated() {
            for (number, identity) in identities.usable {
                switch identity {
                case .passkey(let identity): jobs.append(.passkey(identity, number: number, key, file: file))
                case .sealed(let sealed): jobs.append(.sealed(sealed, key, file: file))
                case .onlyKey: break
                }
            }
        }
    }

    private static let noRecipients = "this plug-in has no recipients; use age1…, or -i with the identity"

    /// Returns the next step.
    package mutating func next() -> PluginStep {
        while let job = jobs.first {
            switch job {
            case .sealed(let sealed, let key, let file):
                jobs.removeFirst()
                guard let stanza = X25519Stanza(key, for: sealed.recipient)?.stanza else {
                    fail(.failure("the public key of \(sealed.name) is unusable"))
                    continue
                }
                add(stanza, file: file)
            case .passkey(let identity, _, _, _):
                // A nonce of its own for each file key.
                let question = PhoneQuestion(.encrypt, identity, .random())
                self.question = question
                return .ask(question)
            }
        }
        commands += stanzas
        stanzas = []
        return commands.popFirst().map(PluginStep.command) ?? .done
    }

    /// Receives the answer to the last question.
    package mutating func receive(_ answer: PhoneAnswer) {
        guard case .passkey(_, let number, let key, let file)? = jobs.popFirst(), let question else { return }
        self.question = nil
        switch answer {
        case .results(let results, _):
            guard let stanza = PRFStanza(key, key: results, nonce: question.nonce)?.stanza else {
                return fail(.failure("the file key can't be encrypted"))
            }
            add(stanza, file: file)
        case .noPasskey(let text): fail(.failure("identity", number, text: text))
        case .failed(let text): fail(.failure(text))
        }
    }

    private mutating func add(_ stanza: AgeStanza, file: Int) {
        let arguments = ["\(file)", stanza.type] + stanza.arguments
        stanzas.append(AgeStanza("recipient-stanza", arguments, body: stanza.body))
    }

    private mutating func fail(_ error: AgeStanza) {
        (jobs, stanzas, commands) = ([], [], [error])
    }
}
