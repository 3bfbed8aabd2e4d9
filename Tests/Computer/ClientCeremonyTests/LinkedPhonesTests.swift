// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridCaBLE
import HybridCommandSupport
import HybridDataChannel
import HybridThreads
import TestSupport
import Testing

@testable import HybridClientCeremony
@testable import HybridSession

/// The order of events and failures of a ceremony.
private final class Recorder: Sendable {
    private let entries = Locked<[String]>([])

    var all: [String] { entries.withLock { $0 } }

    func add(_ entry: String) { entries.withLock { $0.append(entry) } }

    @Sendable func show(_ event: ClientEvent) {
        switch event {
        case .contacting(let name, _): add("contacting \(name)")
        case .phoneFound: add("found")
        case .waitingForUser: add("confirm")
        default: add("other")
        }
    }

    @Sendable func show(_ failure: LinkFailure) { add("failed \(failure.code)") }
}

@Suite("Linked phones and the code", .timeLimit(.minutes(10)))
struct LinkedPhonesTests {
    private static let never = Duration.seconds(3600)

    private static func result(_ status: CTAPStatus, _ tag: UInt8) -> ClientResult {
        let info = AuthenticatorInfo(versions: [], aaguid: .zero, options: [:], transports: [])
        return ClientResult(
            response: CTAPResponse(status: status, body: [tag]),
            info: info,
            encodedInfo: [0xA1, tag, 0],
            features: [.ctap],
            offeredLink: nil
        )
    }

