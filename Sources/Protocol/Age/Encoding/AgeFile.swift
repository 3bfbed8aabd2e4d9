// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// A small age file (C2SP `age.md`, version 1): a header with stanzas, and one chunk of encrypted bytes.
///
///     age-encryption.org/v1
///     -> …                      stanzas, each with the file key for one recipient
///     --- MAC                   HMAC-SHA-256 over all before it, keyed by the file key
///     16 bytes nonce ‖ ChaCha20-Poly1305 of at most 64 KiB
package struct AgeFile: Hashable, Sendable {
    /// The stanzas of the header.
    package let stanzas: [AgeStanza]
    /// Nonce and encrypted bytes.
    private let payload: [UInt8]
    private let mac: [UInt8]

    private static let version = Array("age-encryption.org/v1\n".utf8)
    private static let macStart = Array("---".utf8)
    private static let payloadNonceLength = 16
    private static let tagLength = 16
    /// Maximum length of one chunk in bytes.
    static let maximumText = 64 * 1024

    /// Encrypts a text.
    ///
    /// - Parameters:
    ///   - text: At most 64 KiB.
    ///   - fileKey: The file key, which the stanzas contain; used for one file only.
    ///   - stanzas: The stanzas.
    init(sealing text: SecretBytes, with fileKey: AgeFileKey, stanzas: [AgeStanza]) throws {
        let nonce = [UInt8].random(Self.payloadNonceLength)
        let box = try ChaChaPoly.seal(
            UnsafeRawBufferPointer(text.memory),
            using: fileKey.derived(salt: nonce, info: "payload"),
            nonce: Self.finalChunk
        )
        payload = nonce + Array(box.ciphertext) + Array(box.tag)
        self.stanzas = stanzas
        mac = fileKey.mac(of: Self.authenticated(stanzas))
    }

    private init(stanzas: [AgeStanza], payload: [UInt8], fileKey: AgeFileKey) {
        (self.stanzas, self.payload) = (stanzas, payload)
        mac = fileKey.mac(of: Self.authenticated(stanzas))
    }

    /// Creates a file from its bytes.
    ///
    /// - Throws: ``AgeFormatError/header``, ``AgeFormatError/stanza``.
    package init(parsing bytes: [UInt8]) throws(AgeFormatError) {
        guard bytes.starts(with: Self.version) else { throw .header }
        var rest = bytes[Self.version.count...]
        var (stanzas, assembler): ([AgeStanza], StanzaAssembler) = ([], StanzaAssembler())
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = rest[rest.startIndex..<end]
            rest = rest[(end + 1)...]
            if assembler.isBetweenStanzas, line.starts(with: Self.macStart) {
                let digits = line.dropFirst(Self.macStart.count)
                guard !stanzas.isEmpty, digits.first == UInt8(ascii: " "),
                    let mac = Base64.decodeUnpadded(digits.dropFirst()), mac.count == SHA256.byteCount,
                    rest.count >= Self.payloadNonceLength + Self.tagLength,
                    rest.count <= Self.payloadNonceLength + Self.maximumText + Self.tagLength
                else { throw .header }
                (self.stanzas, self.mac, payload) = (stanzas, mac, Array(rest))
                return
            }
            if let stanza = try assembler.add(line) { stanzas.append(stanza) }
        }
        throw .header
    }

    /// The bytes of the file.
    package var encoded: [UInt8] {
        Self.authenticated(stanzas) + [UInt8(ascii: " ")] + Base64.encodeUnpadded(mac) + [UInt8(ascii: "\n")] + payload
    }

    /// Returns the text; `nil` if the file key is another one, or the file was changed.
    func open(with fileKey: AgeFileKey) -> SecretBytes? {
        guard ConstantTime.equal(fileKey.mac(of: Self.authenticated(stanzas)), mac) else { return nil }
        let nonce = payload[..<Self.payloadNonceLength]
        let sealed = payload[Self.payloadNonceLength...]
        let key = fileKey.derived(salt: Array(nonce), info: "payload")
        guard
            let box = try? ChaChaPoly.SealedBox(
                nonce: Self.finalChunk,
                ciphertext: sealed.dropLast(Self.tagLength),
                tag: sealed.suffix(Self.tagLength)
            ), let text = try? ChaChaPoly.open(box, using: key)
        else { return nil }
        return SymmetricKey(data: text).withUnsafeBytes { SecretBytes(copying: $0) }
    }

    /// Returns the file with other stanzas, which contain the same file key; the encrypted bytes stay.
    func replacing(stanzas: [AgeStanza], fileKey: AgeFileKey) -> AgeFile {
        AgeFile(stanzas: stanzas, payload: payload, fileKey: fileKey)
    }

    /// The header up to the hyphens before its code.
    private static func authenticated(_ stanzas: [AgeStanza]) -> [UInt8] {
        version + stanzas.flatMap(\.encoded) + macStart
    }

    /// The nonce of the first chunk, which is also the last one.
    private static let finalChunk: ChaChaPoly.Nonce = {
        guard let nonce = try? ChaChaPoly.Nonce(data: [UInt8](repeating: 0, count: 11) + [1]) else {
            preconditionFailure("a nonce has 12 bytes")
        }
        return nonce
    }()
}
