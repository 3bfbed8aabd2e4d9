// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import Synchronization

/// The user of this device, who is prompted through pinentry.
///
/// Each prompt begins with the RP ID on a line of its own, because the user consents for this site. A local service has
/// a heading instead (``RequestText``). Names from the request follow, quoted and sanitized, also on lines of their own.
/// With a virtual radio, each prompt contains a warning.
struct PinentryUser: UserInteraction {
    let pinentry: Pinentry
    /// The transport that the other device uses.
    let transport: TransportKind
    /// Age of the code in seconds, if it has a timestamp.
    let age: UInt64?
    /// True if the radio is virtual and therefore does not prove proximity.
    let virtualRadio: Bool
    /// The user's name for the linked computer that asks; `nil` if its code was scanned.
    var computer: String?
    /// The fingerprint that may replace the PIN; `nil` if the user did not allow it.
    var fingerprint: FingerprintOffer?

    private var warning: String {
        (virtualRadio ? "\n\nVIRTUAL RADIO: no proximity proof" : "")
            + (CodeAge.warning(age).map { "\n\n\($0)" } ?? "")
    }

    /// Asks for the PIN of a new vault.
    func askNewPIN(forVaultAt path: String) async throws -> PIN {
        let description =
            "A new vault for passkeys\n\n\(SafeText(quoting: path))\n\nChoose a PIN of at least \(PIN.minimumLength) "
            + "characters. It opens the vault on this device only and cannot be recovered.\(warning)"
        do throws(PinentryError) {
            let secret = try await pinentry.getNewPIN(description: description, complaint: PIN.complaint)
            if let pin = PIN(secret) { return pin }
        } catch {
            switch error {
            case .cancelled, .tooManyTries:
                throw AlreadyShownFailure("no PIN was chosen; no vault was created", status: .notPermitted)
            case .timedOut:
                throw CommandFailure("no PIN was chosen in time; no vault was created", status: .temporary)
            case .interrupted: throw await PromptInterruption.propagate()
            default: throw error
            }
        }
        throw CommandFailure("no PIN was chosen", status: .notPermitted)
    }

