// SPDX-License-Identifier: Apache-2.0

internal import Crypto
private import CryptoExtras
private import FoundationEssentials

/// How much work one guess at a secret is (RFC 7914).
struct Scrypt: Hashable, Sendable {
    /// What is written: N = 2^17, r = 8, p = 1; 128 MiB and about a third of a second.
    static let standard = Scrypt(uncheckedLogN: 17, p: 1)

    /// log2 of N.
    let logN: UInt8
    /// Always 8.
    let r: UInt8
    /// Parallelism.
    let p: UInt8

    private init(uncheckedLogN logN: UInt8, p: UInt8) {
        self.logN = logN
        self.r = 8
        self.p = p
    }

    /// Takes N from 2^15 to 2^20, r 8 and p from 1 to 4; anything else is `nil`, so that a slot can be neither
    /// weak nor a trap that eats all memory.
    init?(logN: UInt8, r: UInt8, p: UInt8) {
        guard (15...20).contains(logN), r == 8, (1...4).contains(p) else { return nil }
        self.logN = logN
        self.r = r
        self.p = p
    }

    /// Stretches what a person knows to 32 bytes.
    ///
    /// It is slow by design: call it on a thread of its own.
    ///
    /// - Throws: When there is not enough memory.
    func stretch(_ secret: UnsafeRawBufferPointer, salt: [UInt8]) throws -> SymmetricKey {
        try KDF.Scrypt.deriveKey(
            from: secret,
            salt: salt,
            outputByteCount: 32,
            rounds: 1 << Int(logN),
            blockSize: Int(r),
            parallelism: Int(p)
        )
    }
}
