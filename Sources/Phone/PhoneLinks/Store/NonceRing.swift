// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridPrimitives

/// The nonces of the last 1,024 wake-ups of a link, so that a relay cannot repeat one.
struct NonceRing: Hashable, Sendable {
    /// Maximum number of nonces.
    static let capacity = 1024
    private static let nonceLength = 16

    /// The nonces, oldest first.
    private var nonces: [ContactNonce] = []

    /// Creates a ring without nonces.
    init() {}

    /// Creates a ring from the nonces in ``bytes``; `nil` if their length is wrong, or one is repeated.
    init?(bytes: [UInt8]) {
        guard bytes.count.isMultiple(of: Self.nonceLength), bytes.count <= Self.capacity * Self.nonceLength else {
            return nil
        }
        for start in stride(from: 0, to: bytes.count, by: Self.nonceLength) {
            guard let nonce = ContactNonce(bytes: bytes[start..<start + Self.nonceLength]), insert(nonce) else {
                return nil
            }
        }
    }

    /// Adds a nonce, in place of the oldest one if the ring is full; returns false if it was seen before.
    mutating func insert(_ nonce: ContactNonce) -> Bool {
        guard !nonces.contains(nonce) else { return false }
        if nonces.count == Self.capacity { nonces.removeFirst() }
        nonces.append(nonce)
        return true
    }

    /// The nonces in order, 16 bytes each.
    var bytes: [UInt8] { nonces.flatMap(\.bytes) }
}
