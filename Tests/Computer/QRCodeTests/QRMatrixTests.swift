// SPDX-License-Identifier: Apache-2.0

import HybridQRCode
import Testing

/// Returns a URL with this number of digits.
func link(digits count: Int) -> String {
    "FIDO:/" + (0..<count).map { String(($0 * 7 + $0 / 10) % 10) }.joined()
}

@Suite("QR codes")
struct QRMatrixTests {
    private func failure(_ text: String) -> QRCodeError? {
        do throws(QRCodeError) {
            _ = try QRMatrix(text: text)
            return nil
        } catch {
            return error
        }
    }

    @Test("168 digits fit version 5 at level M, which requires two segments")
    func usualLink() throws {
        let code = try QRMatrix(text: link(digits: 168))
        #expect(code.version == 5 && code.level == .medium && code.size == 37)
    }

    @Test("188 digits are the most that fit version 5 at level M")
    func edgeOfVersionFive() throws {
        #expect(try QRMatrix(text: link(digits: 188)).level == .medium)
        let longer = try QRMatrix(text: link(digits: 189))
        #expect(longer.level == .low && longer.version == 5)
    }

    @Test("more digits never give a smaller code; level L is used above version 5")
    func growth() throws {
        var previous = 0
        for count in 1...540 {
            let code = try QRMatrix(text: link(digits: count))
            #expect(code.version >= previous && code.version <= QRMatrix.maximumVersion)
            #expect(code.size == 17 + 4 * code.version)
            if code.version > 5 { #expect(code.level == .low) }
            previous = code.version
        }
        #expect(previous > 5)
    }

    @Test("the three finder patterns are in their corners")
    func finders() throws {
        let code = try QRMatrix(text: link(digits: 168))
        for (column, row) in [(0, 0), (30, 0), (0, 30)] {
            for offset in 0..<7 {
                #expect(code.isDark(column: column + offset, row: row))
                #expect(code.isDark(column: column, row: row + offset))
            }
            #expect(!code.isDark(column: column + 1, row: row + 1))
            #expect(code.isDark(column: column + 3, row: row + 3))
        }
    }

    @Test("modules outside the code are light")
    func outside() throws {
        let code = try QRMatrix(text: link(digits: 3))
        for (column, row) in [(-1, 0), (0, -1), (code.size, 0), (0, code.size), (Int.max, Int.min)] {
            #expect(!code.isDark(column: column, row: row))
        }
    }

    @Test(
        "texts that do not end in digits are rejected",
        arguments: [
            "", "/", "FIDO:/", "FIDO:", "12345", "FIDO:/123/",
        ]
    )
    func noDigits(text: String) {
        #expect(failure(text) == .noDigits)
    }

    @Test(
        "characters that do not fit their part are rejected",
        arguments: [
            "fido:/123", "FIDO:/12a", "FIDO:/12A", "FIDO:/1 2", "FIDO:/+12", "FIDO:/-1", "FIDO:/１２３", "FIDO:/12\n",
            "FIDO:/12\0", "FÏDO:/12", "FIDO?/12", "FIDO:/1.2",
        ]
    )
    func unsupportedCharacters(text: String) {
        #expect(failure(text) == .unsupportedCharacter)
    }

    @Test("a text that requires more than version 10 is rejected")
    func tooLong() throws {
        let longest = try #require((500...700).last { failure(link(digits: $0)) == nil })
        #expect(try QRMatrix(text: link(digits: longest)).version == QRMatrix.maximumVersion)
        #expect(failure(link(digits: longest + 1)) == .tooLong)
        #expect(failure(link(digits: 1018)) == .tooLong)
        #expect(failure(link(digits: 100_000)) == .tooLong)
        #expect(failure(String(repeating: "A", count: 1 << 20) + "/1") == .tooLong)
    }

    @Test("descriptions do not show the secret")
    func descriptions() throws {
        let code = try QRMatrix(text: link(digits: 168))
        #expect("\(code)" == "QRMatrix(version 5)")
        var dumped = ""
        dump(code, to: &dumped)
        #expect(!dumped.contains("true") && !dumped.contains("false"))
    }
}

@Suite("Reading with zbarimg", .enabled(if: Reader.isInstalled, "zbarimg is not installed (package zbar-tools)"))
struct ReadBackTests {
    @Test("zbarimg reads the text from an image", arguments: [3, 17, 100, 168, 178, 188, 189, 300, 500])
    func pgm(digits: Int) async throws {
        let text = link(digits: digits)
        #expect(try await Reader.read(QRMatrix(text: text).pgm, ending: "pgm") == text)
    }

