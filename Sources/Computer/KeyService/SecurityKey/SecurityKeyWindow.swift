// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSSHAgent
internal import HybridSecurityKey
internal import HybridThreads

/// A window of the security key, on a thread of its own from its opening until its request has been answered.
final class SecurityKeyWindow: Sendable {
    /// The purpose of a window.
    enum Content: Sendable {
        /// The user selects this key.
        case selection
        /// The phone performs a request; if `afterConfirmation` is true, the user is asked first whether to use the phone.
        /// If `isForGuest` is true, a website may have sent the request.
        case phone(PhoneRequest, afterConfirmation: Bool, isForGuest: Bool)
    }

    /// An event of a window.
    enum Event: Sendable {
        /// The user has acted.
        case user(WindowEnd)
        /// The ceremony has ended.
        case phone(PhoneCeremonyOutcome)
    }

    /// The programs and files that windows need.
    struct Dependencies: Sendable {
        let launcher: CeremonyLauncher
        let journal: Journal
        /// The time limit in seconds for finding a phone, and again for its user.
        let seconds: Int
        /// Receives a sentence if something can't be shown or recorded.
        let report: @Sendable (String) -> Void
    }

    /// The name of the window.
    let id: WindowID
    private let content: Content
    private let dependencies: Dependencies
    private let notify: @Sendable (WindowID, Event) -> Void
    private let cancellation: SigningCancellation
    /// The status that the client has received.
    private let ending = Locked<CTAPStatus?>(nil)

    /// Opens a window; returns `nil` if the process has no descriptors or threads left.
    ///
    /// - Parameters:
    ///   - id: The name of the window.
    ///   - content: The purpose.
    ///   - dependencies: The programs and files.
    ///   - notify: Receives the events of the window, on its thread.
    init?(
        _ id: WindowID,
        _ content: Content,
        _ dependencies: Dependencies,
        notify: @escaping @Sendable (WindowID, Event) -> Void
    ) {
        guard let cancellation = SigningCancellation() else { return nil }
        self.id = id
        self.content = content
        self.dependencies = dependencies
        self.notify = notify
        self.cancellation = cancellation
        guard DedicatedThread.start({ [self] in run() }) else { return nil }
    }

    /// Closes the window.
    ///
    /// - Parameter status: The status that the client receives.
    func close(_ status: CTAPStatus) {
        ending.withLock { $0 = $0 ?? status }
        cancellation.cancel()
    }

    private func run() {
        switch content {
        case .selection: select()
        case .phone(let request, let asksFirst, let isForGuest):
            let description = SecurityKeyRequestDescription(request)
            let failure = ask(request, description, asksFirst, isForGuest)
            // The key closes each window, which tells the result for the client.
            _ = waitForClosing()
            record(request, description, failure)
        }
    }

    private func post(_ event: Event) { notify(id, event) }

    /// Waits until the key closes the window; returns false at the time limit.
    private func waitForClosing(within limit: Duration? = nil) -> Bool {
        var polled = pollfd(fd: cancellation.descriptor, events: Int16(POLLIN), revents: 0)
        let milliseconds = limit.map { CInt(clamping: Int($0 / .milliseconds(1))) } ?? -1
        while true {
            let count = poll(&polled, 1, milliseconds)
            if count < 0, errno == EINTR { continue }
            return count > 0
        }
    }

    private var limit: Duration { .seconds(dependencies.seconds) }

    private func open(_ event: String) throws(WindowRefusal) -> RequestWindowDisplay {
        do throws(WindowRefusal) {
            return try dependencies.launcher.open(event: event, unless: cancellation)
        } catch {
            switch error {
            case .sessionLocked:
                dependencies.report("refused a request to the security key: \(AgentRefusal.sessionLocked.explanation)")
                post(.user(.timeout))
            case .notStarted:
                dependencies.report(CommandFailure.promptNotStarted.sentence)
                post(.phone(.failed))
                post(.user(.closing))
            case .withdrawn, .timedOut: break
            }
            throw error
        }
    }

    // MARK: - Selection

    private func select() {
        guard let window = try? open(SecurityKeyRequestDescription.selection(timeout: limit)) else { return }
        let decision = decision(in: window)
        window.prompt?.end()
        if decision == .agreed { post(.user(.confirmation)) } else { postRefusal(decision) }
    }

    /// Posts the end of a window in which the user did not agree.
    private func postRefusal(_ decision: PromptProcess.Decision) {
        switch decision {
        case .cancelled, .gone: post(.user(.closing))
        // Otherwise the key would be busy without a window.
        case .timedOut: post(.user(.timeout))
        case .agreed, .withdrawn: break
        }
    }

