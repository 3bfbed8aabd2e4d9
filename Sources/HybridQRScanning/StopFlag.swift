// SPDX-License-Identifier: Apache-2.0

private import Synchronization

/// Tells a thread that nobody waits for it any more.
final class StopFlag: Sendable {
    private let value = Atomic<Bool>(false)

    var isRaised: Bool { value.load(ordering: .relaxed) }

    func raise() { value.store(true, ordering: .relaxed) }
}
