// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridDataChannel
import HybridPrimitives
import HybridSession
import HybridThreads
import TestSupport
import Testing

@testable import HybridPhoneLinks

/// Links and wake-ups for tests.
enum Sample {
    /// Returns a new link at a relay of this project.
    static func link() throws -> PhoneLink { PhoneLink(at: try #require(TunnelDomain(id: 266))) }

    /// Returns the record of a new link.
    static func record(
        _ link: PhoneLink? = nil,
        label: String = "laptop",
        created: UInt64 = 1000
    ) throws
        -> StoredPhoneLink
    {
        let link = try link ?? self.link()
        return try #require(StoredPhoneLink(link, label: label, created: created))
    }

    /// Returns a random tunnel ID.
    static func tunnel() throws -> TunnelID {
        var random = SystemRandomNumberGenerator()
        let bytes = (0..<TunnelID.length).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        return try #require(TunnelID(bytes: bytes))
    }

    /// The number of the last payload.
    private static let lastNumber = Locked<UInt64>(0)

    /// Returns claims with the next number.
    static func claims(time: UInt64 = 1_000_000, _ requester: Requester = .program) -> ContactClaims {
        let number = lastNumber.withLock { last in
            last += 1
            return last
        }
        return ContactClaims(number: number, time: time, requester: requester)
    }

    /// Returns the payload of a client of a link, by default with the next number.
    static func payload(
        _ link: PhoneLink,
        hint: RequestHint = .getAssertion,
        host: String? = nil,
        _ claims: ContactClaims? = claims()
    ) -> ClientPayload {
        var random = SystemRandomNumberGenerator()
        return ContactRequest(
            linkID: link.id,
            secret: link.secret,
            hint: hint,
            host: host ?? link.domain.host,
            claims: claims,
            using: &random
        ).payload
    }

    /// Returns a wake-up in a tunnel, by default a new one.
    static func wake(_ payload: ClientPayload, tunnel: TunnelID? = nil) throws -> ContactWakeUp {
        ContactWakeUp(
            number: 1,
            routing: RoutingID(node: 1, check: 2),
            tunnel: try tunnel ?? self.tunnel(),
            payload: payload,
            seconds: 30
        )
    }
}

/// A phone with one link, whose user answers as told.
struct TestPhone: Sendable {
    let store: PhoneLinkStore
    let link: PhoneLink
    let handler: WakeUpHandler
    /// The time in seconds since 1970.
    let now = Locked<UInt64>(1_000_000)
    /// The steps in their order, such as `asked ga laptop` and `served laptop`.
    let steps = Locked<[String]>([])
    let events = Locked<[WakeUpHandler.Event]>([])
    /// The user's next answer; while it is `nil`, the user does not answer.
    let answer: AwaitableState<WakeUpAnswer?>

    init(in folder: TestFolder, answer: WakeUpAnswer? = .approved, link: PhoneLink? = nil) throws {
        store = try PhoneLinkStore(path: folder.path + "/phone")
        if let link {
            self.link = link
        } else {
            self.link = try Sample.link()
            try store.add(try Sample.record(self.link))
        }
        let state = AwaitableState(answer)
        let (now, steps, events) = (now, steps, events)
        self.answer = state
        handler = WakeUpHandler(
            store: store,
            clock: WallClock { now.withLock { $0 } },
            ask: { question in
                steps.withLock { $0.append("asked \(question.hint.rawValue) \(question.label)") }
                while !Task.isCancelled {
                    if let answer = state.read({ $0 }) { return answer }
                    await state.wait { $0 != nil }
                }
                return .unanswered
            },
            perform: { _, label in steps.withLock { $0.append("served \(label)") } },
            report: { event in events.withLock { $0.append(event) } }
        )
    }

    /// Handles a wake-up with a new number in a new tunnel.
    func receive(
        hint: RequestHint = .getAssertion,
        _ requester: Requester = .program
    ) async throws -> WakeUpResponse {
        try await receive(Sample.payload(link, hint: hint, Sample.claims(time: now.withLock { $0 }, requester)))
    }

    /// Handles a wake-up with a payload in a new tunnel.
    func receive(_ payload: ClientPayload) async throws -> WakeUpResponse {
        await handler.handle(try Sample.wake(payload), for: link.id)
    }

    var asked: Int { steps.withLock { $0.count { $0.hasPrefix("asked") } } }
    var served: Int { steps.withLock { $0.count { $0.hasPrefix("served") } } }
}

extension Sample {
    /// Returns the public key of a relay's tokens for push servers.
    static func pushKey() throws -> PushPublicKey { VAPIDKey().publicKey }

    /// Returns a subscription at the stand-in distributor, whose address a relay has sealed.
    static func registration(expiry: UInt64 = .max) throws -> PushRegistration {
        var registration = PushRegistration(distributor: StandInDistributor.name, relayKey: try pushKey())
        registration.sealed = PushRegistration.Sealed(
            endpoint: "https://push.example/1",
            contactID: try #require(ContactID(bytes: [2] + [UInt8](repeating: 7, count: 199))),
            expiry: expiry
        )
        return registration
    }
}
