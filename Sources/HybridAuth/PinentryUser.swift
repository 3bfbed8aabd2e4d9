// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridSession
internal import Synchronization

/// The user of this device, asked through pinentry.
///
/// Each prompt begins with the RP ID on a line of its own, because that is what the user consents to. Names from the
/// request follow, quoted and made safe, also on lines of their own. With a virtual radio each prompt contains a warning.
struct PinentryUser: UserInteraction {
    private static let title = "Sign in on another device"
    private static let timeout = Duration.seconds(60)

    private let pinentry: Pinentry
    private let transport: TransportKind
    private let age: UInt64?
    private let warning: String

    /// Creates the prompts for one code.
    ///
    /// - Parameters:
    ///   - program: The pinentry program, or `nil` for the default.
    ///   - transport: The transport that the other device uses.
    ///   - age: Age of the code in seconds, if it has a timestamp.
    ///   - virtualRadio: True if proximity is not proved.
    init(program: String?, transport: TransportKind, age: UInt64?, virtualRadio: Bool) throws {
        do {
            pinentry = try Pinentry(program: program)
        } catch {
            throw CommandFailure(error.sentence, status: .unavailable)
        }
        self.transport = transport
        self.age = age
        warning =
            (virtualRadio ? "\n\nVIRTUAL RADIO: no proximity proof" : "")
            + (CodeAge.warning(age).map { "\n\n\($0)" } ?? "")
    }

    /// Asks for the PIN of a new vault.
    func askNewPIN(forVaultAt path: String) async throws -> PIN {
        let description =
            "A new vault for passkeys\n\n\(SafeText(quoting: path))\n\nChoose a PIN of at least \(PIN.minimumLength) "
            + "characters. It opens the vault on this device only and cannot be recovered.\(warning)"
        do {
            let secret = try await pinentry.getNewPIN(
                title: Self.title,
                description: description,
                timeout: Self.timeout
            ) { secret in
                guard let pin = Self.pin(secret) else { return "Type 1 to \(PIN.maximumBytes) bytes" }
                return pin.isLongEnough ? nil : "At least \(PIN.minimumLength) characters"
            }
            guard let pin = Self.pin(secret) else { throw CommandFailure("no PIN was chosen", status: .notPermitted) }
            return pin
        } catch let error as PinentryError {
            switch error {
            case .cancelled, .tooManyTries:
                throw AlreadyShownFailure("no PIN was chosen; no vault was created", status: .notPermitted)
            case .timedOut: throw CommandFailure("no PIN was chosen in time; no vault was created", status: .temporary)
            case .interrupted:
                await PromptInterruption.propagate()
                throw CancellationError()
            default: throw CommandFailure(error.sentence, status: .unavailable)
            }
        }
    }

    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
        let (site, what) =
            switch operation {
            case .create(let site): (site, "Create a passkey for this site?")
            case .signIn(let site): (site, "Sign in to this site?")
            }
        let made = age.map { ", with a code shown \(CodeAge.text($0)) ago" } ?? ""
        let description = "\(site)\n\n\(what)\nAsked \(transport.phrase)\(made).\(warning)"
        var complaint: String?
        if case .wrong(let attemptsLeft) = problem { complaint = "Wrong PIN; \(attemptsLeft) more before a wait" }
        do {
            for _ in 0..<Authenticator.pinAttempts {
                let secret = try await pinentry.getPIN(
                    title: Self.title,
                    description: description,
                    prompt: "PIN:",
                    error: complaint,
                    timeout: Self.timeout
                )
                if let pin = Self.pin(secret) { return pin }
                complaint = "Type the PIN, or cancel"
            }
            throw UserRefusal.declined
        } catch {
            throw await Self.refusal(error)
        }
    }

    func confirmCreation(
        of account: UserEntity,
        for relyingParty: RelyingPartyID,
        replacing replaced: [UserEntity]
    ) async throws(UserRefusal) {
        let (text, ok) = ConsentText.creation(of: account, replacing: replaced)
        do {
            let answer = try await pinentry.confirm(
                title: Self.title,
                description: "\(relyingParty)\n\n\(text)\(warning)",
                ok: ok,
                cancel: "Decline",
                timeout: Self.timeout
            )
            guard answer == .yes else { throw UserRefusal.declined }
        } catch {
            throw await Self.refusal(error)
        }
    }

    func chooseAccount(
        _ accounts: [UserEntity],
        for relyingParty: RelyingPartyID
    ) async throws(UserRefusal) -> Int {
        var index = 0
        do {
            while true {
                let text = ConsentText.signIn(as: accounts[index], index + 1, of: accounts.count)
                let answer = try await pinentry.confirm(
                    title: Self.title,
                    description: "\(relyingParty)\n\n\(text)\(warning)",
                    ok: "Use",
                    notOK: accounts.count > 1 ? "Next" : nil,
                    cancel: "Decline",
                    timeout: Self.timeout
                )
                switch answer {
                case .yes: return index
                case .no where accounts.count > 1: index = (index + 1) % accounts.count
                case .no, .cancelled: throw UserRefusal.declined
                }
            }
        } catch {
            throw await Self.refusal(error)
        }
    }

    func show(_ notice: Notice, relyingParty: RelyingPartyID) async throws(UserRefusal) {
        let text =
            switch notice {
            case .noPasskey: "This device has no passkey that this site accepts."
            case .alreadyRegistered: "This device has a passkey for this site already; no other is needed."
            }
        do {
            try await pinentry.message(
                title: Self.title,
                description: "\(relyingParty)\n\n\(text)\(warning)",
                timeout: Self.timeout
            )
        } catch {
            throw await Self.refusal(error)
        }
    }

    private static func pin(_ secret: PinentrySecret) -> PIN? {
        secret.withUnsafeBytes { PIN(utf8: $0) }
    }

    private static func refusal(_ error: any Error) async -> UserRefusal {
        switch error {
        case let refusal as UserRefusal: return refusal
        case let error as PinentryError:
            switch error {
            case .cancelled: return .declined
            case .timedOut: return .timedOut
            case .interrupted:
                // The caller is cancelled then, and reports that instead.
                await PromptInterruption.propagate()
                return .declined
            default: return .unavailable(error.sentence)
            }
        default: return .unavailable("the question could not be asked: \(error)")
        }
    }
}

/// The transport that the other device uses, for the texts of prompts; known once it has connected.
final class TransportKind: Sendable {
    private let relay: String
    private let isL2CAP = Atomic(false)

    /// Creates a transport through a relay, until ``update(_:)`` reports another.
    init(relay: String) { self.relay = relay }

    /// Records the transport of the client that verified.
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
    /// Returns when the task is cancelled, as after Ctrl-C.
    ///
    /// If the signal reached only the prompt, raises it here.
    static func propagate() async {
        // A second SIGINT would end this program at once, so its own signal gets time to arrive first. Cancellation ends
        // both waits.
        try? await Task.sleep(for: .seconds(1))
        guard !Task.isCancelled else { return }
        kill(getpid(), SIGINT)
        try? await Task.sleep(for: .seconds(5))
    }
}