    func verify(
        for operation: RequestedOperation,
        problem: PINProblem?
    ) async throws(UserRefusal) -> UserVerification {
        guard problem == nil, let fingerprint, await fingerprint.isReady else {
            return .pin(try await askPIN(for: operation, problem: problem))
        }
        let description = description("\(question(operation))\n\n\(FingerprintOffer.invitation)", for: operation)
        let answer = await fingerprint.race { () async throws(PinentryError) in
            try await pinentry.getPIN(description: description, prompt: "PIN:")
        }
        switch answer {
        case .finger(let key): return .key(key)
        case .typed(let result):
            let secret = try await ask { () async throws(PinentryError) in try result.get() }
            if let pin = PIN(secret) { return .pin(pin) }
            return .pin(try await askPIN(for: operation, complaint: Self.typePIN))
        case .failed(let complaint): return .pin(try await askPIN(for: operation, complaint: complaint))
        }
    }

    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
        let complaint: String? =
            switch problem {
            case .wrong(let attemptsLeft): "Wrong PIN; attempts left before a delay: \(attemptsLeft)"
            case .keyReplaced: "The vault has another key now; type the PIN"
            case nil: nil
            }
        return try await askPIN(for: operation, complaint: complaint)
    }

    private static let typePIN = "Type the PIN, or cancel"

    private func question(_ operation: RequestedOperation) -> String {
        let made = age.map { ", with a code shown \(CodeAge.text($0)) ago" } ?? ""
        let asked = computer.map { "Asked by the linked computer\n\(SafeText(quoting: $0))\n" } ?? "Asked "
        return "\(RequestText.question(operation))\n\(asked)\(transport.phrase)\(made)."
    }

    private func askPIN(for operation: RequestedOperation, complaint: String?) async throws(UserRefusal) -> PIN {
        let description = description(question(operation), for: operation)
        var complaint = complaint
        for _ in 0..<Authenticator.pinAttempts {
            let secret = try await ask { () async throws(PinentryError) in
                try await pinentry.getPIN(description: description, prompt: "PIN:", error: complaint)
            }
            if let pin = PIN(secret) { return pin }
            complaint = Self.typePIN
        }
        throw .declined
    }

    func confirmCreation(
        of account: UserEntity,
        for operation: RequestedOperation,
        replacing replaced: [UserEntity]
    ) async throws(UserRefusal) {
        let (text, ok) = ConsentText.creation(of: account, for: operation, replacing: replaced)
        let answer = try await confirm(text, for: operation, ok: ok)
        guard answer == .yes else { throw .declined }
    }

    func chooseAccount(
        _ accounts: [UserEntity],
        for operation: RequestedOperation
    ) async throws(UserRefusal) -> Int {
        var index = 0
        while true {
            let text = ConsentText.use(of: accounts[index], index + 1, of: accounts.count, for: operation)
            switch try await confirm(text, for: operation, ok: "Use", notOK: accounts.count > 1 ? "Next" : nil) {
            case .yes: return index
            case .no where accounts.count > 1: index = (index + 1) % accounts.count
            case .no, .cancelled: throw .declined
            }
        }
    }

    func show(_ notice: Notice, for operation: RequestedOperation) async throws(UserRefusal) {
        let description = description(RequestText.notice(notice, operation), for: operation)
        try await ask { () async throws(PinentryError) in try await pinentry.message(description: description) }
    }

    /// Returns the whole text of a prompt.
    private func description(_ text: String, for operation: RequestedOperation) -> String {
        "\(RequestText.heading(operation.relyingParty))\n\n\(text)\(warning)"
    }

    private func confirm(
        _ text: String,
        for operation: RequestedOperation,
        ok: String,
        notOK: String? = nil
    ) async throws(UserRefusal) -> ConfirmAnswer {
        try await ask { () async throws(PinentryError) in
            try await pinentry.confirm(
                description: description(text, for: operation),
                ok: ok,
                notOK: notOK,
                cancel: "Decline"
            )
        }
    }

    /// Shows a prompt; throws a refusal if the user does not answer it.
    private func ask<Answer>(
        _ prompt: () async throws(PinentryError) -> Answer
    ) async throws(UserRefusal) -> Answer {
        do throws(PinentryError) {
            return try await prompt()
        } catch {
            switch error {
            case .cancelled: throw .declined
            case .timedOut: throw .timedOut
            case .interrupted:
                // The caller is canceled, too, and reports the cancellation instead of this refusal.
                _ = await PromptInterruption.propagate()
                throw .declined
            default: throw .unavailable(error.sentence)
            }
        }
    }
}

