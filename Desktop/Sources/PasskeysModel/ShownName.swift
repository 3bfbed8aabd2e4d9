// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

extension String {
    /// The text made safe to stand alone in a label: short, on one line, without characters that change others.
    ///
    /// Quotation marks are left out, because the label holds nothing that a name could imitate.
    var shownAlone: String { String(SafeText(quoting: self).description.dropFirst().dropLast()) }

    /// The text as it may be edited: without characters that are not drawn or change others.
    package var editable: String {
        var kept = ""
        for scalar in unicodeScalars where scalar.isVisible { kept.unicodeScalars.append(scalar) }
        return String(kept.unicodeScalars.prefix(256))
    }

    /// The text made safe to be a part of a sentence, in quotation marks.
    var quoted: String { SafeText(quoting: self).description }

    /// The text of a helper as a sentence of bounded length without characters that change its appearance.
    var asSentence: String {
        var kept = ""
        var isBehindSpace = true
        for scalar in unicodeScalars.prefix(Self.maximumSentence) {
            let isSpace = scalar == " " || scalar == "\n" || scalar == "\t"
            if isSpace, isBehindSpace { continue }
            isBehindSpace = isSpace
            if isSpace { kept += " " } else if scalar.isVisible { kept.unicodeScalars.append(scalar) }
        }
        if unicodeScalars.count > Self.maximumSentence { kept += "\u{2026}" }
        guard let first = kept.first, let last = kept.last else { return "" }
        return first.uppercased() + kept.dropFirst() + (".…?!".contains(last) ? "" : ".")
    }

    private static var maximumSentence: Int { 400 }
}

extension Unicode.Scalar {
    /// True for a character that is drawn and moves no other.
    fileprivate var isVisible: Bool {
        guard !properties.isDefaultIgnorableCodePoint, !properties.isBidiControl else { return false }
        return switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
