// SPDX-License-Identifier: Apache-2.0

import HybridCommandSupport
import HybridProgram
import HybridSSHAgent
import HybridThreads
import SSHTestSupport
import Testing

@testable import HybridKeyService

@Suite("The limit of prompts")
struct PromptLimitTests {
    let passkey: TestPasskey
    let local: SignRequest
    let forwarded: SignRequest
    let now = Locked(Duration.zero)
    let signs = Locked(false)
    let prompts = Locked(0)

    init() throws {
        passkey = try TestPasskey()
        var state = AgentState(keys: [try passkey.agentKey(allowsForwardedMessages: true)])
        let message = try passkey.sign(messageData())
        var (client, other) = (TestClient(), TestClient(isRestricted: true))
        local = try #require(try client.send(message, to: &state).request)
        forwarded = try #require(try other.send(message, to: &state).request)
    }

    private func makeService() -> SigningService {
        let (now, signs, prompts, passkey) = (now, signs, prompts, passkey)
        let clock = { @Sendable in now.withLock { $0 } }
        return SigningService(clock: clock) { job in
            prompts.withLock { $0 += 1 }
            guard signs.withLock({ $0 }), let assertion = try? passkey.assertion(job.request.data.bytes) else {
                return nil
            }
            return try? SSHSignature(
                derSignature: assertion.der,
                authenticatorData: assertion.authenticatorData,
                by: job.request.key.publicKey,
                over: job.request.data
            )
        }
    }

    /// Returns the reason why no signature was made; `nil` if one was made.
    private func ask(_ service: SigningService, _ request: SignRequest) async throws -> AgentRefusal? {
        let cancellation = try #require(SigningCancellation())
        let client = PeerCredentials(processID: 1, user: 0)
        let result = await withCheckedContinuation { continuation in
            let job = SigningJob(request: request, client: client, cancellation: cancellation) {
                continuation.resume(returning: $0)
            }
            if service.submit(job) == nil { job.complete(.failure(.locked)) }
        }
        switch result {
        case .success: return nil
        case .failure(let refusal): return refusal
        }
    }

    @Test("After three prompts without a signature, none opens for a minute")
    func limit() async throws {
        let service = makeService()
        for _ in 0..<3 { #expect(try await ask(service, local) == .notSigned) }
        for _ in 0..<20 { #expect(try await ask(service, local) == .tooManyPrompts) }
        #expect(prompts.withLock { $0 } == 3)
        now.withLock { $0 = .seconds(59) }
        #expect(try await ask(service, local) == .tooManyPrompts)
        now.withLock { $0 = .seconds(60) }
        #expect(try await ask(service, local) == .notSigned)
        #expect(prompts.withLock { $0 } == 4)
    }

    @Test("Signatures do not count")
    func signed() async throws {
        let service = makeService()
        signs.withLock { $0 = true }
        for _ in 0..<10 { #expect(try await ask(service, local) == nil) }
        signs.withLock { $0 = false }
        for _ in 0..<3 { #expect(try await ask(service, local) == .notSigned) }
        #expect(try await ask(service, local) == .tooManyPrompts)
    }

    @Test("Other hosts do not use up the prompts of this computer")
    func hosts() async throws {
        let service = makeService()
        for _ in 0..<3 { #expect(try await ask(service, forwarded) == .notSigned) }
        #expect(try await ask(service, forwarded) == .tooManyPrompts)
        #expect(try await ask(service, local) == .notSigned)
    }
}
