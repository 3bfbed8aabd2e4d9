// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCaBLE
package import HybridCommandSupport
internal import HybridDBus
package import HybridLocalPage
internal import HybridPrimitives
internal import HybridProgram
internal import HybridQRCode
internal import HybridSession

/// The page of `--open`, which shows the QR code and the progress; closing the page cancels the ceremony.
package final class CodePage: Sendable {
    private let server: PageServer
    private let report: ProgressReport
    /// True if nothing else can show the code.
    private let isOnlyDisplay: Bool
    /// A stream that yields once, when the code is known: a closure to call if no browser opens the page.
    private let fallbacks: AsyncStream<@Sendable () -> Void>
    private let codeReady: AsyncStream<@Sendable () -> Void>.Continuation

    /// Starts the server of the page; the browser is opened later, when the code is known.
    ///
    /// - Parameters:
    ///   - subject: The purpose of the ceremony.
    ///   - report: The report that also shows what the page cannot.
    ///   - isOnlyDisplay: True if the report can't show the code, so that the ceremony fails if no browser opens.
    /// - Throws: ``CommandFailure`` if no page can be served, or the session is locked.
    package static func start(
        _ subject: PageSubject,
        _ report: ProgressReport,
        isOnlyDisplay: Bool = false
    ) async throws -> CodePage {
        guard !SessionLock.isLocked() else { throw CommandFailure.sessionLocked }
        do {
            return CodePage(try await PageServer.start(subject), report, isOnlyDisplay: isOnlyDisplay)
        } catch let error as PageError {
            throw CommandFailure(error)
        }
    }

    private init(_ server: PageServer, _ report: ProgressReport, isOnlyDisplay: Bool) {
        self.server = server
        self.report = report
        self.isOnlyDisplay = isOnlyDisplay
        (fallbacks, codeReady) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// Shows a warning on the page.
    func warn(_ text: String) { server.warn(text) }

    /// Shows an event.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - fallback: Shows the code if no browser can be opened.
    func show(_ event: ClientEvent, fallback: @escaping @Sendable (_ code: String) -> Void) {
        switch event {
        case .codeReady(let offer): show(offer.text, fallback)
        case .transferCodeReady(let code): show(code.text, fallback)
        case .phoneFound: server.show(.found)
        case .connecting(let domain): server.show(.connecting(host: domain.host))
        case .waitingForUser: server.show(.confirm)
        case .radioLost, .radioRestored, .redirected, .answered: break
        case .connectingByRadio, .connectedByRadio, .radioChannelFailed: break
        case .linkOffered(let code): server.warn("Link the phone only if it shows the link code \(code).")
        case .contacting, .phoneNotified, .waitingForLink: break
        }
    }

    private func show(_ text: String, _ fallback: @escaping @Sendable (_ code: String) -> Void) {
        // If the code can't be drawn, the fallback reports it.
        if let code = try? QRMatrix(text: text) { server.show(.scan(code)) }
        codeReady.yield { fallback(text) }
        // The code may be shown again, but the browser is opened once.
        codeReady.finish()
    }

    /// Shows digits that the user compares.
    func compare(_ digits: String) {
        server.show(.confirm)
        server.warn("Both screens must show \(digits).")
    }

    /// Runs `body`, which is canceled if the page is closed or opened twice.
    func whileOpen<Success: Sendable>(_ body: @escaping @Sendable () async throws -> Success) async throws -> Success {
        try await Self.run(body) { [server] in
            for await reason in server.abandonments { throw CommandFailure(reason) }
        }
    }

    /// Runs `body` and opens the browser when the code is known; `body` is canceled if nothing can show the code.
    func openingBrowser<Success: Sendable>(
        _ body: @escaping @Sendable () async throws -> Success
    ) async throws -> Success {
        try await Self.run(body) { try await self.openBrowser() }
    }

    /// Runs `body`, which is canceled if `other` throws an error.
    private static func run<Success: Sendable>(
        _ body: @escaping @Sendable () async throws -> Success,
        unless other: @escaping @Sendable () async throws -> Void
    ) async throws -> Success {
        try await withThrowingTaskGroup(of: Success?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await other()
                return nil
            }
            defer { group.cancelAll() }
            for try await case let success? in group { return success }
            throw CancellationError()
        }
    }

    private func openBrowser() async throws {
        for await fallback in fallbacks {
            let browser = BrowserProgram(variable: getenv("BROWSER").map { String(cString: $0) })
            let address = server.address.text
            do {
                try await browser.open(address) { [server] in server.wasOpened }
            } catch let error as BrowserError {
                guard !isOnlyDisplay else { throw CommandFailure(onlyDisplay: error) }
                let remedy = "set BROWSER, open \(address) yourself, or scan the code here"
                report.notify(ProgressState("no-browser", "\(error.sentence); \(remedy)"))
                fallback()
            }
        }
    }

    /// Shows the result on the page and stops serving it.
    func end(_ ending: SignalResult<some Sendable>) async {
        if ending.signal != nil {
            return await server.end(.failed(cause: "You cancelled on this computer", remedy: "Start again."))
        }
        switch ending.result {
        case .success: await server.end(.done)
        case .failure(let error):
            let failure = error as? CommandFailure ?? CommandFailure("internal fault: \(error)", status: .software)
            await server.end(.failed(cause: failure.message, remedy: failure.remedy ?? ""))
        }
    }
}

extension CommandFailure {
    /// Creates a failure for a ceremony whose page was closed or opened twice.
    init(_ abandonment: PageAbandonment) {
        switch abandonment {
        case .closed:
            self.init(
                "the page with the code was closed, which cancels; start again",
                code: "page-closed",
                status: .interrupted
            )
        case .openedTwice:
            self.init(
                "another user opened the page with the code, or its link was opened twice; start again",
                code: "page-opened-twice",
                status: .notPermitted
            )
        }
    }
}

extension CommandFailure {
    /// Creates a failure for a ceremony whose code nothing can show.
    fileprivate init(onlyDisplay error: BrowserError) {
        self.init(
            "\(error.sentence), so the code can't be shown; install hybrid-prompt, set HYBRID_PROMPT or BROWSER, or run "
                + "this in a terminal (for ssh: hybrid-key agent --tty)",
            code: "no-display",
            status: .unavailable
        )
    }
}
