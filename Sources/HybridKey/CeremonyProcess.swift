// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridKeyService
internal import HybridLocalPage
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridThreads

/// The parts that the processes of ceremonies share; see ``CeremonyCommand``.
struct CeremonyProcess {
    let options: CeremonyOptions
    let display: Display
    /// The time limit in seconds for finding a phone, and again for its user.
    let seconds: Int
    let report: ProgressReport

    /// The place where the code is shown.
    enum Display: String, ExpressibleByArgument {
        case json, page, terminal
    }

    /// The wishes of the user in the window; each becomes true once.
    struct UserWishes {
        let showCode = AwaitableState(false)
        let usePhone = AwaitableState(false)

        /// Follows the input after the request on a thread: wishes of the user, or the end.
        static func follow() -> UserWishes {
            let wishes = UserWishes()
            let (showCode, usePhone) = (wishes.showCode, wishes.usePhone)
            _ = DedicatedThread.start {
                while let byte = CeremonyProcess.read(1)?.first {
                    let known = [CeremonyRequest.showCode: showCode, CeremonyRequest.usePhone: usePhone]
                    guard let wish = known[byte] else { break }
                    wish.change { $0 = true }
                }
                // The signal handler cancels the ceremony. Other input counts as the end.
                kill(getpid(), SIGTERM)
            }
            return wishes
        }
    }

    /// The terms on which linked phones are contacted.
    struct ContactTerms {
        let requester: Requester
        /// True if a phone is contacted only after the user has agreed.
        let needsConsent: Bool

        /// Returns these phones; `nil` if there are none.
        func phones(
            _ store: LinkStore,
            _ links: [StoredLink],
            _ codeDisplay: CodeDisplay,
            _ wishes: UserWishes
        ) -> LinkedPhones? {
            let consent = needsConsent ? ContactConsent(isGiven: wishes.usePhone, ask: codeDisplay.offer) : nil
            return LinkedPhones(store, links, for: requester, isCodeRequested: wishes.showCode, consent: consent)
        }

        /// Returns the last used phone; `nil` if there is none, or the links can't be read.
        func lastUsedPhones(
            for command: CTAPCommand,
            _ report: ProgressReport,
            _ codeDisplay: CodeDisplay,
            _ wishes: UserWishes
        ) -> LinkedPhones? {
            let store = try? LinkStore.ofUser { report.notify(ProgressState("link-skipped", $0)) }
            guard let store, let links = try? store.links() else { return nil }
            return phones(store, LinkedPhones.lastUsed(links, for: command), codeDisplay, wishes)
        }
    }

    /// Reads the request.
    static func readRequest<Request: CeremonyInput>(_: Request.Type) throws(CommandFailure) -> Request {
        guard let header = read(CeremonyRequest.headerLength), let length = Request.length(header: header),
            let map = read(length), let request = Request(parsing: map)
        else { throw CommandFailure("standard input has no request; the agent starts this command", status: .usage) }
        return request
    }

    /// Reads exactly `count` bytes; returns `nil` if the input ends before.
    private static func read(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let new = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(STDIN_FILENO, buffer.baseAddress.map { $0 + filled }, count - filled)
            }
            if new < 0, errno == EINTR { continue }
            guard new > 0 else { return nil }
            filled += new
        }
        return bytes
    }

    /// Returns the run of a ceremony.
    ///
    /// - Parameters:
    ///   - subject: The title of a page.
    ///   - purpose: The purpose on one line, for the user.
    ///   - phones: Returns the linked phones to contact.
    func clientRun(
        _ subject: PageSubject,
        purpose: String,
        phones: (CodeDisplay) throws(CommandFailure) -> LinkedPhones?
    ) async throws -> ClientRun {
        let settings = try KeySettings.resolve(options)
        let hasTerminal = isatty(STDERR_FILENO) == 1
        let page = display == .page ? try await CodePage.start(subject, report, isOnlyDisplay: !hasTerminal) : nil
        let codeDisplay = try CodeDisplay(report, page, purpose: purpose)
        codeDisplay.warn(ProgressState("purpose", purpose))
        var timeouts = ClientTimeouts()
        (timeouts.untilPhoneFound, timeouts.untilAnswered) = (.seconds(seconds), .seconds(seconds))
        return ClientRun(
            adapter: options.network.adapter,
            network: try options.networkConfiguration(settings),
            timeouts: timeouts,
            offersBLEChannel: try settings.value(CeremonySettings.bleChannel),
            report: report,
            page: page,
            display: codeDisplay,
            phones: try phones(codeDisplay)
        )
    }
}
