// SPDX-License-Identifier: Apache-2.0

internal import CaBLE
internal import Glibc
internal import HybridSession
internal import QRCode
internal import ServiceSupport
internal import Synchronization

/// Shows the code and what happens, on standard error or as a picture.
///
/// The picture holds the secret of one ceremony: it is made for its owner's eyes only and removed at the end.
final class CodeDisplay: Sendable {
    private let printsText: Bool
    private let file: String?
    private let failure = Mutex<CommandFailure?>(nil)
    private let wroteFile = Mutex(false)

    init(printsText: Bool, file: String?) {
        self.printsText = printsText
        self.file = file
    }

    /// Why the code could not be shown, if it could not.
    var trouble: CommandFailure? { failure.withLock { $0 } }

    @Sendable func show(_ event: ClientEvent) {
        switch event {
        case .drawn(let offer): draw(offer.text)
        case .phoneHeard: say("a phone is near")
        case .connecting(let domain): say("connecting through \(domain.host)")
        case .waitingForUser: say("confirm on the phone")
        }
    }

    /// Takes the picture away.
    func cleanUp() {
        if let file, wroteFile.withLock({ $0 }) { unlink(file) }
    }

    private func draw(_ text: String) {
        if printsText { StandardError.writeLine(text) }
        guard !printsText || file != nil else { return }
        do {
            let matrix = try QRMatrix(text: text)
            if let file {
                try write(matrix.svg(), to: file)
                say("the code is in \(file); scan it with the phone")
            } else {
                let (columns, rows) = Terminal.size
                StandardError.writeText(matrix.terminalText(style: Terminal.style, columns: columns, rows: rows))
                say("scan this code with the phone")
            }
        } catch let error as CommandFailure {
            failure.withLock { $0 = error }
            say("\(error.sentence)")
        } catch {
            failure.withLock { $0 = CommandFailure("the code can't be drawn: \(error)", status: .software) }
        }
    }

    private func write(_ text: String, to path: String) throws {
        // Not through a link, and not into what is there already: the picture is removed at the end.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure("\(path) can't be written: \(String(cString: strerror(errno)))", status: .ioError)
        }
        defer { close(descriptor) }
        wroteFile.withLock { $0 = true }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw CommandFailure("\(path) can't be written: \(String(cString: strerror(errno)))", status: .ioError)
            }
            rest = rest.dropFirst(count)
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
