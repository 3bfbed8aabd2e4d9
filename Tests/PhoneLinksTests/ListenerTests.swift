// SPDX-License-Identifier: Apache-2.0

import HybridDataChannel
import HybridSystemBus
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

    @Test("Only close code 1012 asks for an early reconnection")
    func causes() {
        #expect(ReconnectDelay.Cause(TunnelError.closed(code: 1012)) == .requested)
        for error in [TunnelError.closed(code: 1001), .closed(code: 1008), .connectionLost, .relayBusy] {
            #expect(ReconnectDelay.Cause(error) == .failure)
        }
    }

    @Test("A resume is noticed, and the beginning of a suspend is not")
    func resume() async throws {
        try await PrivateBus.run { bus in
            let logind = try await BusConnection.connect(to: bus.busAddress)
            #expect(try await logind.requestName(ResumeObserver.name))
            let resumes = Locked(0)
            let observing = Task {
                try await ResumeObserver.observe(on: bus.busAddress) { resumes.withLock { $0 += 1 } }
            }
            @Sendable func emit(_ isBeginning: Bool) {
                logind.emit(ResumeObserver.path, ResumeObserver.interface, ResumeObserver.member, [.bool(isBeginning)])
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
}
