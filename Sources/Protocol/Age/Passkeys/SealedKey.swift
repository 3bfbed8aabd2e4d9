// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
package import HybridCTAP
internal import HybridPrimitives

/// An identity `AGE-PLUGIN-PHONE-1…`: an ordinary key of age that only a phone opens.
///
///     unsigned 1 ‖ text name ‖ text RP ID ‖ bytes public key (32) ‖ unsigned N ‖ N × (bytes credential ID ‖ array of texts
///     transports) ‖ bytes age file
///
/// The age file contains the secret key. Its first N stanzas `fido2prf` belong to the N phones in this order, and have the
/// same nonce, so that one request serves every phone. The identity is not secret, but without it the phone is useless.
package struct SealedKey: Hashable, Sendable {
    static let prefix = "age-plugin-phone-"
    /// Maximum number of phones.
    package static let maximumPhones = 16
    /// Maximum length of the age file in bytes.
    private static let maximumFile = Int(UInt16.max)

    /// The name.
    package let name: SecretName
    /// The relying party of the passkeys.
    package let relyingPartyID: RelyingPartyID
    /// The public key, to which anybody can encrypt.
    package let recipient: AgeRecipient
    /// The passkeys of the phones, 1 to 16.
    package let phones: [CredentialDescriptor]
    /// The age file with the secret key.
    package let file: AgeFile
    /// The nonce of the phones' stanzas.
    package let nonce: PRFNonce

    /// Creates an identity from the data of its text.
    ///
    /// - Throws: ``AgeFormatError``.
    init(data: [UInt8]) throws(AgeFormatError) {
        var items = try IdentityItems(data)
        guard let name = SecretName(sealed: try items.text()) else { throw .identity }
        let relyingPartyID = try items.relyingPartyID()
        guard let recipient = AgeRecipient(bytes: try items.bytes()),
            let count = try items.next().integer, (1...Self.maximumPhones).contains(count)
        else { throw .identity }
        var phones: [CredentialDescriptor] = []
        for _ in 0..<count {
            let id = try items.credentialID()
            phones.append(CredentialDescriptor(id: id, transports: try items.transports()))
        }
        let file = try AgeFile(parsing: try items.bytes())
        try items.end()
        try self.init(name: name, relyingPartyID: relyingPartyID, recipient: recipient, phones: phones, file: file)
    }

    private init(
        name: SecretName,
        relyingPartyID: RelyingPartyID,
        recipient: AgeRecipient,
        phones: [CredentialDescriptor],
        file: AgeFile
    ) throws(AgeFormatError) {
        var stanzas: [PRFStanza] = []
        for stanza in file.stanzas {
            if let stanza = try PRFStanza(stanza) { stanzas.append(stanza) }
        }
        guard let nonce = stanzas.first?.nonce, stanzas.count == phones.count,
            stanzas.allSatisfy({ $0.nonce == nonce }), Set(phones.map(\.id)).count == phones.count
        else { throw .identity }
        (self.name, self.relyingPartyID, self.recipient) = (name, relyingPartyID, recipient)
        (self.phones, self.file, self.nonce) = (phones, file, nonce)
    }

    /// Seals a key for a phone.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - name: The name.
    ///   - relyingPartyID: The relying party of the passkey.
    ///   - phone: The passkey.
    ///   - results: The key from the results of the passkey for the nonce.
    ///   - nonce: The nonce, new for this key.
    ///   - others: Recipients whose keys open the file, too.
    /// - Returns: `nil` if a recipient is unusable.
    package init?(
        sealing key: AgeSecretKey,
        name: SecretName,
        relyingPartyID: RelyingPartyID,
        phone: CredentialDescriptor,
        results: PRFKey,
        nonce: PRFNonce,
        others: [AgeRecipient]
    ) {
        let fileKey = AgeFileKey.random()
        guard let own = PRFStanza(fileKey, key: results, nonce: nonce) else { return nil }
        let others = others.map { X25519Stanza(fileKey, for: $0)?.stanza }
        let stanzas = [own.stanza] + others.compactMap(\.self)
        guard stanzas.count == 1 + others.count,
            let file = try? AgeFile(sealing: Self.text(of: key), with: fileKey, stanzas: stanzas),
            let sealed = try? SealedKey(
                name: name,
                relyingPartyID: relyingPartyID,
                recipient: key.recipient,
                phones: [phone],
                file: file
            )
        else { return nil }
        self = sealed
    }

    /// Opens the key.
    ///
    /// - Parameters:
    ///   - results: The key from the results of a phone's passkey.
    ///   - passkey: The passkey; `nil` if the phone did not name it.
    /// - Returns: The key; `nil` if the results are those of another passkey, or the file does not contain the key whose
    ///   public key this is.
    package func open(with results: PRFKey, of passkey: CredentialID?) -> AgeSecretKey? {
        guard let fileKey = fileKey(with: results, of: passkey), let text = file.open(with: fileKey),
            let key = try? AgeSecretKey(lines: UnsafeRawBufferPointer(text.memory)), key.recipient == recipient
        else { return nil }
        return key
    }

    /// Returns this key with one more phone; the file key and the encrypted bytes stay.
    ///
    /// - Parameters:
    ///   - phone: The passkey of the new phone.
    ///   - new: The key from its results.
    ///   - old: The key from the results of a phone that opens this one.
    ///   - passkey: The passkey of that phone.
    /// - Returns: `nil` if the old results don't open this key, or 16 phones are here already.
    package func adding(
        _ phone: CredentialDescriptor,
        _ new: PRFKey,
        openedWith old: PRFKey,
        of passkey: CredentialID?
    ) -> SealedKey? {
        guard phones.count < Self.maximumPhones, let fileKey = fileKey(with: old, of: passkey),
            let stanza = PRFStanza(fileKey, key: new, nonce: nonce)?.stanza,
            let last = file.stanzas.lastIndex(where: { $0.type == PRFStanza.type })
        else { return nil }
        var stanzas = file.stanzas
        stanzas.insert(stanza, at: last + 1)
        let file = file.replacing(stanzas: stanzas, fileKey: fileKey)
        guard file.encoded.count <= Self.maximumFile else { return nil }
        return try? SealedKey(
            name: name,
            relyingPartyID: relyingPartyID,
            recipient: recipient,
            phones: phones + [phone],
            file: file
        )
    }

    /// The text in upper case.
    package var text: String {
        let phones = phones.flatMap { [.bytes($0.id.bytes), $0.transportItem] as [CBORValue] }
        let items: [CBORValue] = [
            .text(name.text), .text(relyingPartyID.text), .bytes(recipient.bytes), .integer(self.phones.count),
        ]
        let data = IdentityItems.encode(items + phones + [.bytes(file.encoded)])
        return String(decoding: Bech32.encode(prefix: Self.prefix, data), as: UTF8.self).uppercased()
    }

    private func fileKey(with results: PRFKey, of passkey: CredentialID?) -> AgeFileKey? {
        let stanzas = file.stanzas.compactMap { try? PRFStanza($0) }
        // A phone that answers with a passkey of another name has none of these results.
        let candidates = zip(phones, stanzas).filter { passkey == nil || $0.0.id == passkey }
        return candidates.lazy.compactMap { $0.1.open(with: results) }.first
    }

    private static func text(of key: AgeSecretKey) -> SecretBytes {
        var text = key.text
        defer { SecretBytes.wipe(&text) }
        let line = SecretBytes(count: text.count + 1)
        text.withUnsafeBytes { line.memory.copyMemory(from: $0) }
        line.memory[text.count] = UInt8(ascii: "\n")
        return line
    }
}

/// The name of a key: 1 to 64 bytes of UTF-8.
package struct SecretName: Hashable, Sendable, CustomStringConvertible {
    /// Maximum length in bytes.
    package static let maximumLength = 64

    /// The name.
    package let text: String
    package var description: String { text }

    /// Creates a name for a file of this computer: letters, digits, dots, underscores and hyphens of ASCII, neither a dot
    /// nor a hyphen first; `nil` for any other text.
    package init?(_ text: String) {
        guard let name = SecretName(sealed: text), let first = text.utf8.first,
            first != UInt8(ascii: "."), first != UInt8(ascii: "-"),
            text.unicodeScalars.allSatisfy({ scalar in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-": true
                default: false
                }
            })
        else { return nil }
        self = name
    }

    /// Creates a name from an identity, which another program may have made; `nil` for another length.
    init?(sealed text: String) {
        guard (1...Self.maximumLength).contains(text.utf8.count) else { return nil }
        self.text = text
    }
}
