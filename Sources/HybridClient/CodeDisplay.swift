// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCaBLE
internal import HybridCeremonySupport
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridQRCode
internal import HybridSession

/// Shows the code and what happens: on standard error, as a picture, or as events for a program.
///
/// The picture holds the secret of one ceremony: it is made for its owner's eyes only and removed at the end.
final class CodeDisplay: Sendable {
    private let report: ProgressReport
    private let printsText: Bool
    private let picture: PictureFile?
    private let page: CodePage?

    /// Makes the picture's file at once, so that a path that can't be written is known before anything begins.
    init(_ report: ProgressReport, printsText: Bool, file: String?, page: CodePage?) throws {
        self.report = report
        self.printsText = printsText
        picture = try file.map(PictureFile.init)
        self.page = page
    }

    /// Says what must be said of the whole ceremony.
    func warn(_ warning: ProgressState) {
        page?.warn(warning.text)
        report.tell(warning)
    }

    @Sendable func show(_ event: ClientEvent) {
        page?.show(event) { [self] offer in drawHere(offer.text) }
        switch event {
        case .drawn(let offer):
            draw(offer.text)
            report.enter(scanning)
        case .radioLost(let error):
            let failure = CommandFailure(error)
            report.tell(
                ProgressState(
                    "radio-lost",
                    "\(failure.message); waiting for it (\(failure.remedy ?? "it may come back by itself"))",
                    details: [("code", failure.code)]
                )
            )
        case .radioBack: report.tell(ProgressState("radio-back", "Bluetooth is back; the code is still good"))
        case .phoneHeard: report.enter(ProgressState("phone-found", "phone found"))
        case .connectingByRadio: report.enter(ProgressState("connecting-by-bluetooth", "connecting by Bluetooth"))
        case .connectedByRadio: report.enter(ProgressState("connected-by-bluetooth", "connected by Bluetooth"))
        case .radioChannelFailed(let failure):
            report.tell(
                ProgressState(
                    "bluetooth-channel-failed",
                    "there is no Bluetooth channel (\(failure.words)); going through the relay"
                )
            )
        case .connecting(let domain):
            report.enter(
                ProgressState("connecting", "connecting through \(domain.host)", details: [("relay", domain.host)])
            )
        case .redirected(let step):
            report.tell(
                ProgressState(
                    "redirected",
                    "\(step.from) sends to \(step.to)",
                    details: [("from", step.from), ("to", step.to)]
                )
            )
        case .waitingForUser: report.enter(ProgressState("confirm", "confirm on your phone"))
        case .answered: break
        }
    }

    /// Takes the picture away.
    func cleanUp() { picture?.remove() }

    private var scanning: ProgressState {
        if let picture {
            ProgressState("scan", "scan the code in \(picture.path) with your phone", details: [("file", picture.path)])
        } else {
            ProgressState("scan", "scan the code\(page == nil ? "" : " in the browser") with your phone")
        }
    }

    private func draw(_ text: String) {
        report.event("qr", [("text", text)])
        let isForPerson = report.manner != .json
        if printsText, isForPerson { StandardError.writeLine(text) }
        if let picture {
            do {
                try picture.write(QRMatrix(text: text))
            } catch {
                report.tell(ProgressState("code-not-drawn", "the code can't be drawn; its text is \(text)"))
            }
        } else if page == nil, !printsText, isForPerson {
            drawHere(text)
        }
    }

    /// Draws the code on standard error, or says why it can't be scanned there.
    private func drawHere(_ text: String) {
        guard let matrix = try? QRMatrix(text: text) else {
            report.tell(ProgressState("code-not-drawn", "the code can't be drawn; its text is \(text)"))
            return
        }
        let (columns, rows) = Terminal.size
        guard matrix.fits(columns: columns, rows: rows) else {
            let needed = matrix.smallestTerminal
            report.tell(
                ProgressState(
                    "terminal-too-small",
                    """
                    the code needs a terminal of \(needed.columns) × \(needed.rows) characters and this one has \
                    \(columns) × \(rows); enlarge it, choose a smaller font, or use --open or --qr-output
                    """
                )
            )
            return
        }
        // The state follows on one line, for which a terminal of 24 lines has just room.
        report.draw(matrix.terminalText(style: Terminal.style, columns: columns, rows: rows))
    }
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
