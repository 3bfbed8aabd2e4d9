// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridLocalPage
internal import HybridPrimitives
internal import HybridQRCode
internal import HybridSession
internal import HybridWebAuthn

/// The page of `--open`: what happens goes there, and closing it cancels.
final class CodePage: Sendable {
    private let server: PageServer
    private let report: ProgressReport
    /// What is done where no browser shows the page.
    private let noBrowser: AsyncStream<@Sendable () -> Void>
    private let drawn: AsyncStream<@Sendable () -> Void>.Continuation

    /// Listens; the browser is opened when there is a code.
    static func start(for ceremony: Ceremony, _ report: ProgressReport) async throws -> CodePage {
        let subject = PageSubject(
            site: ceremony.relyingPartyID.description,
            operation: ceremony.ctapRequest.command == .makeCredential ? .create : .signIn
        )
        do {
            return CodePage(try await PageServer.start(subject), report)
        } catch let error as PageError {
            throw CommandFailure(error.sentence, status: .unavailable)
        }
    }

    private init(_ server: PageServer, _ report: ProgressReport) {
        self.server = server
        self.report = report
        (noBrowser, drawn) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// Puts a warning on the page.
    func warn(_ text: String) { server.warn(text) }

    /// Shows an event.
    ///
    /// - Parameter elsewhere: shows the code when no browser can be opened.
    func show(_ event: ClientEvent, elsewhere: @escaping @Sendable (QROffer) -> Void) {
        switch event {
        case .drawn(let offer):
            // A code that can't be drawn is told of where it would be drawn in the end.
            if let code = try? QRMatrix(text: offer.text) { server.show(.scan(code)) }
            drawn.yield { elsewhere(offer) }
        case .phoneHeard: server.show(.found)
        case .connecting(let domain): server.show(.connecting(host: domain.host))
        case .waitingForUser: server.show(.confirm)
        case .radioLost, .radioBack, .redirected, .answered: break
        case .connectingByRadio, .connectedByRadio, .radioChannelFailed: break
        }
    }

    /// Runs a ceremony that ends when its page is closed, or opened by somebody else; without a page, as it is.
    static func watched<Success: Sendable>(
        _ page: CodePage?,
        _ body: @escaping @Sendable () async throws -> Success
    ) async throws -> Success {
        guard let page else { return try await body() }
        return try await withThrowingTaskGroup(of: Success?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                for await reason in page.server.abandonments { throw CommandFailure(reason) }
                return nil
            }
            group.addTask {
                try await page.openBrowser()
                return nil
            }
            defer { group.cancelAll() }
            while let ending = try await group.next() {
                if let success = ending { return success }
            }
            throw CancellationError()
        }
    }

    private func openBrowser() async throws {
        for await elsewhere in noBrowser {
            let browser = BrowserProgram(variable: getenv("BROWSER").map { String(cString: $0) })
            do {
                try await browser.open(server.address.text) { [server] in server.wasOpened }
            } catch let error as BrowserError {
                report.tell(
                    ProgressState(
                        "no-browser",
                        """
                        \(error.sentence); name one by BROWSER, open \(server.address.text) yourself, or scan the code here
                        """
                    )
                )
                elsewhere()
            }
        }
    }

    /// Tells the page how it ended, and closes it to further visits.
    func end(_ ending: SignalledResult<some Sendable>) async {
        if ending.signal != nil {
            return await server.end(.failed(cause: "It was cancelled on this device", remedy: "Start again."))
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
    /// What a page that was left, or opened twice, means for the ceremony.
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
                "somebody else opened the page with the code, or its link was opened twice; start again",
                code: "page-opened-twice",
                status: .notPermitted
            )
        }
    }
}
