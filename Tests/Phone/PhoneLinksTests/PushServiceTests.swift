// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridDBus
import HybridPrimitives
import HybridSession
import HybridThreads
import HybridVirtualBlueZ
import TestSupport
import Testing

@testable import HybridPhoneLinks

@Suite("Wake-ups by push messages", .timeLimit(.minutes(5)))
struct PushServiceTests {
    /// A phone with one link that a push service wakes, and the distributor.
    private struct Context: Sendable {
        let phone: TestPhone
        let registration: PushRegistration
        let distributor: StandInDistributor
        let bus: PrivateBus
        let lines: Locked<[String]>

        /// Returns an encrypted message of the relay.
        func encrypted(_ message: PushMessage) throws -> [UInt8] {
            let subscription = try #require(registration.key.subscription(endpoint: "https://push.example/1"))
            return PushEncryption.encrypt(message, for: subscription)
        }

        /// Returns a wake-up by the computer of the link.
        func wake(_ payload: ClientPayload? = nil) throws -> PushMessage {
            let routing = RoutingID(node: 1, check: 2)
            return .wake(routing, try Sample.tunnel(), payload ?? Sample.payload(phone.link), seconds: 30)
        }

        func deliver(_ bytes: [UInt8]) { distributor.deliver(bytes, token: registration.token.text) }

        func until(_ line: String, count: Int = 1) async throws {
            try await Waiting.until(line, evidence: "\(lines.withLock { $0 })") {
                lines.withLock { $0.count { $0 == line } } >= count
            }
        }

        var record: StoredPhoneLink { get throws { try #require(try phone.store.record(phone.link.id)) } }
    }

    private static func serving(
        _ answer: WakeUpAnswer? = .approved,
        reserve: String? = nil,
        _ body: @Sendable (Context) async throws -> Void
    ) async throws {
        try await TestFolder.with { folder in
            try await PrivateBus.run { bus in
                try await StandInDistributor.serve(on: bus) { distributor in
                    let link = try Sample.link()
                    let phone = try TestPhone(in: folder, answer: answer, link: link)
                    let registration = try Sample.registration()
                    try phone.store.setReserve(PushReserve(domain: link.domain, registration: registration))
                    let record = try #require(
                        StoredPhoneLink(link, label: "laptop", created: 1000, push: registration)
                    )
                    try phone.store.add(record)
                    if let reserve {
                        let registration = PushRegistration(distributor: reserve, relayKey: try Sample.pushKey())
                        try phone.store.setReserve(PushReserve(domain: link.domain, registration: registration))
                    }
                    let lines = Locked<[String]>([])
                    let service = PushService(
                        store: phone.store,
                        handler: phone.handler,
                        domain: nil,
                        distributor: nil,
                        deviceName: "phone",
                        address: bus.busAddress,
                        idleTime: .milliseconds(20),
                        clock: WallClock { 1_000_000 },
                        destination: { _ in throw PushFailure.noSessionBus },
                        report: { event in lines.withLock { $0.append(Self.line(event)) } }
                    )
                    let running = Task { try await service.run() }
                    try await Waiting.until("the registration") { distributor.state.withLock { $0.calls } == 1 }
                    try await body(
                        Context(
                            phone: phone,
                            registration: registration,
                            distributor: distributor,
                            bus: bus,
                            lines: lines
                        )
                    )
                    running.cancel()
                    _ = try? await running.value
                }
            }
        }
    }

    static func line(_ event: PushService.Event) -> String {
        switch event {
        case .ready(let host): "ready \(host)"
        case .failed(let failure): "failed \(failure.code)"
        case .ended(let label): "ended \(label)"
        case .unsubscribed(let label): "unsubscribed \(label)"
        case .ignored(let reason): "ignored \(reason)"
        case .unusable(let sentence): sentence
        }
    }

    @Test("An encrypted wake-up leads to a question, and the computer is served after the tap")
    func wake() async throws {
        try await Self.serving { context in
            context.deliver(try context.encrypted(try context.wake()))
            try await Waiting.until("the session") { context.phone.served == 1 }
            #expect(context.phone.steps.withLock { $0 } == ["asked ga laptop", "served laptop"])
        }
    }

