// SPDX-License-Identifier: Apache-2.0

/// The reports with which a device answers messages by itself, such as PING and INIT: 3,000 a second, and 1,290 at once.
///
/// The burst suffices for ten of the longest messages. Messages beyond the budget get no answer. Responses to CTAP2
/// commands are not counted: each of them needs a request that is processed.
struct HIDReplyBudget: Sendable {
    static let perSecond = 3000
    static let burst = 1290

    private var available = HIDReplyBudget.burst
    private var last = Duration.zero

    /// Takes reports; returns false if the budget does not suffice.
    mutating func take(_ count: Int, at now: Duration) -> Bool {
        let earned = Int(clamping: Int64((now - last) / .microseconds(1)) * Int64(Self.perSecond) / 1_000_000)
        if earned > 0 {
            available = min(Self.burst, available + earned)
            last = now
        }
        guard count <= available else { return false }
        available -= count
        return true
    }
}
