// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The day on which a domain's registration ends, as its operator states it.
package struct ExpiryDate: Hashable, Sendable {
    /// The beginning of the day in UTC, in seconds since 1970.
    package let secondsSince1970: Int

    /// Parses `YYYY-MM-DD`; `nil` for any other text and for days that do not exist.
    package init?(_ text: String) {
        let style = Date.ISO8601FormatStyle().year().month().day()
        // The style is lenient, so only its own notation of the day counts.
        guard let date = try? style.parse(text), style.format(date) == text else { return nil }
        secondsSince1970 = Int(date.timeIntervalSince1970)
    }
}
