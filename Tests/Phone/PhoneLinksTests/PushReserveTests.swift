// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridDataChannel
import HybridPrimitives
import HybridRelayCore
import HybridSession
import HybridThreads
import HybridVirtualBlueZ
import TestSupport
import Testing

@testable import HybridPhoneLinks

/// The subscription that a phone keeps in reserve, with a real relay that does not seal it.
@Suite("The push subscription in reserve", .timeLimit(.minutes(5)))
struct PushReserveTests {
    /// The relay's way to a push server that never answers.
    private final class SilentPushServer: PushClient {
        let posts = Locked(0)

        func origin(of endpoint: String) -> String? { "https://push.example" }

        func post(_ request: PushRequest) async -> PushResponse {
            posts.withLock { $0 += 1 }
            let (stream, _) = AsyncStream.makeStream(of: Void.self)
            for await _ in stream {}
            return .failed
        }
    }

    private struct Context: Sendable {
        let store: PhoneLinkStore
        let distributor: StandInDistributor
        let lines: Locked<[String]>

        func until(_ line: String, count: Int = 1) async throws {
            try await Waiting.until(line, evidence: "\(lines.withLock { $0 })") {
                lines.withLock { $0.count { $0 == line } } >= count
            }
        }
    }

    /// Adds a link with a subscription of its own to the phone of a folder.
    private static func addLink(_ label: String, in folder: TestFolder) throws -> StoredPhoneLink {
        let store = try PhoneLinkStore(path: folder.path + "/phone")
        let link = try Sample.link()
        let registration = try Sample.registration()
        try store.setReserve(PushReserve(domain: link.domain, registration: registration))
        let record = try #require(StoredPhoneLink(link, label: label, created: 1000, push: registration))
        try store.add(record)
        return record
    }

    /// Runs a phone's push service, and `body` at the same time.
    private static func preparing(
        _ folder: TestFolder,
        at relay: RelayEndpoint?,
        within limit: Duration,
        maintains: Bool = true,
        _ body: @Sendable (Context, PushRun) async throws -> Void
    ) async throws {
        try await PrivateBus.run { bus in
            try await StandInDistributor.serve(on: bus) { distributor in
                let phone = try TestPhone(in: folder)
                let lines = Locked<[String]>([])
                let service = PushService(
                    store: phone.store,
                    handler: phone.handler,
                    domain: phone.link.domain,
                    distributor: nil,
                    deviceName: "phone",
                    address: bus.busAddress,
                    sealingLimit: limit,
                    destination: { _ in
                        guard let relay else { throw PushFailure.noSessionBus }
                        return LinkListeners.Destination(relay: relay, bearerToken: nil)
                    },
                    report: { event in lines.withLock { $0.append(PushServiceTests.line(event)) } }
                )
                try await PushConnector.with(on: bus.busAddress, hearing: [StandInDistributor.name]) { connector in
                    let run = PushRun(service: service, connector: connector)
                    let tasks = [
                        Task { try await run.handleCalls() }, Task { if maintains { try await run.maintain() } },
                    ]
                    try await body(Context(store: phone.store, distributor: distributor, lines: lines), run)
                    for task in tasks {
                        task.cancel()
                        _ = try? await task.value
                    }
                }
            }
        }
    }

    @Test("A relay that never seals a subscription is left after a time limit")
    func silentRelay() async throws {
        try await TestFolder.with { folder in
            let server = SilentPushServer()
            let gateway = PushGateway(
                keys: try PushKeys(parsing: PushKeys.newFile()),
                subject: "mailto:operator@example.org",
                host: try #require(TunnelDomain(id: 266)).host,
                transport: server
            )
            try await RelayTests.relay(in: folder, push: gateway) { relay in
                try await Self.preparing(folder, at: relay, within: .seconds(3)) { context, _ in
                    try await Waiting.until("the relay's message") { server.posts.withLock { $0 } > 0 }
                    try await context.until("failed push-relay-silent")
                }
            }
        }
    }

    @Test("No change of the store but a forgotten link ends the delay after a failure")
    func delay() async throws {
        try await TestFolder.with { folder in
            let record = try Self.addLink("laptop", in: folder)
            try await Self.preparing(folder, at: nil, within: .seconds(60), maintains: false) { context, run in
                let (changed, isOver) = (AwaitableState(0), Locked(false))
                let waiting = Task {
                    await run.untilForgotten(besides: [], changed, since: 0)
                    isOver.withLock { $0 = true }
                }
                // Time in which the changes are noticed.
                for count in 1...5 {
                    changed.change { $0 += 1 }
                    context.distributor.deliver([0], token: "unknown")
                    try await context.until("ignored its token is unknown", count: count)
                }
                #expect(!isOver.withLock { $0 })
                try context.store.forget(record.id, at: 2000)
                changed.change { $0 += 1 }
                await waiting.value
            }
        }
    }

    @Test("A relay that fails for ever doesn't keep the service running")
    func givingUp() async throws {
        try await TestFolder.with { folder in
            let records = try (1...PushRun.maximumFailures).map { try Self.addLink("laptop \($0)", in: folder) }
            try await Self.preparing(folder, at: nil, within: .seconds(60)) { context, run in
                try await context.until("failed no-session-bus")
                #expect(!run.state.read { $0.isSettled })
                for record in records {
                    try context.store.forget(record.id, at: 2000)
                    try await context.until("unsubscribed \(record.label)")
                }
                #expect(run.state.read { $0.isSettled })
            }
        }
    }

    @Test("The service does not end while ignored messages count, because its next start would hear as many again")
    func ignoredMessages() async throws {
        try await TestFolder.with { folder in
            try await Self.preparing(folder, at: nil, within: .seconds(3), maintains: false) { _, run in
                run.state.change { $0.isSettled = true }
                let activity = run.state.read { $0.activity }
                #expect(run.isQuiet(since: activity))
                run.state.change { $0.budgets["token", default: WakeUpBudget()].spend(at: .now) }
                #expect(!run.isQuiet(since: activity))
            }
        }
    }
}
