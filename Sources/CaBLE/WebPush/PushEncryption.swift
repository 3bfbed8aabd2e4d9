// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// Encryption of push messages: RFC 8291 with the content coding `aes128gcm` (RFC 8188), in one record.
public enum PushEncryption {
    /// Length of the padded plaintext in bytes, without the delimiter.
    ///
    /// All messages have the same length, so a push server cannot distinguish them.
    static let paddedLength = 512
    /// The record size in the header (RFC 8188 §2.1); the only record is shorter.
    static let recordSize: UInt32 = 4096
    /// Length of the salt in bytes.
    static let saltLength = 16
    /// Length of the header: salt, record size, length of the key ID, and the sender's key.
    static let headerLength = saltLength + 4 + 1 + PushPublicKey.length
    /// Length of the authentication tag in bytes.
    static let tagLength = 16

    /// Returns the body of a push request, 615 bytes.
    public static func encrypt(_ message: PushMessage, for subscription: PushSubscription) -> [UInt8] {
        let content = message.encoded
        let padding = [UInt8](repeating: 0, count: max(0, paddedLength - content.count))
        return encrypt(
            content + [2] + padding,
            for: subscription,
            as: P256.KeyAgreement.PrivateKey(),
            salt: SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
        )
    }

    /// Encrypts one record, which already contains the delimiter and the padding.
    ///
    /// - Parameters:
    ///   - record: The padded plaintext.
    ///   - subscription: The receiver.
    ///   - sender: The sender's key, used for this message only.
    ///   - salt: 16 random bytes.
    static func encrypt(
        _ record: [UInt8],
        for subscription: PushSubscription,
        as sender: P256.KeyAgreement.PrivateKey,
        salt: [UInt8]
    ) -> [UInt8] {
        let senderKey = PushPublicKey(sender.publicKey)
        guard let receiver = try? P256.KeyAgreement.PublicKey(x963Representation: subscription.publicKey.bytes),
            let shared = try? sender.sharedSecretFromKeyAgreement(with: receiver)
        else { preconditionFailure("a push public key is a point of the curve") }
        let keys = PushRecordKeys(shared, subscription, senderKey: senderKey, salt: salt)
        guard let box = try? AES.GCM.seal(record, using: keys.key, nonce: keys.nonce) else {
            preconditionFailure("AES-GCM encrypts any plaintext")
        }
        let size = (0..<4).map { UInt8(truncatingIfNeeded: recordSize >> (24 - 8 * $0)) }
        return salt + size + [UInt8(PushPublicKey.length)] + senderKey.bytes + Array(box.ciphertext) + Array(box.tag)
    }
}

/// The key and the nonce of the first record (RFC 8291 §3.4).
private struct PushRecordKeys {
    let key: SymmetricKey
    let nonce: AES.GCM.Nonce

    init(_ shared: SharedSecret, _ receiver: PushSubscription, senderKey: PushPublicKey, salt: [UInt8]) {
        let input = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self,
            salt: receiver.authenticationSecret,
            sharedInfo: Array("WebPush: info\0".utf8) + receiver.publicKey.bytes + senderKey.bytes,
            outputByteCount: 32
        )
        func derive(_ info: String, _ length: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: input,
                salt: salt,
                info: Array("Content-Encoding: \(info)\0".utf8),
                outputByteCount: length
            )
        }
        key = derive("aes128gcm", 16)
        // RFC 8188 §2.3: the nonce of the first record is not changed by its number.
        let bytes = derive("nonce", 12).withUnsafeBytes { Array($0) }
        guard let nonce = try? AES.GCM.Nonce(data: bytes) else { preconditionFailure("a nonce has 12 bytes") }
        self.nonce = nonce
    }
}

/// A reason why the body of a push message is rejected.
public struct PushDecryptionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The header of the content coding is malformed, or the body is shorter than one record or longer than 4,096 bytes.
    public static let malformedHeader = PushDecryptionError("malformedHeader")
    /// The record is not encrypted for this key, or was changed.
    public static let notAuthentic = PushDecryptionError("notAuthentic")
    /// The padding has no delimiter of a last record (RFC 8188 §2).
    public static let malformedPadding = PushDecryptionError("malformedPadding")
    /// The content is no push message of a relay.
    public static let unknownMessage = PushDecryptionError("unknownMessage")

    /// The error's name.
    public let description: String

    private init(_ description: String) { self.description = description }
}

