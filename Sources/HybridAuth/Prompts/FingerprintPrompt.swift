// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads
internal import HybridVault
internal import HybridVaultAgent

/// A fingerprint in place of the PIN, for one vault that allows it.
struct FingerprintPrompt: Sendable {
    /// The line of the prompt.
    static let invitation = "Touch the fingerprint sensor, or type the PIN."

    private let agent: VaultAgentClient
    private let vault: VaultID
    private let isTest: Bool
    private let progress: AnswerProgress
    /// The transfer of the key to the agent.
    private let holding = Locked<Task<Void, Never>?>(nil)

    /// Creates an offer; returns `nil` if the user did not allow fingerprints for the vault.
    init?(_ vault: Vault, _ progress: AnswerProgress) {
        guard vault.allowsFingerprint, let id = VaultID(vault.id) else { return nil }
        self.init(VaultAgentClient(environment: ProcessEnvironment.variables), id, isTest: vault.isTest, progress)
    }

    /// Creates an offer for a vault whose key an agent may have.
    init(_ agent: VaultAgentClient, _ vault: VaultID, isTest: Bool, _ progress: AnswerProgress) {
        (self.agent, self.vault, self.isTest, self.progress) = (agent, vault, isTest, progress)
    }

    /// True if the agent has the key, so that a finger suffices.
    var isReady: Bool {
        get async {
            guard let status = try? await agent.status() else { return false }
            return status.held.contains { $0.vault == vault }
        }
    }

    /// The answer to a prompt that a finger may replace.
    enum Answer<Failure: Error>: Sendable {
        /// A finger matched.
        case finger(StoreKey)
        /// The user answered or closed the prompt.
        case typed(Result<PinentrySecret, Failure>)
        /// No finger will match; the prompt was closed to show the reason.
        case failed(String)
    }

    private enum Part<Failure: Error>: Sendable {
        case typed(Result<PinentrySecret, Failure>)
        case finger(Result<StoreKey, FingerprintFailure>)
    }

    /// Shows a prompt while the sensor waits for a finger; the first answer ends both.
    ///
    /// - Parameters:
    ///   - prompt: Shows the prompt, and ends when its task is canceled.
    ///   - willCancel: Called before the prompt is canceled; true if a finger matched, false if none will.
    func race<Failure: Error>(
        _ prompt: @escaping @Sendable () async throws(Failure) -> PinentrySecret,
        willCancel: @Sendable (_ isMatch: Bool) -> Void = { _ in }
    ) async -> Answer<Failure> {
        await withTaskGroup(of: Part<Failure>.self) { group in
            group.addTask {
                do throws(Failure) { return .typed(.success(try await prompt())) } catch {
                    return .typed(.failure(error))
                }
            }
            group.addTask {
                do throws(FingerprintFailure) {
                    return .finger(.success(try await agent.release(vault, show)))
                } catch {
                    return .finger(.failure(error))
                }
            }
            // The prompt always ends, so there is an answer.
            var answer = Answer<Failure>.failed("Type the PIN")
            while let part = await group.next() {
                if let decided = decide(part) {
                    answer = decided
                    break
                }
            }
            switch answer {
            case .finger: willCancel(true)
            case .failed: willCancel(false)
            case .typed: break
            }
            // The sensor is released and the prompt is gone before the next one is shown.
            group.cancelAll()
            await group.waitForAll()
            return answer
        }
    }

    /// Returns the answer that a part gives; `nil` if the prompt stays.
    private func decide<Failure>(_ part: Part<Failure>) -> Answer<Failure>? {
        switch part {
        case .typed(let result): return .typed(result)
        case .finger(.success(let key)): return .finger(key)
        case .finger(.failure(let failure)):
            // The user may be typing, and the prompt says what remains.
            guard failure != .timedOut, failure != .cancelled else { return nil }
            progress.notify(failure.code, failure.sentence)
            return .failed(failure.message.prefix(1).uppercased() + failure.message.dropFirst())
        }
    }

    @Sendable private func show(_ event: FingerprintSensor.Event) {
        switch event {
        case .waiting: progress.notify("touch-sensor", "touch the fingerprint sensor, or type the PIN")
        case .retry: progress.notify("touch-again", "the finger was not read; touch the sensor again")
        case .miss: progress.notify("finger-not-matched", "the finger did not match")
        }
    }

    /// Begins to pass the key of a vault, which its PIN has opened, to the agent; the request does not wait for it.
    func hold(_ unlocked: UnlockedVault) {
        holding.withLock { holding in
            guard holding == nil else { return }
            holding = Task {
                do {
                    guard let (key, fingers) = try await unlocked.keyForFingerprint() else { return }
                    try await agent.hold(key, of: vault, isTest: isTest, fingers: fingers)
                } catch let failure as FingerprintFailure {
                    progress.notify(failure.code, "no fingerprint next time: \(failure.sentence)")
                } catch let failure as VaultError {
                    // A request that has ended already has locked the vault.
                    guard failure != .locked else { return }
                    progress.notify("fingerprint-record", "no fingerprint next time: \(failure.sentence)")
                } catch {
                    return
                }
            }
        }
    }

    /// Waits until the agent has the key, or cannot get it.
    func finish() async { await holding.withLock { $0 }?.value }
}
