// SPDX-License-Identifier: Apache-2.0

/// A name that a stranger chose, made fit to stand in a question.
///
/// Whoever sends a request may try to write a line of our dialogue, turn the writing direction, hide letters or
/// smuggle in markup. So the name stands in quotation marks on its own, at most 64 characters (Unicode scalars)
/// and 192 bytes long, and only of characters that are seen: control, format, bidirectional, zero-width and
/// other ignorable ones, line ends, private and unassigned ones, and `<`, `>` and `&` are dropped; whatever looks
/// like a quotation mark becomes an apostrophe, and any run of spaces a plain one. A mark that would sit on our
/// quotation mark, or the fourth on one letter, is dropped too. What was cut ends in an ellipsis.
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
        // A name begins as behind a space: neither a space nor a mark may come first.
        var (isBehindSpace, marks) = (true, Self.mostMarks)
        for scalar in name.unicodeScalars {
            guard let shown = Self.shown(scalar) else { continue }
            if shown == " ", isBehindSpace { continue }
            let isMark = Self.isMark(shown)
            if isMark, marks == Self.mostMarks { continue }
            let size = String(shown).utf8.count
            // One place, and three bytes, are kept for the ellipsis.
            guard length < Self.maximumLength, bytes + size <= Self.maximumBytes else {
                isCut = true
                break
            }
            kept.unicodeScalars.append(shown)
            length += 1
            bytes += size
            isBehindSpace = shown == " "
            marks = isMark ? marks + 1 : isBehindSpace ? Self.mostMarks : 0
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

    /// The most marks that one letter may carry; no script needs more.
    private static let mostMarks = 3

    /// Whether a character sits on the one before it.
    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark: true
        default: false
        }
    }

    /// What could be taken for the quotation mark that ends a name.
    private static let quotationMarks: Set<Unicode.Scalar> = [
        "\"", "\u{AB}", "\u{BB}", "\u{2BA}", "\u{2DD}", "\u{2EE}", "\u{2F6}", "\u{5F4}",
        "\u{201C}", "\u{201D}", "\u{201E}", "\u{201F}", "\u{2033}", "\u{2034}", "\u{2036}", "\u{2037}", "\u{2057}",
        "\u{275D}", "\u{275E}", "\u{2760}", "\u{276E}", "\u{276F}", "\u{2E42}",
        "\u{3003}", "\u{301D}", "\u{301E}", "\u{301F}", "\u{FF02}", "\u{1F676}", "\u{1F677}", "\u{1F678}",
    ]

    /// What a character is shown as; `nil` when not at all.
    static func shown(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar {
        case "<", ">", "&", "\u{2800}": return nil
        case let mark where quotationMarks.contains(mark): return "'"
        default: break
        }
        let properties = scalar.properties
        guard !properties.isDefaultIgnorableCodePoint, !properties.isBidiControl, !properties.isNoncharacterCodePoint
        else {
            return nil
        }
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator,
            .enclosingMark:
            return nil
        case .spaceSeparator: return " "
        default: return scalar
        }
    }
}
