// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridRelyingParty
import HybridWebAuthn
import Testing

@Suite("The challenge store")
struct ChallengeStoreTests {
    private let website: Website
    private let pending: PendingAuthentication
    private let clientData: CollectedClientData
    private let start = ContinuousClock.now

    init() async throws {
        website = try Website()
        _ = try await website.register()
        pending = website.party.beginAuthentication()
        clientData = try AuthenticationResponse(json: try await website.answer(pending.optionsJSON)).clientData
    }

    private func cause(
        _ store: ChallengeStore<PendingAuthentication>,
        _ session: String,
        after: Duration = .zero
    )
        -> ResponseRejection.Cause?
    {
        do throws(ResponseRejection) {
            _ = try store.take(clientData, session: session, now: start + after)
            return nil
        } catch {
            return error.cause
        }
    }

    @Test("A challenge is returned once, to its session")
    func once() {
        let store = ChallengeStore<PendingAuthentication>()
        #expect(cause(store, "a") == .unknownChallenge)
        store.add(pending, session: "a", now: start)
        #expect(cause(store, "b") == .unknownChallenge)
        #expect(cause(store, "") == .unknownChallenge)
        #expect(cause(store, "a") == nil)
        #expect(cause(store, "a") == .unknownChallenge)
        #expect(store.count == 0)
    }

    @Test("A challenge expires")
    func expiry() {
        let store = ChallengeStore<PendingAuthentication>(lifetime: .seconds(10))
        store.add(pending, session: "a", now: start)
        #expect(cause(store, "a", after: .seconds(10)) == .expiredChallenge)
        #expect(cause(store, "a") == .unknownChallenge, "an expired challenge is removed")
        store.add(pending, session: "a", now: start)
        #expect(cause(store, "a", after: .milliseconds(9_999)) == nil)
    }

    @Test("A full store drops expired challenges first, then the oldest one")
    func bound() {
        let store = ChallengeStore<PendingAuthentication>(lifetime: .seconds(10), capacity: 3)
        store.add(pending, session: "a", now: start)
        for second in 1...2 {
            store.add(website.party.beginAuthentication(), session: "a", now: start + .seconds(second))
        }
        #expect(store.count == 3)
        store.add(website.party.beginAuthentication(), session: "a", now: start + .seconds(3))
        #expect(store.count == 3)
        #expect(cause(store, "a", after: .seconds(3)) == .unknownChallenge, "the oldest one gave way")
        store.add(pending, session: "a", now: start + .seconds(12))
        #expect(store.count == 2, "the others have expired")
        #expect(cause(store, "a", after: .seconds(12)) == nil)
    }
}
