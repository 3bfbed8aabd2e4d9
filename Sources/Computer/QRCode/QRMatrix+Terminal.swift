// SPDX-License-Identifier: Apache-2.0

extension QRMatrix {
    /// The way in which a terminal shows light and dark modules.
    public enum TerminalStyle: Sendable {
        /// Black on white with escape sequences, independent of the color theme.
        case colored
        /// Reverse video, for light text on a dark background.
        case reversedOnDark
        /// Reverse video, for dark text on a light background.
        case reversedOnLight
        /// No escape sequences, for light text on a dark background.
        case plainOnDark
        /// No escape sequences, for dark text on a light background.
        case plainOnLight

        /// Escape sequences for a light and a dark background; `nil` for styles without escape sequences.
        fileprivate var backgrounds: (light: String, dark: String)? {
            switch self {
            // Black and white of the fixed 256-color palette, because themes redefine the first 16 colors.
            case .colored: ("\u{1B}[38;5;16;48;5;231m", "\u{1B}[38;5;231;48;5;16m")
            case .reversedOnDark: ("\u{1B}[7m", "\u{1B}[27m")
            case .reversedOnLight: ("\u{1B}[27m", "\u{1B}[7m")
            case .plainOnDark, .plainOnLight: nil
            }
        }
    }

    /// The border in modules if 4 modules do not fit; phones still recognize such a code.
    private static let tightBorder = 2

    /// Returns the border in modules: 4 as the standard requires if it fits, otherwise 2.
    public func quietZone(columns: Int, rows: Int) -> Int {
        let needed = terminalSize(border: Self.border)
        return needed.columns <= columns && needed.rows <= rows ? Self.border : Self.tightBorder
    }

    /// Size in characters of the smallest terminal that shows the whole code with a border of 2 modules.
    ///
    /// The size includes a row for the cursor below the code.
    public var smallestTerminal: (columns: Int, rows: Int) { terminalSize(border: Self.tightBorder) }

    /// Returns true if a terminal of this size shows the whole code with the cursor below.
    ///
    /// In a smaller terminal, lines wrap or the top scrolls out of view, and the code cannot be scanned.
    public func fits(columns: Int, rows: Int) -> Bool {
        let needed = smallestTerminal
        return needed.columns <= columns && needed.rows <= rows
    }

    /// Returns the size of the drawing in characters, including the row of the cursor.
    private func terminalSize(border: Int) -> (columns: Int, rows: Int) {
        let side = size + 2 * border
        return (side, (side + 1) / 2 + 1)
    }

    /// Returns the code drawn with half blocks: each line shows two rows of modules and ends with a newline.
    ///
    /// - Parameters:
    ///   - style: Style of light and dark modules.
    ///   - columns: Width of the terminal in characters.
    ///   - rows: Height of the terminal in characters.
    public func terminalText(style: TerminalStyle = .colored, columns: Int = 80, rows: Int = 24) -> String {
        let zone = quietZone(columns: columns, rows: rows)
        let span = -zone..<(size + zone)
        return stride(from: span.lowerBound, to: span.upperBound, by: 2).reduce(into: "") { text, row in
            let cells = span.map { column in
                (upper: isDark(column: column, row: row), lower: isDark(column: column, row: row + 1))
            }
            if let backgrounds = style.backgrounds {
                text += Self.line(cells, light: backgrounds.light, dark: backgrounds.dark)
            } else {
                let isNegative = style == .plainOnDark
                for cell in cells { text += Self.block(cell.upper != isNegative, cell.lower != isNegative) }
            }
            text += "\n"
        }
    }

    /// Returns a line that shows upper modules as background, and lower modules as half blocks where they differ.
    ///
    /// In many fonts, blocks do not reach the top of their cell, and the thin lines between them make a code
    /// unreadable. A background fills its cell, and a lower half block starts at the bottom of the cell.
    private static func line(_ cells: [(upper: Bool, lower: Bool)], light: String, dark: String) -> String {
        var text = ""
        var background: Bool?
        for (upper, lower) in cells {
            if upper != background { text += upper ? dark : light }
            background = upper
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
