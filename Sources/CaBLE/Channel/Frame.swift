// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// An encrypted message of the channel: ciphertext and a 16-byte tag.
public struct Frame: Hashable, Sendable {
    /// The bytes.
    public let bytes: [UInt8]

    /// Creates a frame from received bytes, without checking them.
    public init(bytes: [UInt8]) { self.bytes = bytes }
}

/// A reason why a frame is rejected or cannot be created.
public struct FrameError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Decryption failed under this key and counter: the frame is forged, damaged, replayed or out of order.
    public static let notAuthentic = FrameError("notAuthentic")
    /// The padding is invalid.
    public static let padding = FrameError("padding")
    /// The counter of this direction is exhausted.
    public static let counterExhausted = FrameError("counterExhausted")
    /// The message is too long for a frame.
    public static let tooLong = FrameError("tooLong")

    /// The error's name.
    public let description: String

    private init(_ description: String) { self.description = description }
}

/// An encrypter for messages in one direction; frame n uses counter n.
public struct FrameSealer: ~Copyable, Sendable {
    private let key: SymmetricKey
    private var counter: UInt32

    init(key: SymmetricKey, counter: UInt32 = 0) {
        self.key = key
        self.counter = counter
    }

    /// Pads and encrypts a message.
    ///
    /// - Throws: ``FrameError/counterExhausted``, ``FrameError/tooLong``.
    public mutating func seal(_ message: [UInt8]) throws(FrameError) -> Frame {
        guard counter <= Limits.frameCounter else { throw .counterExhausted }
        let padded = FramePadding.pad(message)
        guard padded.count + 16 <= Limits.messageBytes else { throw .tooLong }
        let nonce = FrameNonce.bytes(counter)
        counter += 1
        do {
            let box = try AES.GCM.seal(padded, using: key, nonce: AES.GCM.Nonce(data: nonce))
            return Frame(bytes: Array(box.ciphertext) + Array(box.tag))
        } catch {
            throw .tooLong
        }
    }
}

/// A decrypter for messages in one direction.
public struct FrameOpener: ~Copyable, Sendable {
    private let key: SymmetricKey
    private var counter: UInt32

    init(key: SymmetricKey, counter: UInt32 = 0) {
        self.key = key
        self.counter = counter
    }

    /// A trial decryption of the next frame, which does not advance the counter.
    ///
    /// A transport without message boundaries tries several lengths. It passes the trial that succeeds to
    /// ``accept(_:)``.
    public var next: FrameTrial { FrameTrial(key: key, counter: counter) }

    /// Advances the counter after a successful trial.
    public mutating func accept(_ trial: FrameTrial) {
        precondition(trial.counter == counter, "a trial must be accepted once, before the next one is created")
        counter += 1
    }

    /// Decrypts the next frame.
    ///
    /// The counter advances on success only.
    public mutating func open(_ frame: Frame) throws(FrameError) -> [UInt8] {
        let trial = next
        let message = try trial.open(frame)
        accept(trial)
        return message
    }
}

/// An attempt to decrypt bytes as the next frame.
public struct FrameTrial: Sendable, SecretMaterial {
    fileprivate let key: SymmetricKey
    fileprivate let counter: UInt32

    /// Decrypts a frame and removes the padding.
    ///
    /// - Throws: ``FrameError``.
    public func open(_ frame: Frame) throws(FrameError) -> [UInt8] {
        guard counter <= Limits.frameCounter else { throw .counterExhausted }
        guard frame.bytes.count >= 17, frame.bytes.count <= Limits.messageBytes else { throw .notAuthentic }
        let padded: [UInt8]
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: FrameNonce.bytes(counter)),
                ciphertext: frame.bytes.dropLast(16),
                tag: frame.bytes.suffix(16)
            )
            padded = Array(try AES.GCM.open(box, using: key))
        } catch {
            throw .notAuthentic
        }
        return try FramePadding.unpad(padded)
    }
}

enum FrameNonce {
    /// Returns the 12-byte nonce: eight zero bytes and the big-endian counter.
    static func bytes(_ counter: UInt32) -> [UInt8] {
        [UInt8](repeating: 0, count: 8) + counter.littleEndianBytes.reversed()
    }
}

/// Padding that hides the exact length of messages from the relay.
enum FramePadding {
    /// The length of a padded message in bytes is a multiple of this number.
    static let granularity = 32
    /// Maximum length of a message in bytes, of which a frame within `Limits.messageBytes` can be made.
    static let maximumMessageLength = (Limits.messageBytes - 16) / granularity * granularity - 1

    /// Appends 0 to 31 zero bytes, and a byte with the number of zero bytes.
    static func pad(_ message: [UInt8]) -> [UInt8] {
        let zeros = granularity - 1 - message.count % granularity
        return message + [UInt8](repeating: 0, count: zeros) + [UInt8(zeros)]
    }

    /// Removes the padding.
    ///
    /// Neither the granularity nor the zero bytes are checked. libwebauthn pads before it adds the type byte, and
    /// phones accept its frames.
    static func unpad(_ padded: [UInt8]) throws(FrameError) -> [UInt8] {
        guard let last = padded.last, Int(last) + 1 <= padded.count else { throw .padding }
        return Array(padded.dropLast(Int(last) + 1))
    }
}
