// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridAuthenticator
package import HybridCommandSupport
package import HybridDBus
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads

/// The service that holds vault keys after a PIN, and releases one for each match of a finger.
///
/// The agent verifies the finger itself: callers could lie about it. It serves this user only. The client's end of the
/// connection cancels a verification.
package final class VaultAgent: Sendable {
    /// Maximum number of connections; further ones are closed.
    static let maximumConnections = 16
    /// Time for a finger to match.
    package static let matchTimeout = Duration.seconds(30)
    /// Time for a client to send its request.
    private static let requestTimeout = Duration.seconds(5)

    /// The reports of the service, without IDs.
    package typealias Report = @Sendable (String) -> Void

    private let custody: Locked<KeyCustody>
    private let bus: BusAddress
    private let matchTimeout: Duration
    private let now: @Sendable () -> BootTime
    private let report: Report
    private let connections = Locked(0)

    /// Creates an agent without keys.
    ///
    /// - Parameters:
    ///   - survivesSuspend: True if keys are kept while the computer is suspended.
    ///   - bus: The address of fprintd's and logind's bus.
    ///   - matchTimeout: Time for a finger to match, in place of 30 s.
    ///   - now: Returns the present time.
    ///   - report: Called with lines for the journal.
    package init(
        survivesSuspend: Bool,
        bus: BusAddress = .system,
        matchTimeout: Duration = VaultAgent.matchTimeout,
        now: @escaping @Sendable () -> BootTime = { .now },
        report: @escaping Report
    ) {
        custody = Locked(KeyCustody(survivesSuspend: survivesSuspend))
        self.bus = bus
        self.matchTimeout = matchTimeout
        self.now = now
        self.report = report
    }

    /// Serves connections until the task is canceled; then all keys are discarded.
    ///
    /// - Parameters:
    ///   - socket: The listening socket, which stays open.
    ///   - ready: Called when connections are accepted.
    /// - Throws: ``CommandFailure`` if the process has no descriptors left.
    package func run(on socket: ServiceSocket, ready: @Sendable () -> Void) async throws {
        guard let stopper = Waker() else { throw CommandFailure("no file descriptors left", status: .unavailable) }
        let (accepted, continuation) = AsyncStream.makeStream(of: CInt.self)
        let isStarted = DedicatedThread.start { [self] in
            AcceptLoop.run(on: socket.descriptor, until: stopper.descriptor) { descriptor, peer in
                let mayEnter = peer.user == geteuid() && connections.increment(upTo: Self.maximumConnections)
                if mayEnter { continuation.yield(descriptor) } else { close(descriptor) }
            }
            continuation.finish()
        }
        guard isStarted else { throw CommandFailure("no thread can be started", status: .unavailable) }
        ready()
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.observeLogins() }
                group.addTask { await self.discardOldKeys() }
                for await descriptor in accepted {
                    group.addTask {
                        await self.serve(descriptor)
                        close(descriptor)
                        self.connections.withLock { $0 -= 1 }
                    }
                }
                group.cancelAll()
            }
        } onCancel: {
            stopper.wake()
        }
        custody.withLock { $0.discardAll(because: .noKey) }
    }

    /// Answers the request of one connection.
    private func serve(_ descriptor: CInt) async {
        guard let waker = Waker() else { return }
        let stream = VaultAgentStream(descriptor: descriptor, waker: waker)
        let reply: VaultAgentReply
        do throws(FingerprintFailure) {
            let request = try await DedicatedThread.run { () throws(FingerprintFailure) in
                let bytes = try stream.read(before: .now + Self.requestTimeout)
                return try withExtendedLifetime(bytes) { bytes throws(FingerprintFailure) in
                    try VaultAgentRequest(UnsafeRawBufferPointer(bytes.memory))
                }
            }
            reply = try await answer(request, over: stream)
        } catch {
            reply = .failed(error)
        }
        stream.send(reply.frame)
    }

    private func answer(
        _ request: VaultAgentRequest,
        over stream: VaultAgentStream
    ) async throws(FingerprintFailure) -> VaultAgentReply {
        switch request {
        case .status:
            return custody.withLock { custody in
                custody.expire(at: now())
                return .status(VaultAgentStatus(held: custody.held(at: now()), misses: custody.misses))
            }
        case .forget(let vault):
            custody.withLock { $0.discard(vault, because: .noKey) }
            return .done
        case .hold(let vault, let key, let isTest, let fingers):
            let (enrolled, isSystemBus) = try await FingerprintSensor.open(on: bus) {
                sensor throws(FingerprintFailure) in (try await sensor.enrolledFingers(), sensor.isOnSystemBus)
            }
            guard isTest || isSystemBus else { throw .busUnverified }
            try custody.withLock { custody throws(FingerprintFailure) in
                try custody.hold(vault, key, isTest: isTest, recorded: fingers, enrolled: enrolled, at: now())
            }
            report("a vault key is held for fingerprints, for \(KeyCustody.lifetimeHours) hours")
            return .done
        case .release(let vault):
            let key = try await release(vault, over: stream)
            report("a finger matched; the vault key was released for one request")
            guard let released = key.withUnsafeBytes({ StoreKey(bytes: $0) }) else { throw .noKey }
            return .key(released)
        }
    }

    /// Verifies a finger and returns the key; the end of the connection cancels the verification.
    private func release(
        _ vault: VaultID,
        over stream: VaultAgentStream
    ) async throws(FingerprintFailure) -> LockedMemory {
        let result = await withTaskGroup(of: Result<LockedMemory, FingerprintFailure>.self) { group in
            group.addTask {
                do throws(FingerprintFailure) {
                    return .success(try await self.verify(vault) { stream.send(VaultAgentReply.progress($0).frame) })
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                await stream.waitForPeer()
                return .failure(.cancelled)
            }
            let first = await group.next() ?? .failure(.cancelled)
            group.cancelAll()
            // The sensor is released before the reply.
            await group.waitForAll()
            return first
        }
        return try result.get()
    }

    private func verify(
        _ vault: VaultID,
        _ progress: @escaping @Sendable (FingerprintSensor.Event) -> Bool
    ) async throws(FingerprintFailure) -> LockedMemory {
        // The cause that needs the PIN is reported even if there is no sensor.
        try custody.withLock { custody throws(FingerprintFailure) in
            try custody.checkAvailability(of: vault, at: now())
        }
        return try await FingerprintSensor.open(on: bus) { sensor throws(FingerprintFailure) in
            let permit = try custody.withLock { custody throws(FingerprintFailure) in
                try custody.begin(vault, isSystemBus: sensor.isOnSystemBus, at: now())
            }
            defer { custody.withLock { $0.end(permit) } }
            try await sensor.whileClaimed { sensor throws(FingerprintFailure) in
                let enrolled = try await sensor.enrolledFingers()
                try custody.withLock { custody throws(FingerprintFailure) in
                    try custody.check(permit, enrolled: enrolled)
                }
                try await sensor.verify(timeout: matchTimeout) { event in
                    var mayContinue = true
                    if event == .miss {
                        mayContinue = self.custody.withLock { custody in
                            custody.miss()
                            return !custody.isEmpty
                        }
                    }
                    return progress(event) && mayContinue
                }
            }
            return try custody.withLock { custody throws(FingerprintFailure) in
                try custody.redeem(permit, at: now())
            }
        }
    }

    /// Discards keys that are too old, also without requests.
    private func discardOldKeys() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(600), tolerance: .seconds(60))
            custody.withLock { $0.expire(at: now()) }
        }
    }

    /// Discards keys at a suspend and after a logout; without logind, the clocks reveal a suspend at the next request.
    private func observeLogins() async {
        while !Task.isCancelled {
            try? await LoginObserver.observe(on: bus) { event in
                self.custody.withLock { custody in
                    switch event {
                    case .suspend: custody.suspend()
                    case .loggedOut: custody.discardAll(because: .loggedOut)
                    }
                }
            }
            try? await Task.sleep(for: .seconds(60))
        }
    }
}
