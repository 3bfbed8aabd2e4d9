// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridThreads
import Testing

@testable import HybridUHID

@Suite("Limits on clients")
struct LimitTests {
    /// Returns the times at which reports pass if the client always has more, with a clock that the test moves.
    private func passed(for length: Duration, step: Duration) -> [Duration] {
        let start = ContinuousClock.now
        var limit = InputLimit()
        var (now, times) = (Duration.zero, [Duration]())
        while now < length {
            while limit.isOpen(at: start + now) {
                limit.count(at: start + now)
                times.append(now)
            }
            now += step
        }
        return times
    }

    @Test("8 reports pass at once, and 6,000 a second", arguments: [10, 137, 1000])
    func rate(microseconds: Int) {
        let times = passed(for: .seconds(3), step: .microseconds(microseconds))
        #expect(times.count { $0 == .zero } == 8)
        #expect((8 + 18_000 - 6...8 + 18_001).contains(times.count), "\(times.count)")
        #expect(times.count { $0 < .seconds(1) } <= 8 + 6_001)
    }

    @Test("A pause restores the burst, and no more")
    func pause() {
        let start = ContinuousClock.now
        var limit = InputLimit()
        for pause in [Duration.zero, .seconds(1), .seconds(100_000)] {
            var count = 0
            while limit.isOpen(at: start + pause) {
                limit.count(at: start + pause)
                count += 1
            }
            #expect(count == 8)
        }
    }
}

@Suite("Users that may have a device")
struct PolicyTests {
    private let seats = Seats(
        active: { ["seat0": 1000, "seat1": 1001][$0] },
        monitor: { nil }
    )

    @Test("Only the user who is active on seat0 may")
    func seat0() {
        let policy = PeerPolicy(listed: "", seats: seats)
        #expect(policy.admits(1000))
        for user: uid_t in [0, 999, 1001, 65534, .max] { #expect(!policy.admits(user), "\(user)") }
    }

    @Test("Listed users may, by number or name", arguments: ["1002 root", "root,1002", " 1002,, root "])
    func listed(text: String) {
        let policy = PeerPolicy(listed: text, seats: Seats(active: { _ in nil }, monitor: { nil }))
        for user: uid_t in [0, 1002] { #expect(policy.admits(user), "\(user)") }
        for user: uid_t in [1, 100, 1000, 1001, 10020] { #expect(!policy.admits(user), "\(user)") }
    }

    @Test("A listed user may not while another user is active on seat0, who could use the device")
    func listedBehindOther() {
        let policy = PeerPolicy(listed: "1000 1001 1002", seats: seats)
        #expect(policy.admits(1000))
        for user: uid_t in [1001, 1002] { #expect(!policy.admits(user), "\(user)") }
    }

    @Test("Other words admit no user", arguments: ["-1", "no-such-user", "*", "0x0", "4294967296", "1 002;"])
    func unknown(text: String) {
        let policy = PeerPolicy(listed: text, seats: Seats(active: { _ in nil }, monitor: { nil }))
        for user: uid_t in [0, 2, 1000, 65534, .max] { #expect(!policy.admits(user), "\(user)") }
    }

    @Test("Without logind, no user is active")
    func logind() {
        // A number that no user has.
        #expect(!PeerPolicy(listed: "").admits(.max - 7))
    }
}

@Suite("The rate of connections")
struct ConnectionRateTests {
    @Test("64 connections of a user pass at once, and 4 a second; others are not concerned, and one line is written")
    func rate() {
        var rates = ConnectionRates()
        let start = ContinuousClock.now
        for _ in 0..<64 { #expect(rates.count(1000, at: start) == .within) }
        #expect(rates.count(1000, at: start) == .firstBeyond)
        for _ in 0..<1000 { #expect(rates.count(1000, at: start) == .beyond) }
        #expect(rates.count(1001, at: start) == .within)
        let places = (1...1000).map { rates.count(1000, at: start + .milliseconds(10 * $0)) }
        #expect((38...41).contains(places.count { $0 == .within }))
        #expect(!places.contains(.firstBeyond))
        for _ in 0..<64 { #expect(rates.count(1000, at: start + .seconds(60)) == .within) }
        #expect(rates.count(1000, at: start + .seconds(60)) == .firstBeyond)
    }
}
