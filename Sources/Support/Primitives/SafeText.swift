// SPDX-License-Identifier: Apache-2.0

/// An untrusted name, made safe to appear in a prompt.
///
/// The sender of a request may try to imitate a line of the prompt, change the text direction, hide letters or insert
/// markup. Therefore the name appears in quotation marks, with at most 64 characters (Unicode scalars) and 192 bytes:
/// - Invisible characters are dropped: control, format, bidirectional, zero-width and other ignorable characters, line
///   ends, and private and unassigned characters. Enclosing marks and `<`, `>` and `&` are dropped, too.
/// - A quotation mark or a character that resembles one becomes an apostrophe.
/// - A run of spaces becomes one space.
/// - A combining mark is dropped if it would apply to the opening quotation mark or is the fourth on one letter.
/// - A shortened name ends with an ellipsis.
public struct SafeText: Hashable, Sendable, CustomStringConvertible {
    /// Maximum number of characters (Unicode scalars) that are shown.
    public static let maximumLength = 64
    /// Maximum number of UTF-8 bytes that are shown, so that a prompt fits a line of the protocol.
    public static let maximumBytes = 192

    /// The name in quotation marks.
    public let description: String

    /// Creates the safe form of any text.
    public init(quoting name: String) {
        var kept = ""
        var (length, bytes) = (0, 0)
        var isCut = false
        // The start counts as following a space: neither a space nor a mark may come first.
        var (isBehindSpace, marks) = (true, Self.maximumMarks)
        for scalar in name.unicodeScalars {
            guard let shown = Self.shown(scalar) else { continue }
            if shown == " ", isBehindSpace { continue }
            let isMark = Self.isMark(shown)
            if isMark, marks == Self.maximumMarks { continue }
            let size = String(shown).utf8.count
            // One character and three bytes are reserved for the ellipsis.
            guard length < Self.maximumLength, bytes + size <= Self.maximumBytes else {
                isCut = true
                break
            }
            kept.unicodeScalars.append(shown)
            length += 1
            bytes += size
            isBehindSpace = shown == " "
            marks = isMark ? marks + 1 : isBehindSpace ? Self.maximumMarks : 0
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

    /// Maximum number of combining marks on one letter; no script needs more.
    private static let maximumMarks = 3

    /// Returns true if a character combines with the one before it.
    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark: true
        default: false
        }
    }

    /// Characters that resemble the quotation mark at the end of a name.
    private static let quotationMarks: Set<Unicode.Scalar> = [
        "\"", "\u{AB}", "\u{BB}", "\u{2BA}", "\u{2DD}", "\u{2EE}", "\u{2F6}", "\u{5F4}",
        "\u{201C}", "\u{201D}", "\u{201E}", "\u{201F}", "\u{2033}", "\u{2034}", "\u{2036}", "\u{2037}", "\u{2057}",
        "\u{275D}", "\u{275E}", "\u{2760}", "\u{276E}", "\u{276F}", "\u{2E42}",
        "\u{3003}", "\u{301D}", "\u{301E}", "\u{301F}", "\u{FF02}", "\u{1F676}", "\u{1F677}", "\u{1F678}",
    ]

    /// Returns the character to show; `nil` to show none.
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
