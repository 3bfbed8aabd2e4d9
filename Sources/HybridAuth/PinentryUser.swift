// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives

/// The person at this device, asked through pinentry.
///
/// Every question begins with the RP ID, alone on its line, because that is what the person vouches for; names out of
/// the request stand below it, quoted and made safe, each alone on its line, too. Under a virtual radio every question says so.
struct PinentryUser: UserInteraction {
    private static let title = "Sign in on another device"
    private static let patience = Duration.seconds(60)

    private let pinentry: Pinentry
    private let way: TransportKind
    private let age: UInt64?
    private let warning: String

    /// A person who is asked about one code.
    ///
    /// - Parameters:
    ///   - program: The pinentry program, or `nil` for the usual ones.
    ///   - way: By which way the other device asks.
    ///   - age: How old the code is, in seconds, if it says so.
    ///   - virtualRadio: Whether nearness is not proved.
    init(program: String?, way: TransportKind, age: UInt64?, virtualRadio: Bool) throws {
        do {
            pinentry = try Pinentry(program: program)
        } catch {
            throw CommandFailure(error.sentence, status: .unavailable)
        }
        self.way = way
        self.age = age
        warning =
            (virtualRadio ? "\n\nVIRTUAL RADIO: no proximity proof" : "")
            + (CodeAge.warning(age).map { "\n\n\($0)" } ?? "")
    }

    /// Asks for the PIN of a vault that is about to be made.
    func askNewPIN(forVaultAt path: String) async throws -> PIN {
        let description =
            "A new vault for passkeys\n\n\(SafeText(quoting: path))\n\nChoose a PIN of at least \(PIN.minimumLength) "
            + "characters. It opens the vault on this device only; nobody can recover it.\(warning)"
        do {
            let secret = try await pinentry.getNewPIN(
                title: Self.title,
                description: description,
                timeout: Self.patience
            ) { secret in
                guard let pin = Self.pin(secret) else { return "Type 1 to \(PIN.maximumBytes) bytes" }
                return pin.isLongEnough ? nil : "At least \(PIN.minimumLength) characters"
            }
            guard let pin = Self.pin(secret) else { throw CommandFailure("no PIN was chosen", status: .notPermitted) }
            return pin
        } catch let error as PinentryError {
            switch error {
            case .cancelled, .tooManyTries:
                throw AlreadyShownFailure("no PIN was chosen; no vault was made", status: .notPermitted)
            case .timedOut: throw CommandFailure("nobody chose a PIN in time; no vault was made", status: .temporary)
            case .takenDown:
                await PromptInterruption.takesPlace()
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
        let made = age.map { ", with a code shown \(CodeAge.words($0)) ago" } ?? ""
        let description = "\(site)\n\n\(what)\nAsked \(way.words)\(made).\(warning)"
        var complaint: String?
        if case .wrong(let attemptsLeft) = problem { complaint = "Wrong PIN; \(attemptsLeft) more before a wait" }
        do {
            for _ in 0..<Authenticator.pinAttempts {
                let secret = try await pinentry.getPIN(
                    title: Self.title,
                    description: description,
                    prompt: "PIN:",
                    error: complaint,
                    timeout: Self.patience
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
                timeout: Self.patience
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
                    timeout: Self.patience
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

    func tell(_ notice: Notice, relyingParty: RelyingPartyID) async throws(UserRefusal) {
        let text =
            switch notice {
            case .noPasskey: "None of the passkeys here is one that this site asks for."
            case .alreadyRegistered: "There is a passkey for this site already; no other is needed."
            }
        do {
            try await pinentry.message(
                title: Self.title,
                description: "\(relyingParty)\n\n\(text)\(warning)",
                timeout: Self.patience
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
        case PinentryError.cancelled: return .declined
        case PinentryError.takenDown:
            // Who asked us is cancelled then, and says so instead of this.
            await PromptInterruption.takesPlace()
            return .declined
        case PinentryError.timedOut: return .timedOut
        case let error as PinentryError: return .unavailable(error.sentence)
        default: return .unavailable("the question could not be asked: \(error)")
        }
    }
}
