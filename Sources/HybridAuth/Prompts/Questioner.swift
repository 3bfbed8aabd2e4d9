// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridAsk
internal import HybridAuthenticator
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads

/// The one that asks the user during a run: the program of `--ask`, or pinentry if there is none.
///
/// This type alone decides between both. A program that can't be started, or ends before it is ready, is replaced by
/// pinentry. One that ends later is not: a window of another kind that opens by itself would surprise the user.
final class Questioner: Sendable {
    private enum Stage: Sendable {
        /// No program runs; the next question starts one.
        case idle
        case running(AskProgram)
        /// The program can't be used.
        case unusable
    }

    /// The name of the notice about a program that can't be used.
    static let noProgram = "no-ask-program"

    private let path: String?
    private let variables: [String: String]
    private let prompts: Result<Pinentry, PinentryError>
    private let notify: @Sendable (_ name: String, _ text: String) -> Void
    private let stage = Locked(Stage.idle)

    /// Creates a questioner, which starts no program yet.
    ///
    /// - Parameters:
    ///   - program: The program; `nil` for pinentry.
    ///   - variables: Variables that are added to the program's environment.
    ///   - pinentry: Returns the prompts of pinentry.
    ///   - notify: Reports that the program can't be used.
    /// - Throws: The error of `pinentry` if there is no program.
    init(
        program: String?,
        variables: [String: String] = [:],
        pinentry: () throws(PinentryError) -> Pinentry,
        notify: @escaping @Sendable (_ name: String, _ text: String) -> Void
    ) throws(PinentryError) {
        (path, self.variables, self.notify) = (program, variables, notify)
        prompts = Result(catching: pinentry)
        if program == nil { _ = try prompts.get() }
    }

    /// Starts the program, unless it runs or can't be used.
    func start() { _ = running() }

    /// The program, once it is ready; `nil` if pinentry asks.
    var program: AskProgram? {
        get async {
            guard let program = running() else { return nil }
            if await program.isUsable { return program }
            program.abort()
            giveUp()
            return nil
        }
    }

    /// Returns the prompts of pinentry.
    func pinentry() throws(PinentryError) -> Pinentry { try prompts.get() }

    private func running() -> AskProgram? {
        guard let path else { return nil }
        let (program, isMissing) = stage.withLock { stage -> (AskProgram?, Bool) in
            switch stage {
            case .running(let program): return (program, false)
            case .unusable: return (nil, false)
            case .idle:
                guard let program = AskProgram(path, variables: variables) else { return (nil, true) }
                stage = .running(program)
                return (program, false)
            }
        }
        if isMissing { giveUp() }
        return program
    }

    /// Lets pinentry ask from now on, and reports that once.
    private func giveUp() {
        let isFirst = stage.withLock { stage in
            if case .unusable = stage { return false }
            stage = .unusable
            return true
        }
        guard isFirst, let path else { return }
        notify(Self.noProgram, "\(path) can't be used, so pinentry asks; install it, or choose another with --ask")
    }

    /// Shows an event if the program runs.
    func show(_ event: AskEvent) {
        if case .running(let program) = stage.withLock({ $0 }) { program.show(event) }
    }

    /// Shows the end of the run if the program runs; a later question starts a new one.
    ///
    /// - Returns: True if the program shows the end.
    @discardableResult
    func finish(_ ending: AskEnding) -> Bool {
        let program = stage.withLock { stage -> AskProgram? in
            guard case .running(let program) = stage else { return nil }
            stage = .idle
            return program
        }
        return program?.finish(ending) ?? false
    }
}

extension Questioner {
    /// Creates the questioner of requests, after a scan or a wake-up.
    static func forSignIn(
        _ settings: Configuration,
        variables: [String: String] = [:],
        notify: @escaping @Sendable (_ name: String, _ text: String) -> Void
    ) throws -> Questioner {
        let pinentry = try settings.value(AuthSettings.pinentry)
        return try Questioner(
            program: AskProgram.path(try settings.value(AuthSettings.ask), ProcessEnvironment.variables),
            variables: variables,
            pinentry: { () throws(PinentryError) in try .forSignIn(pinentry) },
            notify: notify
        )
    }
}

extension AskProgram {
    /// The program that is used if no other is chosen.
    static let standardPath = "/usr/libexec/hybrid-ask"

    /// Returns the path of the program; `nil` if pinentry asks.
    ///
    /// - Parameters:
    ///   - setting: The setting; an empty text is the choice of pinentry.
    ///   - environment: The environment, which names the graphical session.
    ///   - standardPath: The program without a setting, if it is installed and there is a graphical session.
    static func path(
        _ setting: String?,
        _ environment: [String: String],
        standardPath: String = standardPath
    ) -> String? {
        if let setting { return setting.isEmpty ? nil : setting }
        let hasDisplay = ["WAYLAND_DISPLAY", "DISPLAY"].contains { environment[$0]?.isEmpty == false }
        return hasDisplay && access(standardPath, X_OK) == 0 ? standardPath : nil
    }

    /// Asks for consent.
    func agree(to question: AskQuestion) async throws(AskRefusal) {
        guard case .agreed = try await ask(question) else { throw .declined }
    }

    /// Asks for a PIN, passphrase or recovery code.
    func typed(
        for question: AskQuestion,
        cancelledBecause cause: @Sendable () -> AskWithdrawal = { .cancelled }
    ) async throws(AskRefusal) -> PinentrySecret {
        guard case .typed(let secret) = try await ask(question, cancelledBecause: cause) else { throw .declined }
        return secret
    }
}

extension Pinentry {
    /// The time for the user to answer each prompt of a request.
    static let signInLimit = Duration.seconds(60)

    /// Creates the prompts of requests, after a scan or a wake-up.
    ///
    /// - Parameter program: The pinentry program, or `nil` for the default.
    static func forSignIn(_ program: String?) throws(PinentryError) -> Pinentry {
        try Pinentry(program: program, title: "Sign in on another device", timeout: signInLimit)
    }
}

extension AskEnding {
    /// Returns the end after a failure; `isKnown` is true if the user has caused or seen it in a window.
    static func after(_ failure: CommandFailure, isKnown: Bool = false) -> AskEnding {
        let isSilent = isKnown || failure.status == .interrupted
        return isSilent
            ? .declined(code: failure.code, message: failure.message)
            : .failed(code: failure.code, message: failure.message, remedy: failure.remedy)
    }
}

extension PIN {
    /// Creates a PIN from what the user typed; `nil` if it is empty or too long.
    init?(_ secret: PinentrySecret) {
        guard let pin = secret.withUnsafeBytes({ PIN(utf8: $0) }) else { return nil }
        self = pin
    }

    /// Returns the complaint about a new PIN, or `nil` if it can be used.
    @Sendable static func complaint(_ secret: PinentrySecret) -> String? {
        guard let pin = PIN(secret) else { return "Type 1 to \(maximumBytes) bytes" }
        return pin.isLongEnough ? nil : "At least \(minimumLength) characters"
    }
}
