// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP

/// The state machine `identity-v1`: unwraps file keys with identities.
///
/// Everything is checked before a phone is asked. A key that a phone has opened serves all files of the run.
package struct FileUnwrapping: PluginConversation {
    /// The stanzas of one file of the kinds that the identities can open.
    private struct File: Sendable {
        let number: Int
        var prf: [PRFStanza] = []
        var x25519: [X25519Stanza] = []
        var isMalformed = false

        /// The nonces of all passkey stanzas; each needs a question of its own.
        var nonces: [PRFNonce] {
            prf.map(\.nonce).reduce(into: []) { nonces, nonce in
                if !nonces.contains(nonce) { nonces.append(nonce) }
            }
        }
    }

    /// Results of a passkey that were received.
    private struct Received: Sendable {
        let identity: PasskeyIdentity
        let nonce: PRFNonce
        let key: PRFKey?
    }

    private var files: [File] = []
    private var identities: [PluginIdentity] = []
    private var commands: ArraySlice<AgeStanza> = []
    private var opened: [SealedKey: AgeSecretKey] = [:]
    private var unavailable: Set<SealedKey> = []
    private var received: [Received] = []
    private var question: (PhoneQuestion, PluginIdentity)?

    /// Creates the machine from the client's part.
    ///
    /// - Parameters:
    ///   - stanzas: The commands, without the last one; unknown ones are ignored.
    ///   - onlyKey: The only key of this user, for an identity without data.
    /// - Throws: ``AgeFormatError/stanza`` if the number of a file is missing, or less than one before it.
    package init(_ stanzas: [AgeStanza], onlyKey: SealedKey?) throws(AgeFormatError) {
        var identities = PluginIdentities(onlyKey: onlyKey)
        var foreign: [(file: Int, stanza: AgeStanza)] = []
        for stanza in stanzas {
            switch stanza.type {
            case "add-identity": identities.add(stanza)
            case "recipient-stanza":
                guard stanza.arguments.count >= 2, let file = Int(stanza.arguments[0]),
                    file >= foreign.last?.file ?? 0
                else { throw .stanza }
                let arguments = Array(stanza.arguments[2...])
                foreign.append((file, AgeStanza(stanza.arguments[1], arguments, body: stanza.body)))
            default: break
            }
        }
        commands = identities.errors[...]
        guard commands.isEmpty else { return }
        self.identities = identities.usable.map(\.identity)
        collect(foreign)
    }

    /// Sorts the stanzas by files, and checks those that an identity could open.
    private mutating func collect(_ stanzas: [(file: Int, stanza: AgeStanza)]) {
        var (usesPasskeys, usesKeys) = (false, false)
        for identity in identities {
            if case .passkey = identity { usesPasskeys = true } else { usesKeys = true }
        }
        var index = 0
        for (number, stanza) in stanzas {
            if files.last?.number != number {
                files.append(File(number: number))
                index = 0
            }
            defer { index += 1 }
            let last = files.count - 1
            do throws(AgeFormatError) {
                if usesPasskeys, let stanza = try PRFStanza(stanza) { files[last].prf.append(stanza) }
                if usesKeys, let stanza = try X25519Stanza(stanza) { files[last].x25519.append(stanza) }
            } catch {
                files[last].isMalformed = true
                commands.append(.failure("stanza", number, index, text: error.description))
            }
        }
        files.removeAll { $0.isMalformed }
    }

    /// Returns the next step.
    package mutating func next() -> PluginStep {
        if let command = commands.popFirst() { return .command(command) }
        while let file = files.first {
            for identity in identities {
                switch attempt(file, identity) {
                case .opened(let key):
                    files.removeFirst()
                    return .command(AgeStanza("file-key", ["\(file.number)"], body: key.bytes))
                case .ask(let question):
                    self.question = (question, identity)
                    return .ask(question)
                case .nothing: continue
                }
            }
            files.removeFirst()
        }
        return .done
    }

    private enum Attempt {
        case opened(AgeFileKey)
        case ask(PhoneQuestion)
        case nothing
    }

    private func attempt(_ file: File, _ identity: PluginIdentity) -> Attempt {
        switch identity {
        case .onlyKey: return .nothing
        case .sealed(let sealed):
            guard !file.x25519.isEmpty, !unavailable.contains(sealed) else { return .nothing }
            guard let key = opened[sealed] else { return .ask(PhoneQuestion(opening: sealed)) }
            return file.x25519.lazy.compactMap { $0.open(with: key) }.first.map(Attempt.opened) ?? .nothing
        case .passkey(let identity):
            let nonces = file.nonces
            for (index, nonce) in nonces.enumerated() {
                let known = received.first { $0.identity == identity && $0.nonce == nonce }
                guard let known else {
                    let purpose = PhoneQuestion.Purpose.decrypt(attempt: index + 1, of: nonces.count)
                    return .ask(PhoneQuestion(purpose, identity, nonce))
                }
                guard let key = known.key else { return .nothing }
                let stanzas = file.prf.filter { $0.nonce == nonce }
                if let fileKey = stanzas.lazy.compactMap({ $0.open(with: key) }).first { return .opened(fileKey) }
            }
            return .nothing
        }
    }

    /// Receives the answer to the last question.
    package mutating func receive(_ answer: PhoneAnswer) {
        guard let (question, identity) = question else { return }
        self.question = nil
        switch (answer, identity) {
        case (.results(let results, let passkey), .sealed(let sealed)):
            if let key = sealed.open(with: results, of: passkey) {
                opened[sealed] = key
            } else {
                end(Self.doesNotOpen(sealed))
            }
        case (.results(let results, _), .passkey(let passkey)):
            received.append(Received(identity: passkey, nonce: question.nonce, key: results))
        case (.noPasskey(let text), .sealed(let sealed)):
            unavailable.insert(sealed)
            commands.append(.message(text))
        case (.noPasskey(let text), .passkey(let passkey)):
            // Another identity of the client may open the file, which an error would prevent.
            received.append(Received(identity: passkey, nonce: question.nonce, key: nil))
            commands.append(.message(text))
        case (.failed(let text), _): end(text)
        case (_, .onlyKey): break
        }
    }

    private mutating func end(_ text: String) {
        (files, commands) = ([], [.failure(text)])
    }

    /// The text if the results of a phone don't open a key.
    package static func doesNotOpen(_ sealed: SealedKey) -> String {
        "the phone's answer does not open the key \(sealed.name); use the phone that it was made on, or the copy of the key"
    }
}
