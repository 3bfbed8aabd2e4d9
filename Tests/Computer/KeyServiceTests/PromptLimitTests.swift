// SPDX-License-Identifier: Apache-2.0

import Glibc
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
    let isLocked = Locked(false)
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
        let (now, signs, prompts, passkey, isLocked) = (now, signs, prompts, passkey, isLocked)
        let clock = { @Sendable in now.withLock { $0 } }
        return SigningService(clock: clock) { job in
            guard !isLocked.withLock({ $0 }) else { return .failure(.sessionLocked) }
            prompts.withLock { $0 += 1 }
            guard signs.withLock({ $0 }), let assertion = try? passkey.assertion(job.request.data.bytes) else {
                return .failure(.notSigned)
            }
            let signature = try? SSHSignature(
                derSignature: assertion.der,
                authenticatorData: assertion.authenticatorData,
                by: job.request.key.publicKey,
                over: job.request.data
            )
            return signature.map(Result.success) ?? .failure(.notSigned)
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

    @Test("Requests during a locked session are refused with a reason, and do not count")
    func locked() async throws {
        let service = makeService()
        isLocked.withLock { $0 = true }
        for _ in 0..<10 { #expect(try await ask(service, local) == .sessionLocked) }
        isLocked.withLock { $0 = false }
        for _ in 0..<3 { #expect(try await ask(service, local) == .notSigned) }
        #expect(try await ask(service, local) == .tooManyPrompts)
    }

    @Test("A request counts as a guest's if it is forwarded, its origin is unknown, or its client is sandboxed")
    func guests() throws {
        var state = AgentState(keys: [try passkey.agentKey(allowsForwardedMessages: true)])
        var client = TestClient()
        let unbound = try #require(
            try client.send(try passkey.sign(try passkey.login(TestServer.session(1))), to: &state).request
        )
        let own = PeerCredentials(processID: getpid(), user: 1000)
        // The test can't see the files of a process that does not exist.
        let hidden = PeerCredentials(processID: 0, user: 1000)
        for (request, client, isForGuest) in [
            (local, own, false), (forwarded, own, true), (unbound, own, true), (local, hidden, true),
            (local, PeerCredentials(processID: 0, user: 0), false),
        ] {
            let cancellation = try #require(SigningCancellation())
            let job = SigningJob(request: request, client: client, cancellation: cancellation) { _ in }
            #expect(job.isForGuest == isForGuest)
        }
    }

    @Test("Other hosts do not use up the prompts of this computer")
    func hosts() async throws {
        let service = makeService()
        for _ in 0..<3 { #expect(try await ask(service, forwarded) == .notSigned) }
        #expect(try await ask(service, forwarded) == .tooManyPrompts)
        #expect(try await ask(service, local) == .notSigned)
    }
}
