// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridSession
import HybridThreads
import TestSupport
import Testing

@testable import HybridPhoneLinks

@Suite("Wake-ups of a phone", .timeLimit(.minutes(5)))
struct WakeUpHandlerTests {
    @Test("The user is asked first, and the computer is served after the tap only", arguments: [true, false])
    func order(isSignIn: Bool) async throws {
        try await TestFolder.with { folder in
            let phone = try TestPhone(in: folder)
            #expect(try await phone.receive(hint: isSignIn ? .getAssertion : .makeCredential) == .none)
            #expect(phone.steps.withLock { $0 } == [isSignIn ? "asked ga laptop" : "asked mc laptop", "served laptop"])
            #expect(try phone.store.record(phone.link.id)?.activity?.lastUsed == 1_000_000)
        }
    }

    @Test("Without a tap no computer is served", arguments: [WakeUpAnswer.declined, .unanswered])
    func noTap(answer: WakeUpAnswer) async throws {
        try await TestFolder.with { folder in
            let phone = try TestPhone(in: folder, answer: answer)
            #expect(try await phone.receive() == (answer == .declined ? .decline : .none))
            #expect(phone.asked == 1 && phone.served == 0)
            #expect(try phone.store.record(phone.link.id)?.activity?.lastUsed == nil)
        }
    }

