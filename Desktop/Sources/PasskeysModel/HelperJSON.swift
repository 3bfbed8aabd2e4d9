// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

extension JSONText {
    /// Creates the object on one line of a helper; `nil` if the line is not exactly one JSON object.
    init?(helperLine line: [UInt8]) {
        // A passkey has about twenty values.
        guard !line.isEmpty, let value = try? JSONText(parsing: line, maximumValues: 1 << 20),
            case .object = value
        else { return nil }
        self = value
    }

    /// Returns a member that is text of bounded length; `nil` if it is absent or anything else.
    func shortText(_ name: String, atMost limit: Int = 65_536) -> String? {
        guard let text = member(name)?.text, text.utf8.count <= limit else { return nil }
        return text
    }

    /// Returns a member that is a time in seconds since 1970; `nil` if it is absent or implausible.
    func time(_ name: String) -> Int64? {
        // The year 9999.
        guard let seconds = member(name)?.integer(), (1...253_402_300_799).contains(seconds) else { return nil }
        return Int64(seconds)
    }

    /// Returns a member that is a number of at least 0; texts of digits count, because events have texts only.
    func count(_ name: String) -> Int? {
        guard let value = member(name) else { return nil }
        guard let number = value.integer() ?? value.text.flatMap({ Int($0) }), number >= 0 else { return nil }
        return number
    }

    /// Returns true if a member is `true`.
    func isTrue(_ name: String) -> Bool { member(name)?.boolean == true }
}
