// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// One encrypted message of the channel, as it travels: ciphertext and a 16-byte tag.
public struct Frame: Hashable, Sendable {
    /// The bytes.
    public let bytes: [UInt8]

    /// Takes bytes from the wire; whether they open is another matter.
    public init(bytes: [UInt8]) { self.bytes = bytes }
}

/// Why a frame was refused or can't be made.
public enum FrameError: Error, Equatable, Sendable {
    /// It does not open under this key and counter: forged, damaged, replayed or out of order.
    case notAuthentic
    /// The padding is impossible.
    case padding
    /// The direction's counter is used up.
    case counterExhausted
    /// The message is too long for a frame.
    case tooLong
}

/// Encrypts one direction; frame n uses counter n.
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

/// Decrypts one direction.
public struct FrameOpener: ~Copyable, Sendable {
    private let key: SymmetricKey
    private var counter: UInt32

    init(key: SymmetricKey, counter: UInt32 = 0) {
        self.key = key
        self.counter = counter
    }

    /// What it takes to try bytes as the next frame, without moving the counter.
    ///
    /// A channel that can't see where messages end tries several cuts of its bytes; only the one that opens
    /// counts, and is then acknowledged with ``accept(_:)``.
    public var next: FrameTrial { FrameTrial(key: key, counter: counter) }

    /// Moves on after a trial opened.
    public mutating func accept(_ trial: FrameTrial) {
        precondition(trial.counter == counter, "a trial is acknowledged once, before the next is drawn")
        counter += 1
    }

    /// Opens the next frame or leaves the counter where it is.
    public mutating func open(_ frame: Frame) throws(FrameError) -> [UInt8] {
        let trial = next
        let message = try trial.open(frame)
        accept(trial)
        return message
    }
}

/// One attempt to open bytes as the next frame.
public struct FrameTrial: Sendable, SecretMaterial {
    fileprivate let key: SymmetricKey
    fileprivate let counter: UInt32

    /// The message inside, without its padding.
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
    /// Eight zeros and the counter, big-endian.
    static func bytes(_ counter: UInt32) -> [UInt8] {
        [UInt8](repeating: 0, count: 8)
            + (0..<4).reversed().map { UInt8(truncatingIfNeeded: counter >> UInt32(8 * $0)) }
    }
}

/// Hides the exact length of messages from the relay.
enum FramePadding {
    /// Every padded message is a multiple of this many bytes.
    static let granularity = 32

    /// Appends z zeros and the byte z.
    static func pad(_ message: [UInt8]) -> [UInt8] {
        let zeros = granularity - 1 - message.count % granularity
        return message + [UInt8](repeating: 0, count: zeros) + [UInt8(zeros)]
    }

    /// Strips the padding; neither granularity nor zeros are checked, because libwebauthn pads before it adds the
    /// type byte and phones accept its frames.
    static func unpad(_ padded: [UInt8]) throws(FrameError) -> [UInt8] {
        guard let last = padded.last, Int(last) + 1 <= padded.count else { throw .padding }
        return Array(padded.dropLast(Int(last) + 1))
    }
}
