// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridBLEAdvert
internal import HybridCaBLE
package import HybridCommandSupport
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridQRCode
package import HybridSession
internal import HybridThreads

/// The displays of the QR code and the progress: standard error (text or JSON), an image file, and the page.
///
/// The image contains the secret of the ceremony, so only its owner can read it, and it is removed at the end.
package final class CodeDisplay: Sendable {
    private let report: ProgressReport
    private let printsText: Bool
    private let image: ImageFile?
    private let page: CodePage?
    private let purpose: String?
    /// True once the code has been drawn; a repeated event is for programs only.
    private let isDrawn = Locked(false)

    /// Creates a display.
    ///
    /// Creates the image file, too, so that an unusable path is reported before the ceremony begins.
    ///
    /// - Parameters:
    ///   - report: The report on standard error.
    ///   - page: The page in the browser, if there is one.
    ///   - imagePath: The path of an image to write instead of drawing the code.
    ///   - printsText: True if the text of the code is printed instead of drawing the code.
    ///   - purpose: The purpose of the ceremony, for the states in which the user decides. A line above the code would not
    ///     stay visible in a terminal of 24 rows.
    package init(
        _ report: ProgressReport,
        _ page: CodePage?,
        imagePath: String? = nil,
        printsText: Bool = false,
        purpose: String? = nil
    ) throws {
        self.report = report
        self.page = page
        self.purpose = purpose
        self.printsText = printsText
        image = try imagePath.map(ImageFile.init)
    }

    /// Shows a warning, which the page displays until the end of the ceremony.
    package func warn(_ warning: ProgressState) {
        page?.warn(warning.text)
        report.notify(warning)
    }

    /// Shows an event.
    @Sendable package func show(_ event: ClientEvent) {
        page?.show(event) { [self] code in drawOnTerminal(code) }
        switch event {
        case .codeReady(let offer):
            draw(offer.text)
            report.enter(scanning)
        case .transferCodeReady(let code):
            draw(code.text)
            report.enter(scanning)
        case .radioLost(let error):
            let remedy = error.remedy ?? "it might come back by itself"
            notify("radio-lost", "\(error.message); waiting for it (\(remedy))", [("code", error.code)])
        case .radioRestored: notify("radio-back", "Bluetooth is back; the code is still valid")
        case .phoneFound: enter("phone-found", "phone found")
        case .connectingByRadio: enter("connecting-by-bluetooth", "connecting by Bluetooth")
        case .connectedByRadio: enter("connected-by-bluetooth", "connected by Bluetooth")
        case .radioChannelFailed(let failure):
            let text = "there is no Bluetooth channel (\(failure.reason)); falling back to the relay"
            notify("bluetooth-channel-failed", text)
        case .connecting(let domain):
            enter("connecting", "connecting through \(domain.host)", [("relay", domain.host)])
        case .redirected(let step):
            notify("redirected", "\(step.from) redirects to \(step.to)", [("from", step.from), ("to", step.to)])
        case .waitingForUser: enter("confirm", purpose.map { "confirm: \($0)" } ?? "confirm on your phone")
        case .answered: break
        // The question names the code.
        case .linkOffered: break
        case .waitingForLink: enter("waiting-for-link", "waiting for the phone to offer a link")
        case .contacting(let name, let linked):
            let time = UTCTime.text(linked)
            let text = "contacting \(name.quoted), linked on \(time.prefix(10))"
            enter("contacting", text, [("phone", name.description), ("linked", time)])
        case .phoneNotified(let name):
            enter("phone-notified", "accept the request on \(name.quoted)", [("phone", name.description)])
        }
    }

    /// Shows an event with another text.
    package func show(_ event: ClientEvent, as state: ProgressState) {
        page?.show(event) { _ in }
        report.enter(state)
    }

    /// Shows digits that the user compares on the page; the report shows them anyway.
    package func compare(_ digits: String) { page?.compare(digits) }

    /// Shows the failure of a contact.
    @Sendable func show(_ failure: LinkFailure) {
        let details = [("phone", failure.name.description), ("code", failure.code), ("message", failure.sentence)]
        enter("link-failed", failure.sentence, details)
    }

    /// Offers to contact a linked phone; only a window can show that.
    @Sendable package func offer(_ phone: PhoneName) {
        report.emit("linked-phone", [("phone", .string(phone.description))])
    }

    /// Removes the image file, if there is one.
    package func cleanUp() { image?.remove() }

    private func enter(_ name: String, _ text: String, _ details: [(name: String, value: String)] = []) {
        report.enter(ProgressState(name, text, details: details))
    }

    private func notify(_ name: String, _ text: String, _ details: [(name: String, value: String)] = []) {
        report.notify(ProgressState(name, text, details: details))
    }

    private var scanning: ProgressState {
        if let image {
            ProgressState(
                "scan",
                "scan the code in \(image.path) \(purpose.map { "to \($0)" } ?? "with your phone")",
                details: [("file", image.path)]
            )
        } else if let purpose {
            ProgressState("scan", "scan to \(purpose)")
        } else {
            ProgressState("scan", "scan the code\(page == nil ? "" : " in the browser") with your phone")
        }
    }

    private func draw(_ text: String) {
        report.emit("qr", [("text", .string(text))])
        let isRepeated = isDrawn.withLock { isDrawn in
            defer { isDrawn = true }
            return isDrawn
        }
        guard !isRepeated else { return }
        let isForUser = report.format != .json
        if printsText, isForUser { StandardError.writeLine(text) }
        if let image {
            do {
                try image.write(QRMatrix(text: text))
            } catch {
                notifyNotDrawn(text)
            }
        } else if page == nil, !printsText, isForUser {
            drawOnTerminal(text)
        }
    }

    /// Draws the code on standard error, or reports that the terminal is too small.
    private func drawOnTerminal(_ text: String) {
        guard let matrix = try? QRMatrix(text: text) else { return notifyNotDrawn(text) }
        let (columns, rows) = Terminal.size
        guard matrix.fits(columns: columns, rows: rows) else {
            let needed = matrix.smallestTerminal
            return notify(
                "terminal-too-small",
                """
                the code needs a terminal of \(needed.columns) × \(needed.rows) characters and this one has \
                \(columns) × \(rows); enlarge it, choose a smaller font, or use --open or --qr-output
                """
            )
        }
        // In a terminal of 24 rows, the code leaves one row for the state.
        report.draw(matrix.terminalText(style: Terminal.style, columns: columns, rows: rows))
    }

    private func notifyNotDrawn(_ text: String) {
        notify("code-not-drawn", "the code can't be drawn; its text is \(text)")
    }
}

/// The size and style of the terminal on standard error.
enum Terminal {
    /// Columns and rows; 80 × 24 if unknown.
    static var size: (columns: Int, rows: Int) {
        var window = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(window.ws_col), Int(window.ws_row))
    }

    /// A style with colors on a terminal unless `NO_COLOR` is set; otherwise a style for the presumed background.
    static var style: QRMatrix.TerminalStyle {
        guard isatty(STDERR_FILENO) == 1 else { return isLight ? .plainOnLight : .plainOnDark }
        guard getenv("NO_COLOR") != nil else { return .colored }
        return isLight ? .reversedOnLight : .reversedOnDark
    }

    /// True if the environment variable `COLORFGBG`, which some terminals set, names a light background color.
    private static var isLight: Bool {
        guard let value = getenv("COLORFGBG"), let last = String(cString: value).split(separator: ";").last else {
            return false
        }
        return last == "7" || last == "15"
    }
}
