// SPDX-License-Identifier: Apache-2.0

internal import CaBLE
internal import Glibc
internal import HybridSession
internal import QRCode
internal import ServiceSupport

/// Shows the code and what happens, on standard error or as a picture.
///
/// The picture holds the secret of one ceremony: it is made for its owner's eyes only and removed at the end.
final class CodeDisplay: Sendable {
    private let printsText: Bool
    private let picture: PictureFile?
    private let page: CodePage?

    /// Makes the picture's file at once, so that a path that can't be written is known before anything begins.
    init(printsText: Bool, file: String?, page: CodePage?) throws {
        self.printsText = printsText
        picture = try file.map(PictureFile.init)
        self.page = page
    }

    /// Says what must be said of the whole ceremony.
    func warn(_ text: String) {
        page?.warn(text)
        say(text)
    }

    @Sendable func show(_ event: ClientEvent) {
        page?.show(event) { [self] offer in drawHere(offer.text) }
        switch event {
        case .drawn(let offer): draw(offer.text)
        case .phoneHeard: say("a phone is near")
        case .connecting(let domain): say("connecting through \(domain.host)")
        case .waitingForUser: say("confirm on the phone")
        }
    }

    /// Takes the picture away.
    func cleanUp() { picture?.remove() }

    private func draw(_ text: String) {
        if printsText { StandardError.writeLine(text) }
        if let picture {
            do {
                try picture.write(QRMatrix(text: text))
                say("the code is in \(picture.path); scan it with the phone")
            } catch {
                say("the code can't be drawn; its text is \(text)")
            }
        } else if page == nil, !printsText {
            drawHere(text)
        }
    }

    /// Draws the code on standard error, or says why it can't be scanned there.
    private func drawHere(_ text: String) {
        guard let matrix = try? QRMatrix(text: text) else {
            say("the code can't be drawn; its text is \(text)")
            return
        }
        let (columns, rows) = Terminal.size
        guard matrix.fits(columns: columns, rows: rows) else {
            let needed = matrix.smallestTerminal
            say(
                """
                the code needs a terminal of \(needed.columns) × \(needed.rows) characters and this one has \
                \(columns) × \(rows); enlarge it, choose a smaller font, or use --open or --qr-output
                """
            )
            return
        }
        // Before the code: a line below it would push its top out of sight where it only just fits.
        say("scan this code with the phone")
        StandardError.writeText(matrix.terminalText(style: Terminal.style, columns: columns, rows: rows))
    }

    private func say(_ text: String) { StandardError.writeLine("\(HybridClient.programName): \(text)") }
}

/// What standard error can show.
enum Terminal {
    /// Columns and rows; 80 × 24 where nobody says.
    static var size: (columns: Int, rows: Int) {
        var window = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(window.ws_col), Int(window.ws_row))
    }

    /// Colours where a terminal listens and nobody forbade them; without them, what the terminal says of its own.
    static var style: QRMatrix.TerminalStyle {
        guard isatty(STDERR_FILENO) == 1 else { return isLight ? .plainOnLight : .plainOnDark }
        guard getenv("NO_COLOR") != nil else { return .coloured }
        return isLight ? .reversedOnLight : .reversedOnDark
    }

    /// Whether `COLORFGBG`, which some terminals set to the numbers of their colours, names a light background.
    private static var isLight: Bool {
        guard let value = getenv("COLORFGBG"), let last = String(cString: value).split(separator: ";").last else {
            return false
        }
        return last == "7" || last == "15"
    }
}
