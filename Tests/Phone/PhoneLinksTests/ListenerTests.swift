// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridCaBLE
import HybridCommandSupport
import HybridDBus
import HybridDataChannel
import HybridNetwork
import HybridPrimitives
import HybridProgram
import HybridThreads
import HybridVirtualBlueZ
import TestSupport
import Testing

@testable import HybridPhoneLinks

@Suite("The listener for linked computers", .timeLimit(.minutes(5)))
struct ListenerTests {
    @Test("Delays are random within limits that double with each failure")
    func delays() {
        var random = SeededGenerator()
        for (cause, first) in [(ReconnectDelay.Cause.requested, 5), (.failure, 40)] {
            var longest: [Duration] = []
            for attempt in 0..<10 {
                let limit = Duration.seconds(min(first << attempt, ReconnectDelay.maximum))
                var maximum = Duration.zero
                for _ in 0..<200 {
                    var delay = ReconnectDelay()
                    for _ in 0..<attempt { _ = delay.next(cause, using: &random) }
                    let next = delay.next(cause, using: &random)
                    #expect(next >= .seconds(1) && next <= limit, "\(random)")
                    maximum = max(maximum, next)
                }
                #expect(maximum > limit / 2, "\(random)")
                longest.append(maximum)
            }
            #expect(longest.last.map { $0 <= .seconds(ReconnectDelay.maximum) } == true)
        }
        var delay = ReconnectDelay()
        for _ in 0..<9 { _ = delay.next(.failure, using: &random) }
        delay.reset()
        #expect(delay.next(.requested, using: &random) <= .seconds(5))
    }

    @Test("Close code 1012, and an orderly end of a connection that lasted, permit an early reconnection")
    func causes() {
        for duration in [nil, .zero, .seconds(30)] as [Duration?] {
            #expect(ReconnectDelay.Cause(TunnelError.closed(code: 1012), after: duration) == .requested)
        }
        // Balancers end connections with a close frame or without.
        for error in [TunnelError.closed(code: 1001), .closed(code: 1008), .connectionLost] {
            #expect(ReconnectDelay.Cause(error, after: nil) == .failure)
            #expect(ReconnectDelay.Cause(error, after: .seconds(9)) == .failure)
            #expect(ReconnectDelay.Cause(error, after: .seconds(29)) == .requested)
        }
        for error in [TunnelError.network(.relayBusy), .relaySilent, .relayMisbehaved("HOW")] {
            #expect(ReconnectDelay.Cause(error, after: .seconds(300)) == .failure)
        }
    }

    @Test("Behind a balancer that ends connections after 30 seconds, a phone is reachable most of the time")
    func balancer() {
        var random = SeededGenerator()
        var (delay, waited) = (ReconnectDelay(), Duration.zero)
        for _ in 0..<100 {
            let cause = ReconnectDelay.Cause(TunnelError.connectionLost, after: .seconds(29))
            delay.reset()
            waited += delay.next(cause, using: &random)
        }
        #expect(waited < .seconds(100 * 5), "\(random)")
    }