    @Test("A repeated wake-up does not ask again, in the same tunnel or in another")
    func repeated() async throws {
        try await Self.serving { context in
            let payload = Sample.payload(context.phone.link)
            let body = try context.encrypted(try context.wake(payload))
            context.deliver(body)
            try await Waiting.until("the session") { context.phone.served == 1 }
            context.deliver(body)
            context.deliver(try context.encrypted(try context.wake(payload)))
            try await Waiting.until("the refusal") {
                let ignored = WakeUpHandler.Event.ignored(label: "laptop", reason: "it was repeated")
                return context.phone.events.withLock { $0.contains(ignored) }
            }
            #expect(context.phone.asked == 1)
        }
    }

    @Test("Messages that are forged on the way or without the link's secret reach no user")
    func forged() async throws {
        try await Self.serving { context in
            let right = try context.encrypted(try context.wake())
            let stranger = try #require(PushReceiverKey().subscription(endpoint: "https://push.example/1"))
            context.deliver(PushEncryption.encrypt(try context.wake(), for: stranger))
            context.deliver(right.dropLast() + [right[614] ^ 1])
            try await context.until("ignored it is not encrypted for this device", count: 2)
            // A relay, which knows the subscription but not the secret of the link.
            let payload = Sample.payload(context.phone.link, nil)
            context.deliver(try context.encrypted(try context.wake(payload)))
            try await Waiting.until("the refusal") {
                let reason = "no proof that the computer sent it"
                return context.phone.events.withLock { $0.contains(.ignored(label: "laptop", reason: reason)) }
            }
            var random = SystemRandomNumberGenerator()
            context.deliver(try context.encrypted(.proof(PushNonce(using: &random))))
            try await context.until("ignored it does not belong to this subscription")
            context.distributor.deliver(right, token: PushToken().text)
            try await context.until("ignored its token is unknown")
            #expect(context.phone.asked == 0)
        }
    }

    @Test("Only the distributor of a subscription is heard, not even that of another one", arguments: [false, true])
    func impostor(isDistributor: Bool) async throws {
        let name = UnifiedPush.distributorPrefix + "Other"
        try await Self.serving(reserve: name) { context in
            let other = try await BusConnection.connect(to: context.bus.busAddress)
            if isDistributor {
                let isOwner = try await other.requestName(name)
                #expect(isOwner)
            }
            let token = BusValue.string(context.registration.token.text)
            let body = try context.encrypted(try context.wake())
            let line = "ignored a program other than the push service sent it"
            for (count, (member, fields)) in [
                ("Message", ["token": token, "message": .bytes(body)]), ("Unregistered", ["token": token]),
                ("NewEndpoint", ["token": token, "endpoint": .string("https://elsewhere.example/")]),
            ].enumerated() {
                other.send(
                    UnifiedPush.service,
                    UnifiedPush.connectorPath,
                    UnifiedPush.connector,
                    member,
                    [.properties(fields)]
                )
                try await context.until(line, count: count + 1)
            }
            #expect(context.phone.asked == 0)
            #expect(try context.record.isUnreachable(at: 0) == false)
            await other.close()
        }
    }

    @Test("A push service that delivers messages without a proof is not heard after ten")
    func flood() async throws {
        try await Self.serving(.declined) { context in
            let ignored = "ignored it is not encrypted for this device"
            for number in 1...WakeUpBudget.maximumIgnored {
                if number == WakeUpBudget.maximumIgnored {
                    // Fewer do not end it.
                    context.deliver(try context.encrypted(try context.wake()))
                    try await Waiting.until("the question") { context.phone.asked == 1 }
                }
                context.deliver([0])
                try await context.until(ignored, count: number)
            }
            try await Waiting.until("the pause") {
                context.deliver(try context.encrypted(try context.wake()))
                return context.lines.withLock { $0.contains("ignored too many before it had no proof") }
            }
            #expect(context.lines.withLock { $0.count { $0 == ignored } } == WakeUpBudget.maximumIgnored)
        }
    }

