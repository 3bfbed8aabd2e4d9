// SPDX-License-Identifier: Apache-2.0

extension QRMatrix {
    /// How a terminal shows light and dark.
    public enum TerminalStyle: Sendable {
        /// Black on white by escape sequences, which looks right in every theme.
        case coloured
        /// By reverse video alone, for light text on a dark background.
        case reversedOnDark
        /// By reverse video alone, for dark text on a light background.
        case reversedOnLight
        /// Without escape sequences, for light text on a dark background.
        case plainOnDark
        /// Without escape sequences, for dark text on a light background.
        case plainOnLight

        /// What makes the background that of light and of dark modules, and the ink the other; `nil` without escapes.
        fileprivate var papers: (light: String, dark: String)? {
            switch self {
            // Black and white of the fixed 256-colour cube: themes redefine the first sixteen.
            case .coloured: ("\u{1B}[38;5;16;48;5;231m", "\u{1B}[38;5;231;48;5;16m")
            case .reversedOnDark: ("\u{1B}[7m", "\u{1B}[27m")
            case .reversedOnLight: ("\u{1B}[27m", "\u{1B}[7m")
            case .plainOnDark, .plainOnLight: nil
            }
        }
    }

    /// The border that is drawn where 4 modules do not fit: phones still find such a code.
    private static let tightBorder = 2

    /// The border around it, in modules: 4 as the standard says where that fits, otherwise 2.
    public func quietZone(columns: Int, rows: Int) -> Int {
        let needed = terminalSize(border: Self.border)
        return needed.columns <= columns && needed.rows <= rows ? Self.border : Self.tightBorder
    }

    /// The smallest terminal that shows all of the code at once, with a border of 2 and the cursor below it.
    public var smallestTerminal: (columns: Int, rows: Int) { terminalSize(border: Self.tightBorder) }

    /// Whether a terminal shows all of it at once, with the cursor below it; in one that is smaller the lines wrap
    /// or the top is out of sight, and nobody can scan it.
    public func fits(columns: Int, rows: Int) -> Bool {
        let needed = smallestTerminal
        return needed.columns <= columns && needed.rows <= rows
    }

    /// What the drawing takes up, and the line of the cursor.
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
        return stride(from: span.lowerBound, to: span.upperBound, by: 2).reduce(into: "") { text, row in
            let cells = span.map { column in
                (upper: isDark(column: column, row: row), lower: isDark(column: column, row: row + 1))
            }
            if let papers = style.papers {
                text += Self.line(cells, light: papers.light, dark: papers.dark)
            } else {
                let isNegative = style == .plainOnDark
                for cell in cells { text += Self.block(cell.upper != isNegative, cell.lower != isNegative) }
            }
            text += "\n"
        }
    }

    /// A line in which the background is the upper module, and an ink of the lower half the lower one if it differs.
    ///
    /// The blocks of many a font do not reach the top of their cell, and readers that look closely do not find a code
    /// that is cut by such thin lines; backgrounds fill their cells, and lower halves stand on the cell's floor.
    private static func line(_ cells: [(upper: Bool, lower: Bool)], light: String, dark: String) -> String {
        var text = ""
        var paper: Bool?
        for (upper, lower) in cells {
            if upper != paper { text += upper ? dark : light }
            paper = upper
            text += upper == lower ? " " : "▄"
        }
        return text + "\u{1B}[0m"
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
