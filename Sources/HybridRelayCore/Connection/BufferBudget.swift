// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// The number of bytes that all connections hold in memory, and its limit.
///
/// These are frames that the other end's socket has not yet accepted, frames of a phone without a client, and everything
/// whose end has not arrived: PROXY headers, TLS records, request heads and frames. Each connection has its own bounds.
/// If many connections reach them at once, the sum could exceed the memory of the computer.
///
/// At the limit, an end is not read while the other end's socket has not accepted its bytes. A connection is not read
/// while it holds ``MemoryPressure/floor`` bytes of something incomplete. Other reads return less.
final class BufferBudget: Sendable {
    private let held = Atomic<Int>(0)
    private let maximum: Atomic<Int>

    init(limit: Int) { maximum = Atomic(limit) }

    /// Number of bytes held.
    var bytes: Int { held.load(ordering: .relaxed) }

    /// Maximum number of bytes.
    var limit: Int { maximum.load(ordering: .relaxed) }

    /// True if the limit is reached.
    var isExhausted: Bool { bytes >= limit }

    /// Adds to the bytes held; a negative number releases them.
    func add(_ bytes: Int) { held.add(bytes, ordering: .relaxed) }

    /// Replaces the limit.
    ///
    /// The bytes held do not change.
    func setLimit(_ limit: Int) { maximum.store(limit, ordering: .relaxed) }
}

/// The rules for connections that hold something incomplete while the budget is exhausted.
///
/// Peers that send only the beginning of something could otherwise stop all tunnels until their time limits. A connection
/// that needs more memory to complete it has to wait. Connections that have waited for ``patience`` are closed, those that
/// hold most first, until an eighth of the budget is free. All others stay open: ends that read slowly, the ends that
/// wait for those, and everything smaller than ``floor``, such as the messages of a sign-in.
enum MemoryPressure {
    /// Number of incomplete bytes from which a connection is not read while the budget is exhausted.
    ///
    /// It exceeds the length of a TLS record, so that each connection can receive a complete one.
    static let floor = 20 << 10
    /// Maximum number of bytes in one read of a socket while the budget is exhausted.
    static let readSize = 12 << 10
    /// Time that a connection may wait for memory.
    static let patience = TimeAmount.seconds(5)

    /// Returns true if less than an eighth of the budget is free.
    static func isHigh(_ budget: BufferBudget) -> Bool { budget.bytes > budget.limit - budget.limit / 8 }
}
