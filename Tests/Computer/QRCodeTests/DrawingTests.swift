// SPDX-License-Identifier: Apache-2.0

import HybridQRCode
import Testing

@Suite("Drawings of QR codes")
struct DrawingTests {
    @Test("the usual code fits a terminal of 80 × 24 with its full border")
    func fits() throws {
        let code = try QRMatrix(text: link(digits: 168))
        let lines = code.terminalText(style: .plainOnLight).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 24 && lines.last == "")
        for line in lines.dropLast() { #expect(line.count == 45) }
        #expect(lines[0].allSatisfy { $0 == " " } && lines[1].allSatisfy { $0 == " " })
        #expect(code.quietZone(columns: 80, rows: 24) == 4)
    }

    @Test("with little space the border is 2")
    func narrow() throws {
        let code = try QRMatrix(text: link(digits: 168))
        #expect(code.quietZone(columns: 44, rows: 24) == 2)
        // The drawing has 23 lines, and the cursor is below it.
        #expect(code.quietZone(columns: 80, rows: 23) == 2)
        let lines = code.terminalText(style: .plainOnLight, columns: 44).split(separator: "\n")
        #expect(lines.count == 21)
        for line in lines { #expect(line.count == 41) }
    }

    @Test("the reported smallest terminal matches the drawing")
    func smallest() throws {
        for digits in [17, 168, 189, 300, 500] {
            let code = try QRMatrix(text: link(digits: digits))
            let (columns, rows) = code.smallestTerminal
            #expect(code.fits(columns: columns, rows: rows))
            #expect(!code.fits(columns: columns - 1, rows: rows) && !code.fits(columns: columns, rows: rows - 1))
            #expect(code.fits(columns: 300, rows: 100) && !code.fits(columns: 0, rows: 0))
            let lines = code.terminalText(style: .plainOnLight, columns: columns, rows: rows).split(separator: "\n")
            #expect(lines.count == rows - 1)
            for line in lines { #expect(line.count == columns) }
        }
        #expect(try QRMatrix(text: link(digits: 168)).smallestTerminal == (41, 22))
    }

    @Test("every colored line sets its own colors and resets them")
    func colored() throws {
        let text = try QRMatrix(text: link(digits: 168)).terminalText()
        for line in text.split(separator: "\n") {
            #expect(line.hasPrefix("\u{1B}[38;5;16;48;5;231m") && line.hasSuffix("\u{1B}[0m"))
        }
        #expect(text.hasSuffix("\n"))
    }

    @Test("with escape sequences, upper modules are drawn as backgrounds")
    func backgrounds() throws {
        let code = try QRMatrix(text: link(digits: 168))
        for style in [QRMatrix.TerminalStyle.colored, .reversedOnDark, .reversedOnLight] {
            #expect(code.terminalText(style: style).allSatisfy { !"█▀".contains($0) })
        }
        #expect(code.terminalText(style: .plainOnLight).contains("█"))
    }

    @Test("plain drawings have no escape sequences and are inverted on dark")
    func plain() throws {
        let code = try QRMatrix(text: link(digits: 168))
        let light = code.terminalText(style: .plainOnLight)
        let dark = code.terminalText(style: .plainOnDark)
        #expect(!light.contains("\u{1B}") && !dark.contains("\u{1B}"))
        let negative: [Character: Character] = ["█": " ", " ": "█", "▀": "▄", "▄": "▀", "\n": "\n"]
        #expect(String(light.compactMap { negative[$0] }) == dark)
    }

    @Test("the SVG has one path, sharp edges, and a square view box with the border")
    func svg() throws {
        let code = try QRMatrix(text: link(digits: 168))
        let svg = code.svg()
        #expect(svg.hasPrefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "))
        #expect(svg.contains("viewBox=\"0 0 45 45\"") && svg.contains("shape-rendering=\"crispEdges\""))
        #expect(svg.split(separator: "<path").count == 2)
        #expect(svg.hasSuffix("</svg>\n"))
        // A declaration, the root element, one rectangle and one path.
        #expect(svg.count { $0 == "<" } == 5 && svg.count { $0 == ">" } == 5)
        #expect(svg.split(separator: "/>").count == 3)
    }

    @Test("the path of the SVG fills exactly the dark modules")
    func svgModules() throws {
        let code = try QRMatrix(text: link(digits: 168))
        let path = try #require(code.svg().split(separator: "d=\"").last?.split(separator: "\"").first)
        var painted: Set<[Int]> = []
        for run in path.split(separator: "z") {
            let numbers = run.split { !"0123456789".contains($0) }.compactMap { Int($0) }
            try #require(numbers.count == 5 && numbers[2] == numbers[4] && numbers[3] == 1)
            for column in numbers[0]..<(numbers[0] + numbers[2]) {
                #expect(painted.insert([column - 4, numbers[1] - 4]).inserted)
            }
        }
        for row in 0..<code.size {
            for column in 0..<code.size {
                #expect(painted.contains([column, row]) == code.isDark(column: column, row: row))
            }
        }
    }
}