extension Pinentry {
    /// Creates the prompts of a scan.
    ///
    /// - Parameter program: The pinentry program, or `nil` for the default.
    static func forScan(_ program: String?) throws(PinentryError) -> Pinentry {
        try Pinentry(program: program, title: "Sign in on another device", timeout: .seconds(60))
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

/// The transport that the other device uses, as shown in prompts; it is known once that device has connected.
final class TransportKind: Sendable {
    private let relay: String
    private let isL2CAP = Atomic(false)

    /// Creates a transport through a relay, which ``update(_:)`` may replace.
    init(relay: String) { self.relay = relay }

    /// Records the transport of the verified client.
    func update(_ event: AuthenticatorEvent) {
        if case .clientVerified(over: .l2cap) = event { isL2CAP.store(true, ordering: .relaxed) }
    }

    /// The kind of the transport.
    var kind: DataChannelKind { isL2CAP.load(ordering: .relaxed) ? .l2cap : .webSocket }

    /// The phrase that follows "Asked" in a prompt.
    var phrase: String { kind == .l2cap ? "by Bluetooth alone" : "through the relay \(relay)" }
}

/// Handling of a signal that ended a prompt and must also end this program.
///
/// Ctrl-C reaches all programs of the terminal. The prompt may exit before this process handles its own signal.
enum PromptInterruption {
    /// Waits until the task is canceled, as after Ctrl-C.
    ///
    /// If the signal reached only the prompt, sends SIGINT to this process.
    ///
    /// - Returns: The error to throw.
    static func propagate() async -> CancellationError {
        // A second SIGINT would end this program at once, so the terminal's signal gets time to arrive first.
        // Cancellation ends both waits.
        try? await Task.sleep(for: .seconds(1))
        if !Task.isCancelled {
            kill(getpid(), SIGINT)
            try? await Task.sleep(for: .seconds(5))
        }
        return CancellationError()
    }
}

/// Texts that follow the RP ID in prompts about an account.
///
/// Each name from a request is on a line of its own, without text of this program. Right-to-left letters reorder their
/// whole line, and a name could otherwise look like a continuation of the text.
enum ConsentText {
    /// Maximum length of several names together in bytes, so that the whole text fits a line of pinentry's protocol.
    private static let maximumBytes = 400

    /// Returns the question for a new passkey, and the label of the button that consents.
    static func creation(
        of account: UserEntity,
        for operation: RequestedOperation,
        replacing replaced: [UserEntity]
    ) -> (text: String, ok: String) {
        guard let first = replaced.first else {
            let what = operation.isForSSH ? "Save an SSH key with this name?" : "Save a passkey for this account?"
            return ("\(what)\n\(name(account))", "Save")
        }
        let what = replaced.count == 1 ? "the passkey" : "the \(replaced.count) passkeys"
        let old = replaced.count == 1 ? "The old one is" : "The old ones are"
        var text = "Replace \(what) of this account with a new one?\n\(old) deleted permanently."
        // Each different name once.
        var named: [String] = []
        for name in replaced.map(name) where !named.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
            named.append(name)
        }
        var (shown, bytes) = (0, name(account).utf8.count)
        for name in named {
            bytes += name.utf8.count
            guard shown == 0 || bytes <= maximumBytes else { break }
            text += "\n\(name)"
            shown += 1
        }
        if named.count > shown { text += "\nand \(named.count - shown) more" }
        if named.count > 1 || !name(first).utf8.elementsEqual(name(account).utf8) {
            text += "\nThe new one is for\n\(name(account))"
        }
        return (text, "Replace")
    }

    /// Returns the question about one account to use; `position` counts from 1.
    static func use(
        of account: UserEntity,
        _ position: Int,
        of count: Int,
        for operation: RequestedOperation
    ) -> String {
        RequestText.consent(
            to: operation,
            with: name(account),
            count > 1 ? " (\(position) of \(count))" : ""
        )
    }

    private static func name(_ account: UserEntity) -> String {
        let name = account.name.isEmpty ? account.displayName : account.name
        return name.isEmpty ? "an account without a name" : "\(SafeText(quoting: name))"
    }
}

/// The age of a code, according to its own timestamp.
///
/// An attacker may have created a code earlier and then deceived the user into scanning it. Such a code is old. Because
/// clocks differ, an old code is not rejected, but the user is warned.
enum CodeAge {
    /// Maximum age of a code without a warning, in seconds.
    static let maximumWithoutWarning: UInt64 = 120

    /// Returns the age as text.
    static func text(_ seconds: UInt64) -> String {
        switch seconds {
        case 0..<120: "\(seconds) seconds"
        case 120..<7200: "\(seconds / 60) minutes"
        case 7200..<172_800: "\(seconds / 3600) hours"
        default: "\(seconds / 86_400) days"
        }
    }

    /// Returns a warning about an old code.
    static func warning(_ age: UInt64?) -> String? {
        guard let age, age > maximumWithoutWarning else { return nil }
        return "OLD CODE: it was made \(text(age)) ago. Go on only if you have just asked for it yourself."
    }
}
