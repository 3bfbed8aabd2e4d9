// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCaBLE
package import HybridCommandSupport
internal import HybridPrimitives
package import HybridProgram
package import HybridSession
internal import HybridThreads

/// The question whether to link a phone, which the user answers with a line.
///
/// Programs see it as the notice `link-offer`. The end of the input counts as no. On a terminal, input from before the
/// question is discarded, because it was typed for something else.
package struct LinkQuestion: Sendable {
    private static let maximumLength = 16

    /// Opens the input with the answer; returns a negative number if there is none.
    private let openInput: @Sendable () -> CInt
    private let timeout: Duration

    /// Creates a question.
    ///
    /// - Parameter readsTerminal: True to read the answer from the terminal, because standard input contains the
    ///   request.
    package init(readsTerminal: Bool) {
        self.init(timeout: .seconds(60)) {
            readsTerminal ? open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY) : dup(STDIN_FILENO)
        }
    }

    init(timeout: Duration, openInput: @escaping @Sendable () -> CInt) {
        self.timeout = timeout
        self.openInput = openInput
    }

    /// Asks the user about a link, and stores it under a name that no other phone has.
    ///
    /// - Throws: ``CommandFailure`` if the answer is not yes, or the link can't be stored.
    package func link(
        _ offered: OfferedLink,
        in store: LinkStore,
        _ report: ProgressReport
    ) async throws(CommandFailure) {
        var offered = offered
        do throws(CommandFailure) {
            offered.link.name = try store.freeName(for: offered.link)
            guard await isConfirmed(offered, report) else {
                throw CommandFailure("the answer was not yes", code: "link-not-confirmed", status: .notPermitted)
            }
            try store.save(offered.link)
        } catch {
            throw CommandFailure("not linked: \(error.sentence)", code: error.code, status: error.status)
        }
        let link = offered.link
        let text = "linked with \(link.name.quoted); it needs no code next time"
        report.enter(ProgressState("linked", text, details: [("phone", link.name.description), ("id", link.id)]))
    }

    /// Asks the user; returns true for `yes` or `y`.
    func isConfirmed(_ offer: OfferedLink, _ report: ProgressReport) async -> Bool {
        let descriptor = openInput()
        guard descriptor >= 0 else { return false }
        // This fails for files and pipes, whose content is the user's answer to this very question.
        tcflush(descriptor, TCIFLUSH)
        let name = offer.link.name
        let isVerified = offer.link.evidence == .verified
        let shown = offer.code.map { " if it shows the link code \($0)" } ?? ""
        let condition = isVerified ? "" : "; only if the website accepted this sign-in"
        var details = [("phone", name.description), ("evidence", isVerified ? "verified" : "website")]
        if let code = offer.code { details.append(("link_code", code.description)) }
        report.notify(
            ProgressState(
                "link-offer",
                "link \(name.quoted)\(shown), so that it needs no code next time\(condition)? (yes or no)",
                details: details
            )
        )
        let answer = await DedicatedThread.run { line(from: descriptor) }
        return ["yes", "y"].contains(answer?.lowercased())
    }

    /// Reads one line and closes the input; returns `nil` at the end of the input, after the time limit, or if the line is too long.
    private func line(from descriptor: CInt) -> String? {
        defer { close(descriptor) }
        let end = ContinuousClock.now + timeout
        var bytes: [UInt8] = []
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while bytes.count <= Self.maximumLength {
            let rest = max(0, Int((end - ContinuousClock.now) / .milliseconds(1)))
            let count = poll(&polled, 1, CInt(clamping: rest))
            if count < 0, errno == EINTR { continue }
            var byte: UInt8 = 0
            // One byte at a time, so that the rest of the input is left to others.
            guard count > 0, read(descriptor, &byte, 1) == 1 else { return nil }
            if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
        return nil
    }
}
