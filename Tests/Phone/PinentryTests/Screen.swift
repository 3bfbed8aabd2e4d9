// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The output of a terminal.
final class Screen: Sendable {
    private let bytes = Mutex<[UInt8]>([])

    func append(_ more: ArraySlice<UInt8>) { bytes.withLock { $0 += more } }

    var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }

    /// The rows as they are visible now.
    var rows: [String] {
        var display = Display()
        for scalar in text.unicodeScalars { display.show(scalar) }
        return display.rows
    }
}

/// The subset of a vt100 that pinentry programs use, with 100 columns and 30 rows.
struct Display {
    private static let (width, height) = (100, 30)

    private enum State {
        case text
        case escape
        /// After `ESC (` or similar: the next character names a character set.
        case set
        case sequence(String)
    }

    /// The character of each cell with its combining marks; the second cell of a wide character is empty.
    private var cells = [[String]](repeating: [String](repeating: " ", count: width), count: height)
    private var (row, column) = (0, 0)
    private var state = State.text
    /// True if letters stand for line-drawing characters.
    private var isDrawing = false
    private static let frame: Character = "│"

    /// The rows without surrounding blanks and frames.
    var rows: [String] {
        cells.map { cells in
            let row = cells.joined()
            let isFrame = { (cell: Character) in cell == " " || cell == Self.frame }
            guard let start = row.firstIndex(where: { !isFrame($0) }), let end = row.lastIndex(where: { !isFrame($0) })
            else { return "" }
            return String(row[start...end])
        }
    }

    mutating func show(_ scalar: Unicode.Scalar) {
        switch state {
        case .escape:
            switch scalar {
            case "[": state = .sequence("")
            case "(", ")": state = .set
            default: state = .text
            }
        case .set: state = .text
        case .sequence(let parameters):
            if ("@"..."~").contains(scalar) {
                obey(scalar, parameters.split(separator: ";").map { Int($0) ?? 0 })
                state = .text
            } else {
                state = .sequence(parameters + String(scalar))
            }
        case .text: write(scalar)
        }
    }

    private mutating func write(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "\u{1B}": state = .escape
        case "\r": column = 0
        case "\n": lineFeed()
        case "\u{8}": column = max(0, column - 1)
        case "\t": column = min(Self.width - 1, (column / 8 + 1) * 8)
        case "\u{E}": isDrawing = true
        case "\u{F}": isDrawing = false
        case _ where scalar.value < 0x20 || scalar.value == 0x7F: break
        case _ where [.nonspacingMark, .enclosingMark, .format].contains(scalar.properties.generalCategory):
            cells[row][max(0, column - 1)].unicodeScalars.append(scalar)
        default:
            let isWide =
                scalar.properties.isEmojiPresentation || (0x2E80...0xD7A3).contains(scalar.value)
                || (0xFF01...0xFF60).contains(scalar.value)
            if column + (isWide ? 2 : 1) > Self.width {
                column = 0
                lineFeed()
            }
            cells[row][column] = String(isDrawing ? Self.frame : Character(scalar))
            if isWide { cells[row][column + 1] = "" }
            column += isWide ? 2 : 1
        }
    }

    private mutating func lineFeed() {
        guard row + 1 == Self.height else {
            row += 1
            return
        }
        cells.removeFirst()
        cells.append([String](repeating: " ", count: Self.width))
    }

    private mutating func obey(_ command: Unicode.Scalar, _ parameters: [Int]) {
        let count = max(1, parameters.first ?? 1)
        switch command {
        case "H", "f":
            row = min(Self.height, max(1, parameters.first ?? 1)) - 1
            column = min(Self.width, max(1, parameters.count > 1 ? parameters[1] : 1)) - 1
        case "A": row = max(0, row - count)
        case "B": row = min(Self.height - 1, row + count)
        case "C": column = min(Self.width - 1, column + count)
        case "D": column = max(0, column - count)
        case "K": erase(row, (parameters.first ?? 0) == 1 ? 0..<column + 1 : column..<Self.width)
        case "J":
            erase(row, parameters.first == 2 ? 0..<Self.width : column..<Self.width)
            for other in cells.indices where other > row || parameters.first == 2 { erase(other, 0..<Self.width) }
        default: break
        }
    }

    private mutating func erase(_ row: Int, _ columns: Range<Int>) {
        for column in columns.clamped(to: 0..<Self.width) { cells[row][column] = " " }
    }
}