    @Test("zbarimg reads the text from a PNG", arguments: [3, 17, 100, 168, 178, 188, 189, 300, 500])
    func png(digits: Int) async throws {
        let text = link(digits: digits)
        #expect(try await Reader.read(QRMatrix(text: text).png(), ending: "png") == text)
    }

    @Test("zbarimg reads the text from a terminal drawing")
    func terminal() async throws {
        let styles: [QRMatrix.TerminalStyle] = [
            .colored, .reversedOnDark, .reversedOnLight, .plainOnDark, .plainOnLight,
        ]
        for style in styles {
            let text = link(digits: 168)
            let picture = try picture(of: QRMatrix(text: text).terminalText(style: style), style: style)
            #expect(try await Reader.read(picture, ending: "pgm") == text, "\(style)")
        }
    }

    @Test("zbarimg reads a damaged code, but not a destroyed one")
    func damaged() async throws {
        let text = link(digits: 168)
        let code = try QRMatrix(text: text)
        var picture = code.pgm
        let side = (code.size + 8) * 4
        let start = picture.count - side * side
        func paint(_ modules: Range<Int>) {
            for row in modules.lowerBound * 4..<modules.upperBound * 4 {
                for column in modules.lowerBound * 4..<modules.upperBound * 4 {
                    picture[start + row * side + column] = 128
                }
            }
        }
        paint(20..<24)
        #expect(try await Reader.read(picture, ending: "pgm") == text)
        paint(12..<34)
        await #expect(throws: Reader.Failure.self) { try await Reader.read(picture, ending: "pgm") }
    }

    /// Draws half blocks like a terminal, with eight pixels per module.
    private func picture(of text: String, style: QRMatrix.TerminalStyle) throws -> [UInt8] {
        let isDarkTheme = style == .plainOnDark || style == .reversedOnDark
        let theme: (ink: UInt8, paper: UInt8) = isDarkTheme ? (255, 0) : (0, 255)
        var rows: [[UInt8]] = []
        for line in text.split(separator: "\n") {
            var colors = theme
            var (upper, lower): ([UInt8], [UInt8]) = ([], [])
            // Every part after an escape character begins with a sequence.
            for (number, part) in line.split(separator: "\u{1B}", omittingEmptySubsequences: false).enumerated() {
                var cells = part
                if number > 0 {
                    let end = try #require(part.firstIndex(of: "m"))
                    colors = try #require(changed(theme, by: part[...end]))
                    cells = part[part.index(after: end)...]
                }
                for character in cells {
                    try #require("█▀▄ ".contains(character))
                    upper.append("█▀".contains(character) ? colors.ink : colors.paper)
                    lower.append("█▄".contains(character) ? colors.ink : colors.paper)
                }
            }
            rows += [upper, lower]
        }
        let width = (rows.first?.count ?? 0) * 8
        var picture = Array("P5\n\(width) \(rows.count * 8)\n255\n".utf8)
        for row in rows {
            let line = row.flatMap { [UInt8](repeating: $0, count: 8) }
            for _ in 0..<8 { picture += line }
        }
        return picture
    }

    /// Returns the colors after an escape sequence; `nil` for an unknown one.
    private func changed(
        _ theme: (ink: UInt8, paper: UInt8),
        by sequence: Substring
    ) -> (ink: UInt8, paper: UInt8)? {
        switch sequence {
        case "[38;5;16;48;5;231m": (0, 255)
        case "[38;5;231;48;5;16m": (255, 0)
        case "[7m": (theme.paper, theme.ink)
        case "[27m", "[0m": theme
        default: nil
        }
    }
}