/// A phone's key pair and authentication secret for one subscription (RFC 8291 §3.1, §3.2).
public struct PushReceiverKey: Sendable, SecretMaterial {
    /// Length of the stored form in bytes: the private key and the authentication secret.
    public static let length = 32 + PushSubscription.authenticationSecretLength
    /// Maximum length of a body in bytes (RFC 8030 §7.2).
    public static let maximumBodyLength = 4096

    /// Private key and authentication secret; this type wipes its memory.
    private let stored: SymmetricKey
    private let key: P256.KeyAgreement.PrivateKey

    /// Creates a random key.
    public init() {
        key = P256.KeyAgreement.PrivateKey()
        let bytes = SecretBytes(count: Self.length)
        SymmetricKey(data: key.rawRepresentation).withUnsafeBytes { bytes.memory.copyMemory(from: $0) }
        SymmetricKey(size: .bits128).withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: bytes.memory[32...]).copyMemory(from: $0)
        }
        stored = SymmetricKey(data: UnsafeRawBufferPointer(bytes.memory))
    }

    /// Creates a key from the 48 bytes of its stored form; `nil` for other bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length else { return nil }
        let memory = SecretBytes(count: Self.length)
        memory.memory.copyBytes(from: bytes)
        let scalar = UnsafeRawBufferPointer(rebasing: memory.memory[..<32])
        guard let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: scalar) else { return nil }
        self.key = key
        stored = SymmetricKey(data: UnsafeRawBufferPointer(memory.memory))
    }

    /// Calls `body` with the 48 bytes of the stored form.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try stored.withUnsafeBytes(body)
    }

    /// Returns the subscription of this key at an endpoint; `nil` if the endpoint is not 1 to 512 visible characters.
    public func subscription(endpoint: String) -> PushSubscription? {
        let secret = stored.withUnsafeBytes { Array($0[32...]) }
        return PushSubscription(endpoint: endpoint, publicKey: publicKey, authenticationSecret: secret)
    }

    private var publicKey: PushPublicKey { PushPublicKey(key.publicKey) }

    /// Decrypts and parses a push message.
    ///
    /// - Parameter body: The body as the push service delivers it, in the content coding `aes128gcm`.
    /// - Throws: ``PushDecryptionError``.
    public func open(_ body: some Collection<UInt8>) throws(PushDecryptionError) -> PushMessage {
        let content = try decrypt(Array(body))
        do throws(ListenMessage.ParseError) {
            return try PushMessage(parsing: content)
        } catch {
            throw .unknownMessage
        }
    }

    private func decrypt(_ body: [UInt8]) throws(PushDecryptionError) -> [UInt8] {
        let header = PushEncryption.headerLength
        guard body.count > header + PushEncryption.tagLength, body.count <= Self.maximumBodyLength,
            body[20] == PushPublicKey.length, let sender = PushPublicKey(bytes: body[21..<header])
        else { throw .malformedHeader }
        let recordSize = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        // One record is enough for every message of a relay.
        guard recordSize >= body.count - header, let subscription = subscription(endpoint: "-"),
            let point = try? P256.KeyAgreement.PublicKey(x963Representation: sender.bytes),
            let shared = try? key.sharedSecretFromKeyAgreement(with: point)
        else { throw .malformedHeader }
        let keys = PushRecordKeys(
            shared,
            subscription,
            senderKey: sender,
            salt: Array(body[..<PushEncryption.saltLength])
        )
        let tag = body.count - PushEncryption.tagLength
        guard
            let box = try? AES.GCM.SealedBox(nonce: keys.nonce, ciphertext: body[header..<tag], tag: body[tag...]),
            let record = (try? AES.GCM.open(box, using: keys.key)).map({ Array($0) })
        else { throw .notAuthentic }
        guard let delimiter = record.lastIndex(where: { $0 != 0 }), record[delimiter] == 2 else {
            throw .malformedPadding
        }
        return Array(record[..<delimiter])
    }
}
