// SPDX-License-Identifier: Apache-2.0

/// A name that a stranger chose, made fit to stand in a question.
///
/// Whoever sends a request may try to write a line of our dialogue, turn the writing direction, hide letters or
/// smuggle in markup. So the name stands in quotation marks on its own, at most 64 characters (Unicode scalars)
/// and 192 bytes long, and only of characters that are seen: control, format, bidirectional, zero-width and
/// other ignorable ones, line ends, private and unassigned ones, and `<`, `>` and `&` are dropped; a quotation
/// mark becomes an apostrophe, and any other space a plain one. What was cut ends in an ellipsis.
public struct SafeText: Hashable, Sendable, CustomStringConvertible {
    /// The most characters (Unicode scalars) of the name that are shown.
    public static let maximumLength = 64
    /// The most bytes of the name's UTF-8 that are shown, so that a question fits a line of the protocol.
    public static let maximumBytes = 192

    /// The name in quotation marks.
    public let description: String

    /// Makes any text safe.
    public init(quoting name: String) {
        var kept = ""
        var (length, bytes) = (0, 0)
        var isCut = false
        for scalar in name.unicodeScalars {
            guard let shown = Self.shown(scalar) else { continue }
            let size = String(shown).utf8.count
            // One place, and three bytes, are kept for the ellipsis.
            guard length < Self.maximumLength, bytes + size <= Self.maximumBytes else {
                isCut = true
                break
            }
            kept.unicodeScalars.append(shown)
            length += 1
            bytes += size
        }
        if isCut {
            while length >= Self.maximumLength || bytes + 3 > Self.maximumBytes,
                let last = kept.unicodeScalars.popLast()
            {
                length -= 1
                bytes -= String(last).utf8.count
            }
            kept += "\u{2026}"
        }
        description = "\"" + kept + "\""
    }

    /// What a character is shown as; `nil` when not at all.
    static func shown(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar {
        case "<", ">", "&", "\u{2800}": return nil
        case "\"": return "'"
        default: break
        }
        let properties = scalar.properties
        guard !properties.isDefaultIgnorableCodePoint, !properties.isBidiControl, !properties.isNoncharacterCodePoint
        else {
            return nil
        }
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: return nil
        case .spaceSeparator: return " "
        default: return scalar
        }
    }
}
