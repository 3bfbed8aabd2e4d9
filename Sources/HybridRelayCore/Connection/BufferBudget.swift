// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What all tunnels hold in memory: passed on by one end and not yet taken by the other's socket.
///
/// Each tunnel has its own window. When many stand still at once, the sum of the windows would be more than a machine
/// has; then every end that has anything under way waits until it was taken.
final class BufferBudget: Sendable {
    private let held = Atomic<Int>(0)
    private let limit: Atomic<Int>

    init(limit: Int) { self.limit = Atomic(limit) }

    /// Bytes held now.
    var bytes: Int { held.load(ordering: .relaxed) }

    /// Whether there is no room for more.
    var isExhausted: Bool { bytes >= limit.load(ordering: .relaxed) }

    /// Something more is held, or (negative) less.
    func add(_ bytes: Int) { held.add(bytes, ordering: .relaxed) }

    /// Sets another limit; what is held stays.
    func setLimit(_ limit: Int) { self.limit.store(limit, ordering: .relaxed) }
}
