// SPDX-License-Identifier: Apache-2.0

/// The reports with which a device answers messages: 3,000 a second, and 1,290 at once.
///
/// The burst suffices for ten of the longest messages. Messages beyond the budget get no answer, such as PING and INIT. A
/// response to a CTAP2 command is always sent, but further commands are dropped until the budget has room again.
struct HIDReplyBudget: Sendable {
    static let perSecond = 3000
    static let burst = 1290

    private var available = HIDReplyBudget.burst
    private var last = Duration.zero

    /// Takes reports; returns false if the budget does not suffice.
    mutating func take(_ count: Int, at now: Duration) -> Bool {
        earn(until: now)
        guard count <= available else { return false }
        available -= count
        return true
    }

    /// Takes the reports of a response, also if the budget does not suffice.
    mutating func charge(_ count: Int) { available -= count }

    /// Returns true if a command may be processed.
    mutating func hasRoom(at now: Duration) -> Bool {
        earn(until: now)
        return available > 0
    }

    private mutating func earn(until now: Duration) {
        let earned = Int(clamping: Int64((now - last) / .microseconds(1)) * Int64(Self.perSecond) / 1_000_000)
        if earned > 0 {
            available = min(Self.burst, available + earned)
            last = now
        }
    }
}
