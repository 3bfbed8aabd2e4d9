// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import SSHTestSupport
import Testing

@testable import HybridSSHAgent

@Suite("The lock")
struct LockTests {
    private let secret = Self.passphrase("secret")
    private let start = ContinuousClock.now

    private static func passphrase(_ text: String) -> SecretBytes {
        Array(text.utf8).withUnsafeBytes { SecretBytes(copying: $0) }
    }

    @Test("Only the passphrase unlocks the agent")
    func passphrases() {
        var lock = AgentLock()
        #expect(!lock.isLocked)
        let first = lock.lock(secret)
        #expect(first && lock.isLocked)
        let second = lock.lock(secret)
        #expect(!second, "it is locked already")
        var now = start
        for wrong in ["", "secre", "secrets", "Secret", "secret\0"] {
            let delay = lock.unlock(Self.passphrase(wrong), at: now)
            #expect(delay != nil && lock.isLocked, "\(wrong)")
            now = now.advanced(by: delay ?? .zero)
        }
        #expect(lock.unlock(secret, at: now) == nil)
        #expect(!lock.isLocked)
        #expect(lock.unlock(secret, at: now) == .zero, "it is not locked")
    }

    @Test("An empty passphrase does not lock the agent")
    func emptyPassphrase() {
        var lock = AgentLock()
        let isAccepted = lock.lock(Self.passphrase(""))
        #expect(!isAccepted && !lock.isLocked)
    }

    @Test("Each failure delays the next attempt by another 0.1 s, up to 10 s, and success resets the delay")
    func delays() {
        var lock = AgentLock()
        _ = lock.lock(secret)
        var now = start
        for failure in 1...120 {
            let delay = lock.unlock(Self.passphrase("x"), at: now)
            #expect(delay == .milliseconds(100 * min(failure, 100)))
            now = now.advanced(by: delay ?? .zero)
        }
        #expect(lock.unlock(secret, at: now) == nil)
        _ = lock.lock(secret)
        #expect(lock.unlock(Self.passphrase("x"), at: now) == .milliseconds(100))
    }

    @Test("An attempt during the delay fails, even with the passphrase")
    func parallelAttempts() {
        var lock = AgentLock()
        _ = lock.lock(secret)
        _ = lock.unlock(Self.passphrase("x"), at: start)
        let early = start.advanced(by: .milliseconds(40))
        #expect(lock.unlock(secret, at: early) == .milliseconds(60))
        #expect(lock.isLocked)
        #expect(lock.unlock(secret, at: start.advanced(by: .milliseconds(100))) == nil)
    }

    @Test("A locked agent lists no keys and signs nothing, but still verifies bindings")
    func lockedAgent() throws {
        let passkey = try TestPasskey()
        let server = TestServer()
        let session = TestServer.session(1)
        var state = AgentState(keys: [try passkey.agentKey()])
        var client = TestClient()
        let sign = try passkey.sign(try passkey.login(session, hostKey: server.blob))
        #expect(try client.send([22] + Wire.string("secret"), to: &state).type == 6)
        #expect(try client.send([11], to: &state).reply?.bytes[4...] == [12, 0, 0, 0, 0])
        #expect(try client.send(server.bind(session), to: &state).type == 6)
        #expect(try client.send(sign, to: &state).refusal == .locked)
        var other = TestClient()
        #expect(try other.send(sign, to: &state).refusal == .locked)
        let reply = try other.send([23] + Wire.string("Secret"), to: &state).reply
        #expect(reply?.bytes[4] == 5 && reply?.delay == .milliseconds(100))
        try other.connection.receive(Wire.string([23] + Wire.string("secret")))
        #expect(try other.connection.next(&state, at: other.now.advanced(by: .seconds(1)))?.type == 6)
        let purpose = try client.send(sign, to: &state).request?.purpose
        guard case .login(_, let host, _)? = purpose else { throw SignedDataError.method }
        #expect(host == (try server.hostKey))
    }
}
