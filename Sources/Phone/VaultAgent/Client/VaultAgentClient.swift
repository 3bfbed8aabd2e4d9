// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import HybridAuthenticator
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads

/// A client of the vault agent; each call has a connection of its own.
package struct VaultAgentClient: Sendable {
    /// Time for a reply that needs no finger.
    private static let replyTimeout = Duration.seconds(15)

    /// The path of the agent's socket; `nil` without a runtime directory.
    package let path: String?

    /// Creates a client of the agent in the user's runtime directory, which `XDG_RUNTIME_DIR` names.
    package init(environment: [String: String]) { path = Self.defaultPath(environment) }

    /// Creates a client of the agent at a path.
    package init(path: String) { self.path = path }

    /// Returns the default path of the socket; `nil` without a runtime directory.
    package static func defaultPath(_ environment: [String: String]) -> String? {
        guard let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") else { return nil }
        return directory + "/hybrid-auth-agent.sock"
    }

    /// Passes the key of a vault to the agent, after its PIN has opened the vault.
    ///
    /// - Parameters:
    ///   - key: The vault key.
    ///   - vault: The vault.
    ///   - isTest: True for a test vault.
    ///   - fingers: The fingers that were recorded by `vault finger enable`, a valid list.
    /// - Throws: ``FingerprintFailure``; the key is then not held.
    package func hold(
        _ key: StoreKey,
        of vault: VaultID,
        isTest: Bool,
        fingers: [String]
    ) async throws(FingerprintFailure) {
        let reply = try await ask(within: Self.replyTimeout) {
            key.withUnsafeBytes { VaultAgentRequest.holdFrame(vault, key: $0, isTest: isTest, fingers: fingers) }
        }
        guard case .done = reply else { throw .malformed }
    }

    /// Waits for a match of a finger and returns the key of a vault, for one request.
    ///
    /// Cancellation closes the connection, and the agent releases the sensor.
    ///
    /// - Parameters:
    ///   - vault: The vault.
    ///   - report: Called with the progress, on another thread.
    /// - Throws: ``FingerprintFailure``.
    package func release(
        _ vault: VaultID,
        _ report: @escaping @Sendable (FingerprintSensor.Event) -> Void
    ) async throws(FingerprintFailure) -> StoreKey {
        let limit = VaultAgent.matchTimeout + Self.replyTimeout
        let reply = try await ask(within: limit, report) { VaultAgentRequest.frame(.release, vault) }
        guard case .key(let key) = reply else { throw .malformed }
        return key
    }

    /// Returns the state of the agent.
    ///
    /// - Throws: ``FingerprintFailure``; ``FingerprintFailure/agentMissing`` if there is none.
    package func status() async throws(FingerprintFailure) -> VaultAgentStatus {
        let reply = try await ask(within: Self.replyTimeout) { VaultAgentRequest.frame(.status) }
        guard case .status(let status) = reply else { throw .malformed }
        return status
    }

    /// Makes the agent discard the key of a vault.
    ///
    /// - Throws: ``FingerprintFailure``; ``FingerprintFailure/agentMissing`` if there is none, and thus no key.
    package func forget(_ vault: VaultID) async throws(FingerprintFailure) {
        let reply = try await ask(within: Self.replyTimeout) { VaultAgentRequest.frame(.forget, vault) }
        guard case .done = reply else { throw .malformed }
    }

    /// Sends a request and returns the last message of the reply, which is not a failure.
    private func ask(
        within limit: Duration,
        _ report: @escaping @Sendable (FingerprintSensor.Event) -> Void = { _ in },
        _ frame: @escaping @Sendable () -> SecretBytes
    ) async throws(FingerprintFailure) -> VaultAgentReply {
        guard let path, let waker = Waker() else { throw .agentMissing }
        let result = await withTaskCancellationHandler {
            await DedicatedThread.run {
                Result { () throws(FingerprintFailure) in
                    let descriptor = try Self.connect(to: path)
                    defer { close(descriptor) }
                    let stream = VaultAgentStream(descriptor: descriptor, waker: waker)
                    guard stream.send(frame()) else { throw .agentMissing }
                    return try Self.reply(over: stream, before: .now + limit, report)
                }
            }
        } onCancel: {
            waker.wake()
        }
        return try result.get()
    }

    private static func reply(
        over stream: VaultAgentStream,
        before deadline: ContinuousClock.Instant,
        _ report: (FingerprintSensor.Event) -> Void
    ) throws(FingerprintFailure) -> VaultAgentReply {
        while true {
            let bytes = try stream.read(before: deadline)
            switch withExtendedLifetime(bytes, { VaultAgentReply(UnsafeRawBufferPointer($0.memory)) }) {
            case .progress(let event): report(event)
            case .failed(let failure): throw failure
            case nil: throw .malformed
            case let reply?: return reply
            }
        }
    }

    private static func connect(to path: String) throws(FingerprintFailure) -> CInt {
        guard var address = UnixAddress(path: path) else { throw .agentMissing }
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw .agentMissing }
        // The agent gets a key: it must belong to this user. The service manager listens for it under the same user.
        guard address.withAddress({ Glibc.connect(descriptor, $0, $1) }) == 0,
            PeerCredentials(socket: descriptor)?.user == geteuid()
        else {
            close(descriptor)
            throw .agentMissing
        }
        return descriptor
    }
}
