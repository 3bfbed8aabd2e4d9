// SPDX-License-Identifier: Apache-2.0

internal import HybridAsk
internal import HybridCaBLE
internal import HybridDesktopPortal
internal import HybridPhoneLinks
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridSession
internal import HybridThreads

/// The question about a wake-up: a notification with two actions, or a window if no server shows notifications.
///
/// The text contains only the user's own name for the computer. While the session is locked, no window opens, and a tap
/// on the lock screen counts only once the session is unlocked. Otherwise, a person who holds a locked phone could begin a
/// ceremony, which a finger could complete.
struct WakeUpPrompt: Sendable {
    /// The pinentry program; `nil` for the default.
    let pinentry: String?
    /// The program that asks in place of pinentry; `nil` for pinentry.
    let askProgram: String?
    /// The environment, which names the session bus.
    let environment: [String: String]
    /// Returns true while the session is locked; it may block.
    let isLocked: @Sendable () -> Bool
    /// The token of the last notification, which lets the window of the request come to the front.
    private let activation = Locked<String?>(nil)

    /// Creates a prompt.
    init(
        pinentry: String?,
        askProgram: String? = nil,
        environment: [String: String],
        isLocked: @escaping @Sendable () -> Bool
    ) {
        (self.pinentry, self.askProgram) = (pinentry, askProgram)
        (self.environment, self.isLocked) = (environment, isLocked)
    }

    /// Returns the variable with the token of the last notification, once; empty if there is none.
    func takeActivation() -> [String: String] {
        let token = activation.withLock { token in
            defer { token = nil }
            return token
        }
        return token.map { ["XDG_ACTIVATION_TOKEN": $0] } ?? [:]
    }

    /// Returns the words for the type of a request, after "to".
    static func verb(_ hint: RequestHint) -> String { hint == .makeCredential ? "create a passkey" : "sign in" }

    /// Returns the words for the cause of a request, which end the sentence.
    static func cause(_ requester: Requester) -> String {
        requester == .guest ? ",\nfor a website, a sandboxed program or another host" : ""
    }

    /// Asks the user about a wake-up.
    @Sendable func ask(_ question: WakeUpQuestion) async -> WakeUpAnswer {
        let end = ContinuousClock.now + question.limit
        let text =
            "The linked computer\n\(SafeText(quoting: question.label))\nasks to \(Self.verb(question.hint))\(Self.cause(question.requester))."
        let agree = question.hint == .makeCredential ? "Create a passkey" : "Sign in"
        if let address = SessionBus.address(environment) {
            let notification = DesktopNotification(
                application: HybridAuth.programName,
                summary: "\(agree)?",
                text: text,
                agree: agree,
                decline: "Not now"
            )
            do throws(DesktopNotification.Failure) {
                let answer = try await notification.ask(on: address, within: question.limit) { token in
                    activation.withLock { $0 = token }
                }
                switch answer {
                case .agreed: return await isUnlocked(before: end) ? .approved : .unanswered
                case .declined: return .declined
                case .dismissed, .expired: return .unanswered
                }
            } catch {
                guard case .unavailable = error else { return .unanswered }
            }
        }
        guard await isUnlocked(before: end) else { return .unanswered }
        return await askInWindow(text, agree, before: end)
    }

    /// Waits until the session is unlocked; returns false if that takes too long or the task is canceled.
    private func isUnlocked(before end: ContinuousClock.Instant) async -> Bool {
        var isReported = false
        while await DedicatedThread.run(isLocked) {
            if !isReported { report("the session is locked; unlock it to answer the request") }
            isReported = true
            guard ContinuousClock.now + Self.interval < end, (try? await Task.sleep(for: Self.interval)) != nil else {
                return false
            }
        }
        return !Task.isCancelled
    }

    /// Returns what opens a window: its own, because the request does not exist yet.
    private func questioner() throws(PinentryError) -> Questioner {
        try Questioner(
            program: askProgram,
            pinentry: { () throws(PinentryError) in try .forSignIn(pinentry) },
            notify: { report($1) }
        )
    }

    private func askInWindow(
        _ text: String,
        _ agree: String,
        before end: ContinuousClock.Instant
    ) async -> WakeUpAnswer {
        do throws(PinentryError) {
            let questioner = try questioner()
            if let program = await questioner.program { return await Self.ask(program, text, agree, before: end) }
            var pinentry = try questioner.pinentry()
            pinentry.timeout = end - .now
            switch try await pinentry.confirm(description: text, ok: agree, cancel: "Not now") {
            case .yes: return .approved
            case .no, .cancelled: return .declined
            }
        } catch {
            switch error {
            case .cancelled: return .declined
            case .timedOut, .interrupted: break
            default: report("the question can't be shown: \(error.sentence)")
            }
            return .unanswered
        }
    }

    private static func ask(
        _ program: AskProgram,
        _ text: String,
        _ agree: String,
        before end: ContinuousClock.Instant
    ) async -> WakeUpAnswer {
        defer { program.finish(.done) }
        let members: [AskMembers.Member] = [("text", .string(text)), ("agree", .string(agree))]
        do throws(AskRefusal) {
            try await program.agree(to: AskQuestion(.question, within: end - .now, members))
            return .approved
        } catch {
            return error == .declined ? .declined : .unanswered
        }
    }

    /// The time between two readings of the session's lock.
    private static let interval = Duration.seconds(1)

    /// Shows a message; failures are ignored, because the journal has it, too.
    ///
    /// While the session is locked, only a notification shows it.
    func show(_ summary: String, _ text: String) async {
        if let address = SessionBus.address(environment) {
            let notification = DesktopNotification(
                application: HybridAuth.programName,
                summary: summary,
                text: text,
                agree: "",
                decline: ""
            )
            if (try? await notification.show(on: address)) != nil { return }
        }
        guard await !DedicatedThread.run(isLocked) else { return }
        guard let questioner = try? questioner() else { return }
        if let program = await questioner.program {
            program.finish(.failed(code: ExitStatus.temporary.name, message: "\(summary): \(text)", remedy: nil))
        } else {
            try? await questioner.pinentry().message(description: "\(summary)\n\n\(text)")
        }
    }
}