    /// Returns the user's decision to use the phone.
    ///
    /// A key that is not touched does not answer before its time limit. The same applies if the user can't be asked: an
    /// answer would end the request for the other key, too.
    private func decision(in window: RequestWindowDisplay) -> PromptProcess.Decision {
        if let prompt = window.prompt { return prompt.decision(unless: cancellation, within: limit) }
        dependencies.report("can't ask whether to use the phone; install hybrid-prompt")
        dependencies.launcher.leave(window)
        return waitForClosing(within: limit) ? .withdrawn : .timedOut
    }

    // MARK: - The phone

    /// Performs the request.
    ///
    /// - Returns: The reason of a failure, for the journal.
    private func ask(
        _ request: PhoneRequest,
        _ description: SecurityKeyRequestDescription,
        _ asksFirst: Bool,
        _ isForGuest: Bool
    ) -> String? {
        guard let command = CeremonyRequest.Command(request) else {
            post(.user(.closing))
            return "failed: no request for phones"
        }
        let window: RequestWindowDisplay
        do throws(WindowRefusal) {
            window = try open(description.event(timeout: limit, asksFirst: asksFirst))
        } catch {
            switch error {
            case .sessionLocked: return "failed: the session is locked"
            case .notStarted: return CommandFailure.promptNotStarted.journalResult
            case .withdrawn, .timedOut: return nil
            }
        }
        if asksFirst {
            let decision = decision(in: window)
            guard decision == .agreed else {
                window.prompt?.end()
                postRefusal(decision)
                return nil
            }
        }
        let result = dependencies.launcher.perform(
            CeremonyRequest(
                command,
                purpose: description.text,
                seconds: dependencies.seconds,
                isForGuest: isForGuest,
                hasAgreed: asksFirst
            ),
            in: window,
            cancellation: cancellation
        )
        switch result {
        case .answered(let answer):
            let response = try? CTAPResponse(parsing: answer.response)
            post(.phone(response.map(PhoneCeremonyOutcome.responded) ?? .failed))
            dependencies.launcher.leave(window)
            return nil
        case .refused(let status, let failure):
            report(failure, of: request)
            post(.phone(.responded(.failure(status))))
            showResult(in: window)
            return failure.journalResult
        case .failed(let failure):
            report(failure, of: request)
            post(.phone(.failed))
            showResult(in: window)
            return failure.journalResult
        case .cancelled, .sessionLocked:
            post(.user(.closing))
            return nil
        }
    }

    /// Reports why a ceremony failed; clients of a security key learn only that it did.
    private func report(_ failure: CommandFailure, of request: PhoneRequest) {
        let sentence = failure.logSentence(without: request.relyingParty)
        dependencies.report("refused a request to the security key: \(sentence) (\(failure.code))")
    }

    /// Waits until the user has read the message of the window.
    private func showResult(in window: RequestWindowDisplay) {
        // The next request need not wait for that: its window replaces this one.
        dependencies.launcher.leave(window)
        let decision = window.prompt?.decision(unless: cancellation) ?? .gone
        guard decision == .withdrawn else { return post(.user(.closing)) }
        // The client has its answer already, so the user still learns the reason. A client that has left wants none.
        if ending.withLock({ $0 }) == .keepaliveCancel { window.prompt?.end() }
    }

    // MARK: - The journal

    private func record(_ request: PhoneRequest, _ description: SecurityKeyRequestDescription, _ failure: String?) {
        let status = ending.withLock { $0 } ?? .other
        let result =
            switch status {
            case .success: request.isRegistration ? "created" : "signed"
            case .keepaliveCancel: "cancelled"
            case .credentialExcluded: "failed: already registered"
            default: failure ?? "failed: \(status.meaning)"
            }
        dependencies.journal.record(
            description.text,
            of: request.relyingParty.text,
            by: .securityKey,
            result: result,
            report: dependencies.report
        )
    }
}

extension CeremonyRequest.Command {
    /// Creates a command from a request of a client of the key; `nil` if phones have no such command.
    fileprivate init?(_ request: PhoneRequest) {
        // The process of the ceremony learns what the phone supports, and removes the rest.
        var phone = SecurityKey.info
        phone.extensions = [CredentialProtection.extensionName]
        switch request.request(for: phone) {
        case .makeCredential(let request): self = .create(request)
        case .getAssertion(let request): self = .sign(request)
        case .getInfo, .selection: return nil
        }
    }
}
