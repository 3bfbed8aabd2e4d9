// SPDX-License-Identifier: Apache-2.0

internal import CaBLE
internal import DataChannel
internal import Glibc
internal import HybridSession
internal import QRCode
internal import ServiceSupport

/// Shows the code and what happens: on standard error, as a picture, or as events for a program.
///
/// The picture holds the secret of one ceremony: it is made for its owner's eyes only and removed at the end.
final class CodeDisplay: Sendable {
    private let report: ProgressReport
    private let printsText: Bool
    private let picture: PictureFile?

    /// Makes the picture's file at once, so that a path that can't be written is known before anything begins.
    init(_ report: ProgressReport, printsText: Bool, file: String?) throws {
        self.report = report
        self.printsText = printsText
        picture = try file.map(PictureFile.init)
    }

    @Sendable func show(_ event: ClientEvent) {
        switch event {
        case .drawn(let offer):
            draw(offer.text)
            report.enter(Self.scanning(picture?.path))
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

    private static func scanning(_ path: String?) -> ProgressState {
        guard let path else { return ProgressState("scan", "scan the code with your phone") }
        return ProgressState("scan", "scan the code in \(path) with your phone", details: [("file", path)])
    }

    private func draw(_ text: String) {
        report.event("qr", [("text", text)])
        if printsText, report.manner != .json { StandardError.writeLine(text) }
        guard picture != nil || !printsText && report.manner != .json else { return }
        guard let matrix = try? QRMatrix(text: text) else {
            report.tell(ProgressState("code-not-drawn", "the code can't be drawn; its text is \(text)"))
            return
        }
        if let picture {
            picture.write(matrix.svg())
        } else {
            let (columns, rows) = Terminal.size
            report.draw(matrix.terminalText(style: Terminal.style, columns: columns, rows: rows))
        }
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

    /// Colours where a terminal listens and nobody forbade them.
    static var style: QRMatrix.TerminalStyle {
        isatty(STDERR_FILENO) == 1 && getenv("NO_COLOR") == nil ? .coloured : .plainOnDark
    }
}
