// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// The number of bytes that all connections buffer, and its limit.
///
/// These are frames that the other end's socket has not yet accepted, frames of a phone without a client, and everything
/// whose end has not arrived: PROXY headers, TLS records, request heads and frames. Each connection has its own bounds.
/// If many connections reach them at once, the sum could exceed the memory of the computer.
///
/// From half of the limit on, large frames are forwarded in fragments instead of being buffered, so that no peer can occupy
/// memory by withholding the end of a frame. At the limit, an end is not read while the other end's socket has not accepted
/// its bytes, and reads return less. A connection that cannot release its buffer, such as a long request head, is not
/// read.
final class BufferBudget: Sendable {
    private let buffered = Atomic<Int>(0)
    private let maximum: Atomic<Int>

    init(limit: Int) { maximum = Atomic(limit) }

    /// Number of buffered bytes.
    var bytes: Int { buffered.load(ordering: .relaxed) }

    /// Maximum number of bytes.
    var limit: Int { maximum.load(ordering: .relaxed) }

    /// True if half of the limit is reached.
    var isHigh: Bool { bytes >= limit / 2 }

    /// True if the limit is reached.
    var isExhausted: Bool { bytes >= limit }

    /// Adds to the buffered bytes; a negative number releases them.
    func add(_ bytes: Int) { buffered.add(bytes, ordering: .relaxed) }

    /// Replaces the limit.
    ///
    /// The number of buffered bytes does not change.
    func setLimit(_ limit: Int) { maximum.store(limit, ordering: .relaxed) }
}

/// The rules for connections while the budget is high or exhausted.
enum MemoryPressure {
    /// Number of incomplete bytes from which a connection is not read while the budget is exhausted.
    ///
    /// It exceeds the lengths of a TLS record and of what is buffered of a frame, with an array's spare room. So each connection
    /// can receive a complete record, and a frame never stops it.
    static let floor = 28 << 10
    /// Maximum number of bytes in one read of a socket while the budget is exhausted.
    static let readSize = 12 << 10
    /// Maximum length of a payload that is buffered until its frame is complete while the budget is high, in bytes.
    ///
    /// No message of a sign-in is longer, apart from some of those that create a passkey with large attestation.
    static let bufferedPayload = 4 << 10
}