    @Test("A wake-up without the proof of the link's secret reaches no user and gets no response")
    func proof() async throws {
        try await TestFolder.with { folder in
            let phone = try TestPhone(in: folder)
            let thief = PhoneLink(
                id: phone.link.id,
                secret: try Sample.link().secret,
                contactKey: phone.link.contactKey,
                domain: phone.link.domain
            )
            let payloads = [
                Sample.payload(phone.link, nil), Sample.payload(thief),
                Sample.payload(phone.link, host: "cable.example.com"), Sample.payload(try Sample.link()),
                try #require(ClientPayload(bytes: [0xA0])),
            ]
            // More than the limit for a minute: they must not count.
            for payload in payloads + payloads { #expect(try await phone.receive(payload) == .ignored) }
            #expect(phone.asked == 0)
            #expect(phone.events.withLock { $0.count } == 1, "one line a minute")
            #expect(try await phone.receive() == .none)
            #expect(phone.served == 1)
        }
    }

    @Test("A wake-up that a relay repeats in another tunnel is ignored, also by the next process")
    func repeated() async throws {
        try await TestFolder.with { folder in
            let phone = try TestPhone(in: folder)
            let payload = Sample.payload(phone.link)
            #expect(try await phone.receive(payload) == .none)
            for _ in 0..<3 { #expect(try await phone.receive(payload) == .ignored) }
            #expect(phone.asked == 1)
            let next = try TestPhone(in: folder, link: phone.link)
            #expect(try await next.receive(payload) == .ignored)
            #expect(next.asked == 0)
        }
    }

    @Test("A wake-up that a relay withheld is ignored, and does not count as declined")
    func withheld() async throws {
        try await TestFolder.with { folder in
            let phone = try TestPhone(in: folder, answer: .declined)
            let payloads = (0..<3).map { _ in Sample.payload(phone.link) }
            let fast = Sample.payload(phone.link, Sample.claims(time: 1_000_000 + 601))
            #expect(try await phone.receive(fast) == .ignored, "a clock that is too fast")
            phone.now.withLock { $0 += 601 }
            for payload in payloads { #expect(try await phone.receive(payload) == .ignored) }
            #expect(phone.asked == 0)
            #expect(try phone.store.record(phone.link.id)?.activity?.programs == StoredPhoneLink.Declines())
            phone.now.withLock { $0 -= 1 }
            for payload in payloads { #expect(try await phone.receive(payload) == .decline) }
            #expect(phone.asked == 3)
        }
    }

    @Test("An old wake-up is never accepted again, however many came since")
    func manyLater() async throws {
        try await TestFolder.with { folder in
            let phone = try TestPhone(in: folder, answer: .unanswered)
            let payload = Sample.payload(phone.link)
            #expect(try await phone.receive(payload) == .none)
            _ = try phone.store.change(phone.link.id) { record in
                record.change { activity in
                    let last = activity.numbers.highest
                    for number in last...last + 2000 { _ = activity.numbers.count(number) }
                }
            }
            #expect(try await phone.receive(payload) == .ignored)
            #expect(phone.asked == 1)
        }
    }

    @Test("A wake-up that is delivered again in its tunnel has the same outcome")
    func redelivered() async throws {
        try await TestFolder.with { folder in
            let phone = try TestPhone(in: folder, answer: nil)
            let wake = try Sample.wake(Sample.payload(phone.link))
            async let first = phone.handler.handle(wake, for: phone.link.id)
            try await Waiting.until("the question") { phone.asked == 1 }
            async let second = phone.handler.handle(wake, for: phone.link.id)
            phone.answer.change { $0 = .declined }
            let responses = await [first, second]
            #expect(responses == [.decline, .decline], "each connection may be the one that still exists")
            #expect(await phone.handler.handle(wake, for: phone.link.id) == .decline)
            #expect(phone.asked == 1)
        }
    }

    @Test("Three declines within ten minutes mute a link until the user undoes it")
    func mute() async throws {
        try await TestFolder.with { folder in
            let phone = try TestPhone(in: folder, answer: .declined)
            for round in 1...3 {
                #expect(try await phone.receive() == .decline)
                #expect(try phone.store.record(phone.link.id)?.activity?.programs.isMuted == (round == 3))
                phone.now.withLock { $0 += 200 }
            }
            #expect(phone.events.withLock { $0 }.contains(.muted(label: "laptop", .program)))
            phone.answer.change { $0 = .approved }
            #expect(try await phone.receive() == .decline, "the computer falls back to a code at once")
            #expect(phone.asked == 3 && phone.served == 0)
            try phone.store.unmute(phone.link.id)
            #expect(try await phone.receive() == .none)
            #expect(phone.served == 1)
        }
    }

    @Test("Declined requests of guests mute guests only")
    func guests() async throws {
        try await TestFolder.with { folder in
            let phone = try TestPhone(in: folder, answer: .declined)
            for _ in 1...3 { #expect(try await phone.receive(hint: .getAssertion, .guest) == .decline) }
            #expect(phone.events.withLock { $0 }.contains(.muted(label: "laptop", .guest)))
            #expect(try await phone.receive(hint: .getAssertion, .guest) == .decline)
            #expect(phone.asked == 3)
            phone.answer.change { $0 = .approved }
            #expect(try await phone.receive() == .none)
            #expect(phone.served == 1)
        }
    }

    @Test("A request that is refused without a question can be delivered again")
    func refusedFirst() async throws {
        try await TestFolder.with { folder in
            let phone = try TestPhone(in: folder, answer: .declined)
            for _ in 1...3 { _ = try await phone.receive() }
            let payload = Sample.payload(phone.link)
            #expect(try await phone.receive(payload) == .decline, "it is muted")
            try phone.store.unmute(phone.link.id)
            phone.answer.change { $0 = .approved }
            #expect(try await phone.receive(payload) == .none)
            #expect(phone.served == 1)
        }
    }

    @Test("Declines over a longer time mute nothing")
    func rareDeclines() async throws {
        try await TestFolder.with { folder in
            let phone = try TestPhone(in: folder, answer: .declined)
            for _ in 0..<6 {
                #expect(try await phone.receive() == .decline)
                phone.now.withLock { $0 += 301 }
            }
            #expect(phone.asked == 6)
            #expect(try phone.store.record(phone.link.id)?.activity?.programs.isMuted == false)
        }
    }

    @Test("A computer can ask six times a minute")
    func rate() async throws {
        try await TestFolder.with { folder in
            let phone = try TestPhone(in: folder, answer: .unanswered)
            for _ in 0..<WakeUpHandler.maximumPerMinute { #expect(try await phone.receive() == .none) }
            #expect(try await phone.receive() == .decline)
            #expect(phone.asked == 6)
            phone.now.withLock { $0 += 60 }
            #expect(try await phone.receive() == .none)
            #expect(phone.asked == 7)
        }
    }

    @Test("Only the times of the last minute are kept, so that links which are gone take no memory")
    func times() async throws {
        try await TestFolder.with { folder in
            let phone = try TestPhone(in: folder)
            for _ in 0..<5 {
                let link = try Sample.link()
                try phone.store.add(try Sample.record(link))
                #expect(await phone.handler.handle(try Sample.wake(Sample.payload(link)), for: link.id) == .none)
            }
            #expect(await phone.handler.times.count == 5)
            phone.now.withLock { $0 += 60 }
            #expect(try await phone.receive() == .none)
            #expect(await phone.handler.times == [phone.link.id: [1_000_060]])
        }
    }

    @Test("During a ceremony, another request is declined")
    func busy() async throws {
        try await TestFolder.with { folder in
            let phone = try TestPhone(in: folder, answer: nil)
            async let first = phone.receive()
            try await Waiting.until("the question") { phone.asked == 1 }
            async let second = phone.receive()
            try await Waiting.until("the refusal", within: .seconds(20)) {
                let refused = WakeUpHandler.Event.refused(label: "laptop", reason: "another request is in progress")
                return phone.events.withLock { $0.contains(refused) }
            }
            phone.answer.change { $0 = .approved }
            let responses = try await [first, second]
            #expect(responses == [.none, .decline])
            #expect(phone.asked == 1 && phone.served == 1)
        }
    }

    @Test("A forgotten link wakes no user")
    func forgotten() async throws {
        try await TestFolder.with { folder in
            let phone = try TestPhone(in: folder)
            try phone.store.forget(phone.link.id, at: 2000)
            #expect(try await phone.receive() == .ignored)
            #expect(phone.asked == 0)
        }
    }
}
