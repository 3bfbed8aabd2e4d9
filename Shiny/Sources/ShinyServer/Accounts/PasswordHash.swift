// SPDX-License-Identifier: Apache-2.0

internal import CryptoExtras
internal import FoundationEssentials
internal import NIOPosix
internal import Synchronization

/// A password's hash: scrypt with N = 2^14, r = 8, p = 5 (16 MiB), as OWASP recommends.
struct PasswordHash: Sendable {
    /// Shortest password in characters.
    static let minimumLength = 8
    /// Longest password in bytes of UTF-8.
    static let maximumLength = 256

    private let salt: [UInt8]
    private let hash: [UInt8]

    /// Hashes a password; takes some 100 ms.
    init(_ password: String) throws {
        var source = SystemRandomNumberGenerator()
        salt = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &source) }
        hash = try Self.derive(password, salt)
    }

    /// Returns true if this is the hash of the password; takes some 100 ms.
    func matches(_ password: String) throws -> Bool {
        let other = try Self.derive(password, salt)
        // No early exit, so that the time does not depend on the content.
        return zip(hash, other).reduce(UInt8(hash.count == other.count ? 0 : 1)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func derive(_ password: String, _ salt: [UInt8]) throws -> [UInt8] {
        try KDF.Scrypt.deriveKey(
            from: Array(password.utf8),
            salt: salt,
            outputByteCount: 32,
            rounds: 1 << 14,
            blockSize: 8,
            parallelism: 5,
            maxMemory: 64 << 20
        ).withUnsafeBytes { Array($0) }
    }
}

/// Threads that hash passwords, so that tasks do not wait for computations.
///
/// Two hashes at a time bound the memory, and a bounded queue the time.
final class PasswordHashing: Sendable {
    /// A refusal because too many passwords wait.
    struct Busy: Error {}

    private let threads = NIOThreadPool(numberOfThreads: 2)
    private let waiting = Atomic(0)
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
        threads.start()
    }

    deinit { threads.shutdownGracefully { _ in } }

    /// Runs a computation on one of the threads.
    ///
    /// - Throws: ``Busy`` if too many wait, and the error that `work` throws.
    func perform<Result: Sendable>(_ work: @Sendable @escaping () throws -> Result) async throws -> Result {
        guard waiting.wrappingAdd(1, ordering: .relaxed).newValue <= limit else {
            waiting.wrappingSubtract(1, ordering: .relaxed)
            throw Busy()
        }
        defer { waiting.wrappingSubtract(1, ordering: .relaxed) }
        return try await threads.runIfActive(work)
    }
}
