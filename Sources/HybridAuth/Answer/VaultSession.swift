// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridTPM
internal import HybridThreads
internal import HybridVault

/// The vault during a session with another device, whose requests its passkeys answer.
struct VaultSession: Sendable {
    /// The vault's directory; `nil` for the default.
    let path: String?
    /// The TPM that may protect the PIN.
    let tpm: TPMAddress
    let progress: AnswerProgress

    /// Opens the vault, or creates it, and calls `body` with the handlers of a session.
    ///
    /// - Throws: The cause, unless a request succeeds.
    func withHandlers(
        asking prompts: SignInPrompts,
        _ radio: BluetoothRadio,
        _ body: (AuthenticatorSession.Handlers) async throws -> AuthenticatorOutcome
    ) async throws {
        let location = try VaultLocation(path: path, tpm: tpm)
        let vault = try await Vault.openOrCreate(at: location, under: radio, notify: progress.notify) {
            try await prompts.askNewPIN(forVaultAt: location.directory)
        }
        let fingerprint = FingerprintPrompt(vault, progress)
        var prompts = prompts
        prompts.context.fingerprint = fingerprint
        let store = ReportingVault(vault: vault, context: prompts.context, progress: progress)
        let authenticator = Authenticator(store: store, user: prompts)
        let outcome = try await withCleanup {
            await fingerprint?.finish()
            // The outcome of the last request belongs in the history, no matter how the session ended.
            await authenticator.sessionEnded()
            if await authenticator.keptReplaced {
                progress.notify("old-passkey-stays", AnswerOutcome.replacementUnconfirmed)
            }
            if let failure = await authenticator.recordingFailure {
                progress.notify("passkey-not-recorded", AnswerOutcome.notRecorded(failure))
            }
            if let failure = await authenticator.historyFailure {
                progress.notify("history-not-written", AnswerOutcome.historyNotWritten(failure))
            }
        } of: {
            try await body(handlers(authenticator, prompts.context.transport))
        }
        try await AnswerOutcome(
            authenticator: authenticator,
            transport: prompts.context.transport.kind,
            isLinked: prompts.context.computer != nil
        ).check(outcome)
    }

    private func handlers(
        _ authenticator: Authenticator,
        _ transport: ClientTransport
    ) -> AuthenticatorSession.Handlers {
        AuthenticatorSession.Handlers(
            events: { event in
                transport.update(event)
                progress.show(event)
            },
            answer: { await authenticator.answer($0) },
            sent: { await authenticator.responseSent() },
            delivered: {
                do throws(StoreFailure) {
                    try await authenticator.responseDelivered()
                } catch {
                    progress.notify("old-passkey-stays", AnswerOutcome.notDeleted(error))
                }
            }
        )
    }
}

/// A vault that reports the files it ignores when it is unlocked, and tells the prompts that it is.
private struct ReportingVault: CredentialStore {
    let vault: Vault
    let context: SignInContext
    let progress: AnswerProgress

    func unlock(with pin: PIN) async throws(UnlockFailure) -> any UnlockedCredentialStore {
        let unlocked = try await vault.unlockVault(with: pin)
        report(unlocked)
        context.fingerprint?.hold(unlocked)
        return unlocked
    }

    func unlock(with key: StoreKey) async throws(UnlockFailure) -> any UnlockedCredentialStore {
        let unlocked = try await vault.unlockVault(with: key)
        report(unlocked)
        return unlocked
    }

    private func report(_ unlocked: UnlockedVault) {
        context.unlocked.withLock { $0 = unlocked }
        for line in unlocked.warnings.lines { progress.notify("vault-file-ignored", line) }
    }
}

extension BluetoothRadio {
    /// Opens the radio for a session, reports if it is virtual, calls `body`, and closes the radio.
    static func whileOpen<Outcome: Sendable>(
        _ adapter: AdapterName?,
        _ progress: AnswerProgress,
        _ body: (BluetoothRadio) async throws -> Outcome
    ) async throws -> Outcome {
        let radio = try await open(adapter: adapter, for: .advertiser)
        if radio.isVirtual { progress.notify("virtual-radio", "VIRTUAL RADIO: no proximity proof") }
        if let unverified = radio.unverifiedBus { progress.notify("unverified-bus", unverified) }
        return try await withCleanup {
            await radio.close()
        } of: {
            try await body(radio)
        }
    }
}

extension Vault {
    /// Opens the vault for a session.
    ///
    /// If there is no vault, asks for a new PIN and creates one, before any network traffic.
    static func openOrCreate(
        at location: VaultLocation,
        under radio: BluetoothRadio,
        notify: (_ name: String, _ text: String, _ details: [(name: String, value: String)]) -> Void,
        askingPIN askPIN: () async throws -> PIN
    ) async throws -> Vault {
        do throws(VaultError) {
            return try open(at: location, virtualRadio: radio.isVirtual)
        } catch .doesNotExist {
            // In a container with the user's home, the vault's path is that of the host.
            if let cause = radio.unverifiedBus {
                throw CommandFailure(
                    "there is no vault, and none is created under a virtual radio: \(cause)",
                    status: .notPermitted
                )
            }
            let pin = try await askPIN()
            let vault = try await create(at: location, pin: pin, isTest: radio.isVirtual)
            notify(
                "vault-made",
                "created a new vault at \(location.directory); it opens only on this device, so a passkey that is "
                    + "nowhere else is lost with it",
                []
            )
            return vault
        } catch {
            throw failure(error, under: radio)
        }
    }

    /// Opens an existing vault for a session.
    static func open(at location: VaultLocation, under radio: BluetoothRadio) throws -> Vault {
        do throws(VaultError) {
            return try open(at: location, virtualRadio: radio.isVirtual)
        } catch {
            throw failure(error, under: radio)
        }
    }

    private static func failure(_ error: VaultError, under radio: BluetoothRadio) -> CommandFailure {
        if case .realVaultRefusesVirtualRadio = error, let cause = radio.unverifiedBus {
            return CommandFailure("this vault does not open under a virtual radio: \(cause)", status: error.status)
        }
        return CommandFailure(error)
    }
}