    @Test(
        "Three connections in a row that something else than the relay has ended are reported, however short",
        arguments: [2, 9, 30]
    )
    func cuts(seconds: Int) {
        let duration = Duration.seconds(seconds)
        var cuts = ConnectionCuts()
        func reports(after duration: Duration?) -> [Bool] {
            let errors = [TunnelError.connectionLost, .closed(code: 1001), .connectionLost, .connectionLost]
            return errors.map { cuts.isReported($0, after: duration) }
        }
        #expect(reports(after: duration) == [false, false, true, false])
        for other in [TunnelError.closed(code: 1012), .relaySilent, .network(.relayBusy)] {
            let isReported = cuts.isReported(other, after: duration)
            #expect(!isReported)
            #expect(reports(after: duration) == [false, false, true, false])
        }
        // No connection was proved, or the relay ends it after ten minutes.
        for other in [nil, .seconds(600)] as [Duration?] { #expect(!reports(after: other).contains(true)) }
    }

    @Test("Only time renews the number of wake-ups that a relay may deliver")
    func budget() {
        let start = ContinuousClock.now
        var budget = WakeUpBudget()
        #expect(budget.isFull(at: start))
        for second in 1...9 { budget.spend(at: start + .seconds(second)) }
        #expect(!budget.isSpent(at: start + .seconds(9)) && !budget.isFull(at: start + .seconds(608)))
        #expect(budget.isFull(at: start + .seconds(609)))
        budget.spend(at: start + .seconds(600))
        #expect(budget.rest(at: start + .seconds(700)) == .seconds(500))
        #expect(!budget.isSpent(at: start + .seconds(1200)))
        // The first one no longer counts.
        budget = WakeUpBudget()
        for second in [0, 1, 2, 3, 4, 5, 6, 7, 8, 600] { budget.spend(at: start + .seconds(second)) }
        #expect(!budget.isSpent(at: start + .seconds(600)))
        for _ in 0..<WakeUpBudget.maximumReceived { budget.receive(at: start + .seconds(600)) }
        #expect(budget.rest(at: start + .seconds(601)) == .seconds(599))
    }

    @Test("A resume is noticed, and the beginning of a suspend is not")
    func resume() async throws {
        try await PrivateBus.run { bus in
            let logind = try await BusConnection.connect(to: bus.busAddress)
            #expect(try await logind.requestName(Logind.name))
            let resumes = Locked(0)
            let observing = Task {
                try await ResumeObserver.observe(on: bus.busAddress) { resumes.withLock { $0 += 1 } }
            }
            @Sendable func emit(_ isBeginning: Bool) {
                logind.emit(Logind.path, Logind.manager, ResumeObserver.member, [.bool(isBeginning)])
            }
            // Signals before the subscription are lost.
            try await Waiting.until("a resume") {
                emit(false)
                return resumes.withLock { $0 } > 0
            }
            observing.cancel()
            _ = try? await observing.value
            await logind.close()
        }
    }

    @Test("A change of a folder is noticed")
    func changes() async throws {
        try await TestFolder.with { folder in
            try await FolderChanges.watch(folder.path) { changes in
                let store = try PhoneLinkStore(path: folder.path)
                try store.add(try Sample.record())
                for await _ in changes { break }
            }
        }
    }

    @Test("A folder that is removed or renamed is watched again", arguments: [true, false])
    func removedFolder(isRemoved: Bool) async throws {
        try await TestFolder.with { folder in
            let path = folder.path + "/links"
            try #require(mkdir(path, 0o700) == 0)
            try await FolderChanges.watch(path, every: .milliseconds(10)) { changes in
                let count = AwaitableState(0)
                let counting = Task { for await _ in changes { count.change { $0 += 1 } } }
                try #require(isRemoved ? rmdir(path) == 0 : rename(path, path + "-old") == 0)
                try await Waiting.until("the removal to be noticed") { count.read { $0 } > 0 }
                let noticed = count.read { $0 }
                try #require(mkdir(path, 0o700) == 0)
                try await Waiting.until("the new folder to be noticed") { count.read { $0 } > noticed }
                // Not an attempt that came between the two: files are noticed now.
                let watched = count.read { $0 }
                try PhoneLinkStore(path: path).add(try Sample.record())
                try await Waiting.until("a change to be noticed") { count.read { $0 } > watched }
                counting.cancel()
            }
        }
    }

    @Test("A folder that can't be watched is checked after each interval")
    func unwatchable() async throws {
        try await TestFolder.with { folder in
            let path = folder.path + "/file"
            let descriptor = creat(path, 0o600)
            try #require(descriptor >= 0)
            close(descriptor)
            // IN_ONLYDIR refuses a file, as a limit of the system refuses a folder.
            await FolderChanges.watch(path, every: .milliseconds(10)) { changes in
                var count = 0
                for await _ in changes {
                    count += 1
                    if count == 3 { break }
                }
            }
        }
    }

    @Test("A relay that confirms nothing doesn't hold a revocation for ever")
    func silentRelay() async throws {
        let domain = try #require(TunnelDomain(id: 266))
        let server = try UnresponsiveSocket()
        let override = try #require(ConnectTo("\(domain.host):443:127.0.0.1:\(server.port)") as ConnectTo?)
        let relay = RelayEndpoint(domain: domain, network: NetworkConfiguration(connectTo: [override]))
        let record = try Sample.record()
        await #expect(throws: CommandFailure.self) {
            try await LinkListeners.revoke(
                record,
                at: LinkListeners.Destination(relay: relay, bearerToken: nil),
                within: .milliseconds(200)
            )
        }
    }
}
