// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSSHAgent
internal import HybridThreads
internal import HybridWebAuthn

/// The requests of websites in browsers on other hosts.
///
/// The agent has proved which host asks. This service decides: it checks permissions, the request and limits, asks the
/// user, and starts the ceremony in a process of its own. The other host learns little of the result.
package final class RemoteSignInService: Sendable {
    private let launcher: CeremonyLauncher
    private let permissions: RemotePermissionStore
    private let keys: SSHKeyRing
    private let journal: Journal
    private let knownHosts: [String]
    private let seconds: Int
    private let report: @Sendable (String) -> Void
    private let limits = Locked(RemoteLimits())
    private let sessions = Locked(ProcessSessions())
    private let lines = Locked(RepeatedLines())
    private let start = ContinuousClock.now

    /// Creates a service.
    ///
    /// - Parameters:
    ///   - launcher: The launcher of ceremonies.
    ///   - permissions: The permissions of hosts.
    ///   - keys: The SSH keys, whose passkeys no website gets.
    ///   - journal: The journal, in which each request is recorded.
    ///   - knownHosts: The paths of known_hosts files.
    ///   - seconds: The time limit in seconds of each wait for the user. The website's own limit does not count, because
    ///     the browser does not keep it.
    ///   - report: A closure that receives a sentence if a request is refused, or the journal can't be written.
    package init(
        launcher: CeremonyLauncher,
        permissions: RemotePermissionStore,
        keys: SSHKeyRing,
        journal: Journal,
        knownHosts: [String],
        seconds: Int,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.launcher = launcher
        self.permissions = permissions
        self.keys = keys
        self.journal = journal
        self.knownHosts = knownHosts
        self.seconds = seconds
        self.report = report
    }

    /// Records the first session of a connection of a client.
    func note(_ session: SSHSessionID, of client: PeerCredentials) {
        guard let process = client.process else { return }
        sessions.withLock { $0.add(session, of: process) }
    }

    /// A request and its client.
    struct Job: Sendable {
        let request: RemoteRequest
        let client: PeerCredentials
        /// Becomes active when the client has left.
        let cancellation: SigningCancellation
    }

    /// Performs a request on a thread of its own, and completes it with the answer for the other host.
    ///
    /// - Returns: `false` if the process has no threads left; then the request is not completed.
    func submit(_ job: Job, complete: @escaping @Sendable (RemoteAnswer) -> Void) -> Bool {
        DedicatedThread.start { [self] in complete(answer(job)) }
    }

    private var now: Duration { ContinuousClock.now - start }

    /// A reason why a request is refused before the user is asked.
    private struct Refusal: Error {
        let failure: RemoteAnswer.Failure
        /// The reason on one line, for the user of this computer.
        let reason: String

        init(_ code: RemoteFailureCode, name: String = "NotAllowedError", _ reason: String) {
            (failure, self.reason) = (RemoteAnswer.Failure(code, name: name), reason)
        }
    }

    private func answer(_ job: Job) -> RemoteAnswer {
        let chain = job.request.origin.chain
        guard let host = chain.last else { return .failure(.init(.refused)) }
        let names = names(of: job)
        let website: Website
        let decision: RemotePermissions.Decision
        do throws(Refusal) {
            guard job.client.process.map({ process in sessions.withLock { $0.isConsistent(process) } }) ?? false else {
                throw Refusal(.refused, "its ssh process has proved several first hosts, so one may pass for another")
            }
            // Before anything of the request is parsed.
            let permissions = try currentPermissions()
            if let hop = permissions.firstMissing(in: chain) {
                let name = zip(chain, names).first { $0.0 == hop }?.1 ?? "\(hop)"
                throw Refusal(.refused, "\(name) has no permission; run: hybrid-key remote allow \(name)")
            }
            website = try Website(job.request.message, sshKeys: keys)
            let stored = permissions.decision(
                host,
                website.relyingParty,
                isCreation: website.isCreation,
                wantsSecret: website.wantsSecret
            )
            // A permission for a website is not one for pages of other domains.
            decision = website.otherOrigin == nil ? stored : .ask(permanent: false)
            guard limits.withLock({ $0.begin(host) }) else {
                throw Refusal(.refused, "another request of the host, or too many, are open")
            }
        } catch {
            refuse(error, host, names.last ?? "\(host)")
            return .failure(error.failure)
        }
        let description = RemoteRequestDescription(
            hosts: names,
            relyingParty: website.relyingParty,
            otherOrigin: website.otherOrigin,
            isCreation: website.isCreation,
            wantsSecret: website.wantsSecret
        )
        let (answer, result) = perform(job, website, host, description, decision)
        let isAnswered = if case .response = answer { true } else { false }
        limits.withLock { $0.end(host, isAnswered: isAnswered) }
        record(website.relyingParty.text, description.text, result)
        return answer
    }

    private func currentPermissions() throws(Refusal) -> RemotePermissions {
        do throws(CommandFailure) {
            return try permissions.permissions()
        } catch {
            throw Refusal(.refused, error.sentence)
        }
    }

    private func perform(
        _ job: Job,
        _ website: Website,
        _ host: RemoteHost,
        _ description: RemoteRequestDescription,
        _ decision: RemotePermissions.Decision
    ) -> (RemoteAnswer, result: String) {
        guard limits.withLock({ $0.openWindow(host, at: now) }) else {
            return (.failure(.init(.refused)), "failed: too many requests within a minute did not lead to a response")
        }
        let question: Bool? = if case .ask(let permanent) = decision { permanent } else { nil }
        let event = description.event(timeout: .seconds(seconds), question: question)
        let window: RequestWindowDisplay
        do throws(WindowRefusal) {
            let limit = SigningQueue<SigningJob>.patience
            window = try launcher.open(event: event, unless: job.cancellation, within: limit)
        } catch {
            switch error {
            case .sessionLocked: return (.failure(.init(.refused)), "failed: the session is locked")
            case .notStarted: return (.failure(.init(.refused)), CommandFailure.promptNotStarted.journalResult)
            case .withdrawn: return (.failure(.init(.failed)), "cancelled")
            case .timedOut: return (.failure(.init(.refused)), "failed: another window was open")
            }
        }
        if question != nil, let refusal = ask(job, website, host, in: window) { return refusal }
        let outcome = launcher.perform(
            WebsiteRequest(
                website.message,
                purpose: description.text,
                seconds: seconds,
                hasAgreed: question != nil
            ),
            in: window,
            cancellation: job.cancellation
        )
        launcher.leave(window)
        return result(of: outcome, website)
    }

    /// Asks the user; returns the answer to a request to which the user has not agreed.
    private func ask(
        _ job: Job,
        _ website: Website,
        _ host: RemoteHost,
        in window: RequestWindowDisplay
    ) -> (RemoteAnswer, result: String)? {
        guard let prompt = window.prompt else {
            launcher.leave(window)
            return (.failure(.init(.refused)), "failed: only hybrid-prompt can ask; install it")
        }
        let decision = prompt.decision(unless: job.cancellation, within: .seconds(seconds))
        if decision == .agreed {
            if prompt.isPermanent { remember(website, host) }
            return nil
        }
        prompt.end()
        launcher.leave(window)
        return switch decision {
        case .timedOut: (.failure(.init(.timedOut)), "failed: no answer to the question")
        case .withdrawn: (.failure(.init(.failed)), "cancelled")
        case .gone: (.failure(.init(.refused)), "failed: the prompt has ended")
        case .cancelled, .agreed: (.failure(.init(.refused)), "declined")
        }
    }

    private func remember(_ website: Website, _ host: RemoteHost) {
        do throws(CommandFailure) {
            try permissions.change { (permissions) throws(CommandFailure) in
                guard permissions.allow(website.relyingParty, from: host, secret: website.wantsSecret) else {
                    throw .tooManyPermissions
                }
            }
        } catch {
            report("the answer for the future was not stored: \(error.sentence)")
        }
    }

    private func result(of outcome: CeremonyOutcome, _ website: Website) -> (RemoteAnswer, result: String) {
        switch outcome {
        case .answered(let answer):
            guard let result = WebsiteAnswer(parsing: answer.response) else {
                return (.failure(.init(.failed)), "failed: no answer")
            }
            guard case .failure = result.answer else { return (result.answer, "signed") }
            let cause = result.cause ?? "unknown"
            // The website's name is in the journal only.
            let hidden = cause.replacing(website.relyingParty.text, with: "this request")
            report("refused a website's request of another host: \(hidden)")
            return (result.answer, "failed: \(cause)")
        case .cancelled: return (.failure(.init(.refused)), "cancelled")
        case .sessionLocked: return (.failure(.init(.refused)), "failed: the session is locked")
        case .refused(_, let failure), .failed(let failure):
            let sentence = failure.logSentence(without: website.relyingParty)
            report("refused a website's request of another host: \(sentence) (\(failure.code))")
            let code: RemoteFailureCode = failure.status == .temporary ? .timedOut : .failed
            return (.failure(.init(code)), failure.journalResult)
        }
    }

    /// Returns the names of the hosts from known_hosts, or their fingerprints, nearest first.
    private func names(of job: Job) -> [String] {
        guard case .hosts(let keys) = job.request.origin else { return job.request.origin.chain.map(\.description) }
        let known = KnownHosts(paths: knownHosts, report: report)
        let candidates = HostCandidates.names(inCommandLine: job.client.commandLine)
        return keys.map { known.name(of: $0, candidates: candidates) ?? $0.fingerprint.description }
    }

    // MARK: - The journal

    private func refuse(_ refusal: Refusal, _ host: RemoteHost, _ name: String) {
        if let line = lines.withLock({ $0.line("refused a website's request of another host: \(refusal.reason)") }) {
            report(line)
        }
        guard limits.withLock({ $0.recordRefusal(host, at: now) }) else { return }
        record("-", "a website's request in a browser on \(name)", "refused: \(refusal.reason)")
    }

    private func record(_ relyingParty: String, _ purpose: String, _ result: String) {
        journal.record(purpose, of: relyingParty, by: .remote, result: result, report: report)
    }

    // MARK: - The request

    /// A checked request of a website.
    private struct Website {
        let message: RemoteMessage
        let relyingParty: RelyingPartyID
        /// The origin of the page, if it is of another domain.
        let otherOrigin: String?
        let isCreation: Bool
        let wantsSecret: Bool

        init(_ bytes: [UInt8], sshKeys: SSHKeyRing) throws(Refusal) {
            do throws(RemoteMessageError) {
                message = try RemoteMessage(parsing: bytes)
            } catch {
                throw Refusal(.unusable, "its message is unusable (\(error))")
            }
            isCreation = message.operation == .create
            do {
                let options = try PublicKeyOptions(json: message.request)
                let origin = try Origin(message.origin)
                let top = try message.topOrigin.map { try Origin($0) }
                wantsSecret = options.wantsSecret
                let (id, isRelated) = try Self.relyingParty(options, origin, top)
                (relyingParty, otherOrigin) = (id, isRelated ? origin.text : nil)
            } catch {
                let name = (error as? any WebAuthnFailure)?.name ?? .typeError
                let reason = (error as? any ExplainedFailure)?.sentence ?? "\(error)"
                throw Refusal(.unusable, name: name.rawValue, "its request is unusable: \(reason)")
            }
            guard !sshKeys.uses(relyingParty) else {
                throw Refusal(.refused, "\(relyingParty.text) is the domain of an SSH key, which no website gets")
            }
        }

        /// Returns the relying party ID, and true if it is of another domain.
        ///
        /// That domain permits the origin in a list, which the ceremony retrieves.
        private static func relyingParty(
            _ options: PublicKeyOptions,
            _ origin: Origin,
            _ top: Origin?
        ) throws(RelyingPartyIDError) -> (RelyingPartyID, isRelated: Bool) {
            do throws(RelyingPartyIDError) {
                return (try Ceremony(options, origin: origin, topOrigin: top).relyingPartyID, false)
            } catch {
                guard let id = error.relatedID else { throw error }
                return (id, true)
            }
        }
    }
}

extension PublicKeyOptions {
    /// True if the website asks for secrets of the passkey.
    fileprivate var wantsSecret: Bool {
        let prf =
            switch self {
            case .creation(let options): options.extensions.prf
            case .request(let options): options.extensions.prf
            }
        return prf.map { $0.salts != nil || !$0.saltsByCredential.isEmpty } ?? false
    }
}
