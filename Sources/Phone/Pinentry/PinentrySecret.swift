// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridPrimitives

/// Text that the user typed, in memory that is wiped on release.
///
/// Contains 0 to ``maximumLength`` bytes as they arrived, in practice UTF-8.
package final class PinentrySecret: SecretMaterial, @unchecked Sendable {
    // SAFETY of @unchecked: `storage` and `count` are changed only by `append` and `decodePercent`. Both are called on
    // the one thread that reads the answer, before the secret is shared.

    /// Maximum length in bytes.
    package static let maximumLength = 2048

    private let storage = SecretBytes(count: maximumLength)
    /// Number of bytes.
    package private(set) var count = 0

    /// Creates an empty secret.
    package init() {
        // Best effort: an unprivileged process may lock little memory.
        mlock(storage.memory.baseAddress, storage.memory.count)
    }

    deinit {
        SecretBytes.wipe(storage.memory)
        munlock(storage.memory.baseAddress, storage.memory.count)
    }

    /// Calls `body` with the bytes, which must not be copied to memory that is not wiped.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(rebasing: storage.memory[..<count]))
    }

    /// Returns true if both secrets are equal, in time that depends on their lengths alone.
    package func matches(_ other: PinentrySecret) -> Bool {
        ConstantTime.equal(storage.memory[..<count], other.storage.memory[..<other.count])
    }

    /// Appends bytes.
    ///
    /// - Returns: False, without a change, if the result would be too long.
    package func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard count + bytes.count <= storage.memory.count else { return false }
        UnsafeMutableRawBufferPointer(rebasing: storage.memory[count...]).copyMemory(from: bytes)
        count += bytes.count
        return true
    }

    /// Replaces each `%XX` with its byte, in place.
    ///
    /// A percent sign without two hexadecimal digits stays: some programs do not escape the one that was typed.
    func decodePercent() {
        let bytes = storage.memory
        var (from, to) = (0, 0)
        while from < count {
            if bytes[from] == UInt8(ascii: "%"), from + 2 < count, let high = Hex.value(of: bytes[from + 1]),
                let low = Hex.value(of: bytes[from + 2])
            {
                bytes[to] = high << 4 | low
                from += 3
            } else {
                bytes[to] = bytes[from]
                from += 1
            }
            to += 1
        }
        SecretBytes.wipe(UnsafeMutableRawBufferPointer(rebasing: bytes[to..<count]))
        count = to
    }
}
