// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Times for display.
enum LocalTime {
    /// Returns seconds since 1970 as local time, to the minute.
    static func text(_ seconds: UInt64) -> String {
        var time = time_t(clamping: seconds)
        var parts = tm()
        guard localtime_r(&time, &parts) != nil else { return "\(seconds)" }
        var buffer = [CChar](repeating: 0, count: 32)
        let count = strftime(&buffer, buffer.count, "%Y-%m-%d %H:%M", &parts)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
