// SPDX-License-Identifier: Apache-2.0

internal import CaBLE
internal import DataChannel
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

    /// Makes the picture's file at once, so that a path that can't be written is known before anything begins.
    init(printsText: Bool, file: String?) throws {
        self.printsText = printsText
        picture = try file.map(PictureFile.init)
    }

    @Sendable func show(_ event: ClientEvent) {
        switch event {
        case .drawn(let offer): draw(offer.text)
        case .phoneHeard: say("a phone is near")
        case .connecting(let domain): say("connecting through \(domain.host)")
        case .redirected(let step): say("\(step.from) sends to \(step.to)")
        case .waitingForUser: say("confirm on the phone")
        }
    }

    /// Takes the picture away.
    func cleanUp() { picture?.remove() }

    private func draw(_ text: String) {
        if printsText { StandardError.writeLine(text) }
        guard !printsText || picture != nil else { return }
        guard let matrix = try? QRMatrix(text: text) else {
            say("the code can't be drawn; its text is \(text)")
            return
        }
        if let picture {
            picture.write(matrix.svg())
            say("the code is in \(picture.path); scan it with the phone")
        } else {
            let (columns, rows) = Terminal.size
            StandardError.writeText(matrix.terminalText(style: Terminal.style, columns: columns, rows: rows))
            say("scan this code with the phone")
        }
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

    /// Colours where a terminal listens and nobody forbade them.
    static var style: QRMatrix.TerminalStyle {
        isatty(STDERR_FILENO) == 1 && getenv("NO_COLOR") == nil ? .coloured : .plainOnDark
    }
}