    @Test("A subscription that ends or moves is recorded, and renewed if it gets its address back")
    func ended() async throws {
        try await Self.serving { context in
            let token = BusValue.string(context.registration.token.text)
            for call in ["Unregistered", "NewEndpoint"] {
                let before = context.lines.withLock { $0.count }
                context.distributor.call(call, ["token": token, "endpoint": .string("https://push.example/2")])
                try await Waiting.until("the end") { context.lines.withLock { $0.count } > before }
                #expect(context.lines.withLock { $0.last } == "ended laptop")
                #expect(try context.record.isUnreachable(at: 0))
                context.distributor.call(
                    "NewEndpoint",
                    ["token": token, "endpoint": .string("https://push.example/1")]
                )
                try await Waiting.until("the renewal") { try context.record.isUnreachable(at: 0) == false }
            }
        }
    }

    @Test("A forgotten link is unsubscribed, and its messages wake no user")
    func forgotten() async throws {
        try await Self.serving { context in
            try context.phone.store.forget(context.phone.link.id, at: 2000)
            try await context.until("unsubscribed laptop")
            #expect(context.distributor.state.withLock { $0.unregistered } == [context.registration.token.text])
            #expect(try context.record.revocation?.isConfirmed == true)
            context.deliver(try context.encrypted(try context.wake()))
            try await context.until("ignored its token is unknown")
            #expect(context.phone.asked == 0)
        }
    }

    @Test("The command ends a subscription without the service")
    func unsubscribe() async throws {
        try await PrivateBus.run { bus in
            try await StandInDistributor.serve(on: bus) { distributor in
                let registration = try Sample.registration()
                try await PushService.unsubscribe(registration, on: bus.busAddress)
                #expect(distributor.state.withLock { $0.unregistered } == [registration.token.text])
            }
            await #expect(throws: PushFailure.self) {
                try await PushService.unsubscribe(try Sample.registration(), on: bus.busAddress)
            }
        }
        await #expect(throws: PushFailure.noSessionBus) {
            try await PushService.unsubscribe(try Sample.registration(), on: nil)
        }
    }

    @Test("The service goes on while the bus would not start it again")
    func notActivatable() async throws {
        try await Self.serving { context in
            // Longer than the time without work.
            for _ in 0..<5 {
                context.deliver([0])
                try await context.until("ignored it is not encrypted for this device")
            }
            context.deliver(try context.encrypted(try context.wake()))
            try await Waiting.until("the session") { context.phone.served == 1 }
        }
    }

    @Test("A reserve serves one link, and survives a round trip through its file")
    func reserve() async throws {
        try await TestFolder.with { folder in
            let store = try PhoneLinkStore(path: folder.path + "/phone")
            #expect(try store.reserve() == nil)
            let link = try Sample.link()
            let reserve = PushReserve(domain: link.domain, registration: try Sample.registration(expiry: 5000))
            for unsealed in [false, true] {
                var reserve = reserve
                if unsealed { reserve.registration.sealed = nil }
                let bytes = reserve.file
                #expect(PushReserve(file: bytes)?.file == bytes)
                for damaged in Damage.truncations(of: bytes) { #expect(PushReserve(file: damaged) == nil) }
            }
            try store.setReserve(reserve)
            #expect(try store.reserve()?.registration.isUsable(at: 4999) == true)
            #expect(try store.reserve()?.registration.isUsable(at: 5000) == false)
            let push = try #require(try store.reserve()).registration
            try store.add(try #require(StoredPhoneLink(link, label: "a", created: 1, push: push)))
            #expect(try store.reserve() == nil)
            #expect(try store.record(link.id)?.push?.sealed == push.sealed)
            #expect(try store.record(link.id)?.isUnreachable(at: 5000) == true)
            let second = try #require(StoredPhoneLink(try Sample.link(), label: "b", created: 1, push: push))
            #expect(throws: (any Error).self) { try store.add(second) }
            #expect(try store.contents().links.count == 1)
        }
    }
}
