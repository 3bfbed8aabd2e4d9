// SPDX-License-Identifier: Apache-2.0

/// A reader of stanzas that an age client writes to a plug-in, in pieces of any length.
package struct PluginInput {
    /// Maximum length of all that a client writes in bytes.
    package static let maximumLength = 16 * 1024 * 1024

    private var assembler = StanzaAssembler()
    private var line: [UInt8] = []
    private var length = 0

    package init() {}

    /// Adds bytes.
    ///
    /// - Returns: The stanzas that end in these bytes.
    /// - Throws: ``AgeFormatError/stanza``, also above ``maximumLength``.
    package mutating func add(_ bytes: some Collection<UInt8>) throws(AgeFormatError) -> [AgeStanza] {
        length += bytes.count
        guard length <= Self.maximumLength else { throw .stanza }
        var stanzas: [AgeStanza] = []
        for byte in bytes {
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            if let stanza = try assembler.add(line[...]) { stanzas.append(stanza) }
            line.removeAll(keepingCapacity: true)
        }
        return stanzas
    }
}

/// The next step of a plug-in after the client's part.
package enum PluginStep: Sendable {
    /// A command for the client, which answers it before the next one.
    case command(AgeStanza)
    /// A question to a phone.
    case ask(PhoneQuestion)
    /// The end.
    case done
}

/// A state machine of the plug-in protocol after the client's part.
package protocol PluginConversation: Sendable {
    /// Returns the next step.
    mutating func next() -> PluginStep
    /// Receives the answer to the last question.
    mutating func receive(_ answer: PhoneAnswer)
}

/// The state machines of the plug-in protocol, as named by the argument `--age-plugin=`.
package enum PluginMachine: String, Sendable {
    /// A file is encrypted.
    case recipient = "recipient-v1"
    /// Files are decrypted.
    case identity = "identity-v1"

    /// The last command of the client's part.
    package static let end = "done"
}

extension AgeStanza {
    /// A text for the user.
    package static func message(_ text: String) -> AgeStanza { AgeStanza("msg", text: text) }

    /// A failure that is none of an identity, a recipient or a stanza.
    static func failure(_ text: String) -> AgeStanza { AgeStanza("error", ["internal"], text: text) }

    static func failure(_ kind: String, _ numbers: Int..., text: String) -> AgeStanza {
        AgeStanza("error", [kind] + numbers.map(String.init), text: text)
    }
}

/// The identities of a client's part.
struct PluginIdentities {
    /// The usable identities.
    private(set) var usable: [(number: Int, identity: PluginIdentity)] = []
    /// One error for each unusable identity.
    private(set) var errors: [AgeStanza] = []
    private var count = 0
    private let onlyKey: SealedKey?

    /// - Parameter onlyKey: The only key of this user, for an identity without data; `nil` if there is none, or several.
    init(onlyKey: SealedKey?) { self.onlyKey = onlyKey }

    mutating func add(_ stanza: AgeStanza) {
        defer { count += 1 }
        do throws(AgeFormatError) {
            guard stanza.arguments.count == 1 else { throw .identity }
            var identity = try PluginIdentity(parsing: stanza.arguments[0])
            if identity == .onlyKey {
                guard let onlyKey else {
                    errors.append(.failure("identity", count, text: Self.noOnlyKey))
                    return
                }
                identity = .sealed(onlyKey)
            }
            usable.append((count, identity))
        } catch {
            errors.append(.failure("identity", count, text: error.description))
        }
    }

    private static let noOnlyKey =
        "there is no key, or more than one; name its file with -i, see: hybrid-key secret list"
}
