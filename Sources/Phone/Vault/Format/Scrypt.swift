// SPDX-License-Identifier: Apache-2.0

internal import Crypto
private import CryptoExtras
private import FoundationEssentials

/// Parameters of scrypt (RFC 7914), which determine the cost of one guess at a secret.
struct Scrypt: Hashable, Sendable {
    /// Parameters of new slots: N = 2^17, r = 8, p = 1; a guess takes 128 MiB and about a third of a second.
    static let standard = Scrypt(uncheckedLogN: 17, p: 1)
    /// The lowest parameters that are accepted for a real vault: N = 2^15, r = 8, p = 1.
    static let lowest = Scrypt(uncheckedLogN: 15, p: 1)
    /// Parameters of new slots of test vaults, which answer a virtual radio only: N = 2^10, r = 8, p = 1.
    static let test = Scrypt(uncheckedLogN: 10, p: 1)

    /// Binary logarithm of N.
    let logN: UInt8
    /// Block size parameter; always 8.
    let r: UInt8
    /// Parallelization parameter.
    let p: UInt8

    /// Time and memory, in blocks of 128 bytes.
    var cost: Int { (1 << Int(logN)) * Int(r) * Int(p) }

    private init(uncheckedLogN logN: UInt8, p: UInt8) {
        self.logN = logN
        self.r = 8
        self.p = p
    }

    /// Creates parameters with N from 2^15 to 2^20 (in a test vault, from 2^10), r = 8 and p from 1 to 4; `nil` for any others.
    ///
    /// A forged slot can therefore neither be weak nor exhaust the memory.
    init?(logN: UInt8, r: UInt8, p: UInt8, isTest: Bool = false) {
        let lowest = isTest ? Self.test : .lowest
        guard (lowest.logN...20).contains(logN), r == 8, (1...4).contains(p) else { return nil }
        self.logN = logN
        self.r = r
        self.p = p
    }

    /// Derives 32 bytes from a secret that a user knows.
    ///
    /// Slow by design; call it on a dedicated thread.
    ///
    /// - Returns: The key, or `nil` if there is not enough memory.
    func stretch(_ secret: UnsafeRawBufferPointer, salt: [UInt8]) -> SymmetricKey? {
        try? KDF.Scrypt.deriveKey(
            from: secret,
            salt: salt,
            outputByteCount: 32,
            rounds: 1 << Int(logN),
            blockSize: Int(r),
            parallelism: Int(p)
        )
    }
}
