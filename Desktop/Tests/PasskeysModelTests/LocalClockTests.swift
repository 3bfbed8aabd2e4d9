// SPDX-License-Identifier: Apache-2.0

import HybridPasskeysModel
import Testing

@Suite("Times")
struct LocalClockTests {
    private let now: Int64 = 1_795_950_000

    @Test("are named in relation to the current day of the time zone")
    func days() {
        #expect(clock.day(now) == "today")
        // 00:00 in the time zone, and a second before.
        #expect(clock.day(now - 12 * 3600) == "today")
        #expect(clock.day(now - 12 * 3600 - 1) == "yesterday")
        #expect(clock.day(now - 36 * 3600 - 1) == "27 Nov")
        #expect(clock.day(now - 26 * 86400) == "3 Nov")
        #expect(clock.day(1_700_000_000) == "14 Nov 2023")
        // A clock may have been wrong.
        #expect(clock.day(now + 86400) == "30 Nov")
    }

    @Test("have a time of day")
    func moments() {
        #expect(clock.moment(now) == "12:00")
        #expect(clock.moment(now - 7080) == "10:02")
        #expect(clock.moment(now - 86400) == "yesterday, 12:00")
        #expect(clock.moment(0) == "1 Jan 1970, 01:00")
    }

    @Test(
        "follow the Gregorian calendar",
        arguments: [
            (951_782_400, "29 Feb 2000"), (951_868_800, "1 Mar 2000"), (1_709_164_800, "29 Feb 2024"),
            (4_107_542_400, "1 Mar 2100"), (4_107_456_000, "28 Feb 2100"), (1_735_603_200, "31 Dec 2024"),
            (1_735_689_600, "1 Jan 2025"), (-86400, "31 Dec 1969"), (253_402_214_400, "31 Dec 9999"),
        ] as [(Int64, String)]
    )
    func calendar(time: Int64, text: String) {
        let clock = LocalClock(now: { 1_795_950_000 }, offset: { _ in 0 })
        #expect(clock.day(time) == text)
    }

    @Test("use the offset of their own day")
    func daylightSaving() {
        // 23:30 of 24 October in summer time, when the offset was two hours.
        let clock = LocalClock(now: { 1_793_000_000 }, offset: { $0 < 1_792_890_000 ? 7200 : 3600 })
        #expect(clock.moment(1_792_877_400) == "24 Oct, 23:30")
    }
}
