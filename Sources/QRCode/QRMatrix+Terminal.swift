// SPDX-License-Identifier: Apache-2.0

extension QRMatrix {
    /// How a terminal shows light and dark.
    public enum TerminalStyle: Sendable {
        /// Black on white by escape sequences, which looks right in every theme.
        case coloured
        /// Without escape sequences, for light text on a dark background.
        case plainOnDark
        /// Without escape sequences, for dark text on a light background.
        case plainOnLight
    }

    /// The border that is drawn where 4 modules do not fit: phones still find such a code.
    private static let tightBorder = 2

    /// The border around it, in modules: 4 as the standard says where that fits, otherwise 2.
    public func quietZone(columns: Int, rows: Int) -> Int {
        let needed = terminalSize(border: Self.border)
        return needed.columns <= columns && needed.rows <= rows ? Self.border : Self.tightBorder
    }

    /// The smallest terminal that shows all of the code at once, with a border of 2 and a line of text below it.
    public var smallestTerminal: (columns: Int, rows: Int) { terminalSize(border: Self.tightBorder) }

    /// Whether a terminal shows all of it at once, with a line of text below it; in one that is smaller the lines wrap
    /// or the top is out of sight, and nobody can scan it.
    public func fits(columns: Int, rows: Int) -> Bool {
        let needed = smallestTerminal
        return needed.columns <= columns && needed.rows <= rows
    }

    /// What the drawing takes up, and the line below it.
    private func terminalSize(border: Int) -> (columns: Int, rows: Int) {
        let side = size + 2 * border
        return (side, (side + 1) / 2 + 1)
    }

    /// The code in half blocks, two rows of modules to a line, each line ended by a newline.
    ///
    /// - Parameters:
    ///   - style: How light and dark are told apart.
    ///   - columns: Width of the terminal, in characters.
    ///   - rows: Height of the terminal, in lines.
    public func terminalText(style: TerminalStyle = .coloured, columns: Int = 80, rows: Int = 24) -> String {
        let zone = quietZone(columns: columns, rows: rows)
        let span = -zone..<(size + zone)
        // Black and white of the fixed 256-colour cube: themes redefine the first sixteen.
        let (start, end) = style == .coloured ? ("\u{1B}[38;5;16;48;5;231m", "\u{1B}[0m") : ("", "")
        var text = ""
        for row in stride(from: span.lowerBound, to: span.upperBound, by: 2) {
            text += start
            for column in span {
                let upper = isDark(column: column, row: row)
                let lower = isDark(column: column, row: row + 1)
                text += style == .plainOnDark ? Self.block(!upper, !lower) : Self.block(upper, lower)
            }
            text += end + "\n"
        }
        return text
    }

    private static func block(_ upper: Bool, _ lower: Bool) -> String {
        switch (upper, lower) {
        case (true, true): "█"
        case (true, false): "▀"
        case (false, true): "▄"
        case (false, false): " "
        }
    }
}