    @Test("If the phone answers, no code is shown, and the use of the link is stored")
    func phoneAnswers() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let link = try TestStore.link(lastUsed: 1)
            try test.store.save(link)
            let recorder = Recorder()
            let phones = try #require(LinkedPhones(test.store, [link], for: .program, codeDelay: Self.never))
            let result = try await phones.perform(show: recorder.show, failed: recorder.show) { link, _, events in
                events(.contacting(link.name, linked: link.created))
                events(.phoneFound)
                return Self.result(.success, 1)
            } code: { _ in
                Issue.record("a code is shown")
                return Self.result(.success, 2)
            }
            #expect(result.response.body == [1] && recorder.all == ["contacting Pixel 8", "found"])
            let stored = try #require(try test.store.links().first)
            #expect(stored.lastUsed > 1 && stored.info == [0xA1, 1, 0])
        }
    }

    @Test(
        "If the contact fails, the code follows at once; only a removed link is deleted",
        arguments: [
            (ClientFailure.linkGone(PhoneName("Pixel 8")), true),
            (.phoneUnreachable(PhoneName("Pixel 8")), false), (.phoneDeclined(PhoneName("Pixel 8")), false),
            (.notLinkedPhone(PhoneName("Pixel 8")), false), (.phoneNotNearby, false),
        ]
    )
    func fallback(failure: ClientFailure, isRemoved: Bool) async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let link = try TestStore.link()
            try test.store.save(link)
            let recorder = Recorder()
            let phones = try #require(LinkedPhones(test.store, [link], for: .program, codeDelay: Self.never))
            let result = try await phones.perform(show: recorder.show, failed: recorder.show) { _, _, _ in
                throw failure
            } code: { _ in
                Self.result(.success, 2)
            }
            #expect(result.response.body == [2] && recorder.all == ["failed \(failure.code)"])
            #expect(try test.store.links().isEmpty == isRemoved)
        }
    }

    @Test("A phone without the passkey is not the end: other phones and the code are tried")
    func noPasskey() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let links = try (0..<2).map { _ in try test.savedLink() }
            let recorder = Recorder()
            let phones = try #require(LinkedPhones(test.store, links, for: .program, codeDelay: Self.never))
            let result = try await phones.perform(show: recorder.show, failed: recorder.show) { link, _, events in
                events(.contacting(link.name, linked: link.created))
                return Self.result(.noCredentials, 1)
            } code: { _ in
                Self.result(.success, 2)
            }
            #expect(result.response.body == [2])
            let attempt = ["contacting Pixel 8", "failed no-passkey"]
            #expect(recorder.all == attempt + attempt)
        }
    }

    @Test("After the delay both are offered, and the first that completes ends the other", arguments: [true, false])
    func race(codeWins: Bool) async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let codeShown = Signal()
            let recorder = Recorder()
            let phones = try #require(
                LinkedPhones(test.store, [try test.savedLink()], for: .program, codeDelay: .milliseconds(1))
            )
            let result = try await phones.perform(show: recorder.show, failed: recorder.show) { _, _, _ in
                await codeShown.wait()
                if codeWins { try await Task.sleep(for: Self.never) }
                return Self.result(.success, 1)
            } code: { _ in
                codeShown.fire()
                if !codeWins { try await Task.sleep(for: Self.never) }
                return Self.result(.success, 2)
            }
            #expect(result.response.body == [codeWins ? 2 : 1])
        }
    }

    @Test("The user can ask for the code before the delay, even if the phone was found")
    func codeRequested() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let isCodeRequested = AwaitableState(false)
            let recorder = Recorder()
            let link = try TestStore.link()
            try test.store.save(link)
            let phones = try #require(
                LinkedPhones(
                    test.store,
                    [try test.savedLink()],
                    for: .program,
                    codeDelay: Self.never,
                    isCodeRequested: isCodeRequested
                )
            )
            let result = try await phones.perform(show: recorder.show, failed: recorder.show) { _, _, events in
                events(.phoneFound)
                isCodeRequested.change { $0 = true }
                try await Task.sleep(for: Self.never)
                return Self.result(.success, 1)
            } code: { _ in
                Self.result(.success, 2)
            }
            #expect(result.response.body == [2])
        }
    }

    @Test("For a guest, the code is shown at once, and no phone is contacted before the user agrees")
    func consent() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let (isGiven, asked) = (AwaitableState(false), Locked<[String]>([]))
            let consent = ContactConsent(isGiven: isGiven) { name in asked.withLock { $0.append("\(name)") } }
            let recorder = Recorder()
            let link = try TestStore.link()
            try test.store.save(link)
            let phones = try #require(
                LinkedPhones(test.store, [link], for: .guest, codeDelay: Self.never, consent: consent)
            )
            for agrees in [false, true] {
                let codeShown = Signal()
                let result = try await phones.perform(show: recorder.show, failed: recorder.show) { link, _, events in
                    events(.contacting(link.name, linked: link.created))
                    return Self.result(.success, 1)
                } code: { _ in
                    codeShown.fire()
                    try await Waiting.until("the offer") { asked.withLock { $0 } == ["Pixel 8"] }
                    guard agrees else { return Self.result(.success, 2) }
                    isGiven.change { $0 = true }
                    try await Task.sleep(for: Self.never)
                    return Self.result(.success, 2)
                }
                await codeShown.wait()
                #expect(result.response.body == [agrees ? 1 : 2])
                #expect(recorder.all == (agrees ? ["contacting Pixel 8"] : []))
                asked.withLock { $0 = [] }
            }
        }
    }

    @Test("For a guest, the failure of the code ends the ceremony, because no phone is contacted")
    func codeFailsForGuest() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let consent = ContactConsent(isGiven: AwaitableState(false)) { _ in }
            let recorder = Recorder()
            let phones = try #require(LinkedPhones(test.store, [try test.savedLink()], for: .guest, consent: consent))
            await #expect(throws: ClientFailure.phoneNotNearby) {
                _ = try await phones.perform(show: recorder.show, failed: recorder.show) { _, _, _ in
                    Self.result(.success, 1)
                } code: { _ in
                    throw ClientFailure.phoneNotNearby
                }
            }
            #expect(recorder.all.isEmpty)
        }
    }

    @Test("No code is shown while the phone that was found asks its user")
    func found() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let recorder = Recorder()
            let phones = try #require(
                LinkedPhones(test.store, [try test.savedLink()], for: .program, codeDelay: .seconds(3))
            )
            let result = try await phones.perform(show: recorder.show, failed: recorder.show) { _, _, events in
                events(.phoneFound)
                // Until the code would be due.
                try await Task.sleep(for: .seconds(4))
                return Self.result(.success, 1)
            } code: { _ in
                Issue.record("a code is shown")
                return Self.result(.success, 2)
            }
            #expect(result.response.body == [1])
        }
    }

    @Test("If the code fails, the contact goes on; if both fail, the failure is that of the code")
    func bothFail() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            for isAnswered in [true, false] {
                let codeEnded = Signal()
                let recorder = Recorder()
                let phones = try #require(
                    LinkedPhones(test.store, [try test.savedLink()], for: .program, codeDelay: .milliseconds(1))
                )
                let attempt = {
                    try await phones.perform(show: recorder.show, failed: recorder.show) { _, _, _ in
                        await codeEnded.wait()
                        guard isAnswered else { throw TunnelError.connectionLost }
                        return Self.result(.success, 1)
                    } code: { _ in
                        codeEnded.fire()
                        throw ClientFailure.phoneNotNearby
                    }
                }
                if isAnswered {
                    let result = try await attempt()
                    #expect(result.response.body == [1])
                } else {
                    await #expect(throws: ClientFailure.phoneNotNearby) { _ = try await attempt() }
                }
            }
        }
    }

    @Test("After the failure of a contact that interrupted the display, the stage of the code is shown again")
    func shownAgain() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let (codeShown, contactEnded) = (Signal(), Signal())
            let recorder = Recorder()
            let phones = try #require(
                LinkedPhones(test.store, [try test.savedLink()], for: .program, codeDelay: .milliseconds(1))
            )
            _ = try await phones.perform(show: recorder.show) { failure in
                recorder.show(failure)
                contactEnded.fire()
            } contact: { _, _, _ in
                await codeShown.wait()
                throw ClientFailure.phoneNotNearby
            } code: { events in
                events(.waitingForUser)
                codeShown.fire()
                await contactEnded.wait()
                try await Waiting.until("the stage to be shown again") { recorder.all.count == 3 }
                return Self.result(.success, 2)
            }
            #expect(recorder.all == ["confirm", "failed phone-not-nearby", "confirm"])
        }
    }

    @Test("The reason names the phone, and is quoted safely")
    func reasons() {
        let name = PhoneName("Ada's \"phone\"")
        let unreachable = LinkFailure(name, ClientFailure.phoneUnreachable(name))
        #expect(unreachable.sentence == "\"Ada's 'phone'\" could not be reached; scan the code instead")
        let other = LinkFailure(name, ClientFailure.phoneNotNearby)
        #expect(other.code == "phone-not-nearby")
        #expect(other.sentence.hasPrefix("\"Ada's 'phone'\" could not be used: no phone was found"))
    }
}
