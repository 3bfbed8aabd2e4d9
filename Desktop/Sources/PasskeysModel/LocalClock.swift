// SPDX-License-Identifier: Apache-2.0

internal import HybridTranslation

/// A time as the user's clock and calendar show it.
package struct LocalMoment: Hashable, Sendable {
    /// Days since 1 January 1970 in the time zone.
    let day: Int64
    let secondOfDay: Int64

    /// Creates a local time.
    ///
    /// - Parameters:
    ///   - time: Seconds since 1970.
    ///   - offset: Seconds east of Greenwich at that time.
    package init(_ time: Int64, offset: Int64) {
        let local = time + offset
        day = local >= 0 ? local / 86400 : (local - 86399) / 86400
        secondOfDay = local - day * 86400
    }

    /// Hours and minutes, such as `10:02`.
    package var clock: String {
        let (hour, minute) = (secondOfDay / 3600, secondOfDay / 60 % 60)
        return (hour < 10 ? "0" : "") + "\(hour):" + (minute < 10 ? "0" : "") + "\(minute)"
    }

    /// Returns the day in relation to the current one: `today`, `yesterday`, `3 Nov`, or `3 Nov 2024`.
    package func dayText(now: LocalMoment) -> String {
        switch now.day - day {
        case 0: return tr("today")
        case 1: return tr("yesterday")
        default: break
        }
        let date = date
        let values = ["day": "\(date.day)", "month": Self.monthName(date.month), "year": "\(date.year)"]
        return date.year == now.date.year ? tr("{day} {month}", values) : tr("{day} {month} {year}", values)
    }

    /// Returns the day in relation to the current one, and the time of day.
    package func dayAndTimeText(now: LocalMoment) -> String {
        tr("{day}, {time}", ["day": dayText(now: now), "time": clock])
    }

    /// Year, month and day of the month in the Gregorian calendar.
    var date: (year: Int64, month: Int, day: Int) {
        // Years begin in March here, so that the leap day is the last; 146097 days are 400 years.
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let leaps = dayOfEra / 1460 - dayOfEra / 36524 + dayOfEra / 146_096
        let yearOfEra = (dayOfEra - leaps) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, Int(month), Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1))
    }

    private static func monthName(_ month: Int) -> String {
        switch month {
        case 1: tr("Jan")
        case 2: tr("Feb")
        case 3: tr("Mar")
        case 4: tr("Apr")
        case 5: tr("May")
        case 6: tr("Jun")
        case 7: tr("Jul")
        case 8: tr("Aug")
        case 9: tr("Sep")
        case 10: tr("Oct")
        case 11: tr("Nov")
        default: tr("Dec")
        }
    }
}

/// The user's clock: the current time, and the time zone's offset at any time.
package struct LocalClock: Sendable {
    private let now: @Sendable () -> Int64
    private let offset: @Sendable (Int64) -> Int64

    /// Creates a clock.
    ///
    /// - Parameters:
    ///   - now: Returns the current time in seconds since 1970.
    ///   - offset: Returns the seconds east of Greenwich at a time.
    package init(now: @escaping @Sendable () -> Int64, offset: @escaping @Sendable (Int64) -> Int64) {
        (self.now, self.offset) = (now, offset)
    }

    /// Returns the day of a time in the past.
    package func day(_ time: Int64) -> String { local(time).dayText(now: local(now())) }

    /// Returns the day and the time of day of a time in the past.
    package func dayAndTime(_ time: Int64) -> String { local(time).dayAndTimeText(now: local(now())) }

    /// Returns the time of day on the current day, else also the day.
    package func moment(_ time: Int64) -> String {
        let (moment, now) = (local(time), local(now()))
        return moment.day == now.day ? moment.clock : moment.dayAndTimeText(now: now)
    }

    private func local(_ time: Int64) -> LocalMoment { LocalMoment(time, offset: offset(time)) }
}
