// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCTAP
import HybridCaBLE
import HybridDataChannel
import HybridPrimitives
import Synchronization
import TestSupport
import Testing

@testable import HybridSession

/// The authenticator's side after the handshake: several requests on one channel, and clients that disconnect.
@Suite("A served client", .timeLimit(.minutes(10)))
struct ServedClientTests {
    private static let signIn: [UInt8] = {
        guard let site = RelyingPartyID("example.com"), let hash = ClientDataHash(bytes: 0..<32) else { return [] }
        let request = GetAssertionRequest(relyingPartyID: site, clientDataHash: hash, userVerification: true)
        return CTAPRequest.getAssertion(request).encoded
    }()

    private static let creation: [UInt8] = {
        guard let site = RelyingPartyID("example.com"), let hash = ClientDataHash(bytes: 0..<32),
            let handle = UserHandle(bytes: [1])
        else { return [] }
        let request = MakeCredentialRequest(
            clientDataHash: hash,
            relyingParty: RelyingPartyEntity(id: site, name: ""),
            user: UserEntity(id: handle, name: "ada", displayName: ""),
            algorithms: [.es256],
            residentKey: true,
            userVerification: true
        )
        return CTAPRequest.makeCredential(request).encoded
    }()

    private static let success = CTAPResponse.success([0xA0])

    /// Serves a client, which the test plays, with the given answers.
    private static func serve(
        _ connection: Connection,
        untilRequest: Duration = .seconds(60),
        accepting relyingParties: Set<RelyingPartyID.Kind> = [.domain],
        sent: @escaping @Sendable () async -> Void = {},
        delivered: @escaping @Sendable () async -> Void = {},
        asking answer: @escaping @Sendable (CTAPRequest) async -> CTAPResponse
    ) -> Task<AuthenticatorOutcome, any Error> {
        var timeouts = AuthenticatorTimeouts()
        timeouts.untilRequest = untilRequest
        return Task { [timeouts] in
            try await ServedClient(channel: connection.phone).answerRequests(
                timeouts,
                accepting: relyingParties,
                AuthenticatorSession.Handlers(events: { _ in }, answer: answer, sent: sent, delivered: delivered)
            )
        }
    }

    private static func ask(_ connection: Connection, _ request: [UInt8]) async throws {
        try await connection.client.send(.ctap(request))
    }

    private static func answer(_ connection: Connection) async throws -> [UInt8] {
        guard case .ctap(let payload) = try await connection.client.receive() else {
            Issue.record("no CTAP message")
            return []
        }
        return payload
    }

    private static func failure(of serving: Task<AuthenticatorOutcome, any Error>) async -> AuthenticatorSessionFailure?
    {
        do {
            _ = try await serving.value
            return nil
        } catch {
            return error as? AuthenticatorSessionFailure
        }
    }

    @Test("Each of several requests is answered and prompts the user again")
    func several() async throws {
        let connection = try Connection()
        let asked = Mutex(0)
        let sent = Mutex<[Int]>([])
        let delivered = Mutex(0)
        let recordSent: @Sendable () async -> Void = { sent.withLock { $0.append(connection.phoneWire.sent) } }
        let recordDelivered: @Sendable () async -> Void = { delivered.withLock { $0 += 1 } }
        let serving = Self.serve(connection, sent: recordSent, delivered: recordDelivered) { request in
            let number = asked.withLock { asked in
                asked += 1
                return UInt8(asked)
            }
            return request == .getInfo ? .success([]) : .success([number])
        }
        for number in 1...5 as ClosedRange<UInt8> {
            try await Self.ask(connection, Self.signIn)
            #expect(try await Self.answer(connection) == [0, number])
            #expect(delivered.withLock { $0 } == Int(number) - 1, "the client has not confirmed this response")
        }
        try await connection.client.send(.shutdown)
        #expect(try await serving.value == .shutDown)
        #expect(asked.withLock { $0 } == 5)
        #expect(sent.withLock { $0 } == [1, 2, 3, 4, 5], "called after each response was sent")
        #expect(delivered.withLock { $0 } == 5)
        #expect(connection.phoneWire.sent == 5, "an authenticator sends no shutdown")
    }

    @Test("Requests for local services are answered only if they are accepted", arguments: [true, false])
    func localServices(areAccepted: Bool) async throws {
        let id = try #require(RelyingPartyID("ssh:work", accepting: [.ssh]))
        let hash = try #require(ClientDataHash(bytes: [UInt8](repeating: 7, count: 32)))
        let request = CTAPRequest.getAssertion(
            GetAssertionRequest(relyingPartyID: id, clientDataHash: hash, userVerification: true)
        )
        let connection = try Connection()
        let serving = Self.serve(connection, accepting: areAccepted ? [.domain, .ssh] : [.domain]) { received in
            received == request ? .success([7]) : .failure(.other)
        }
        try await Self.ask(connection, request.encoded)
        #expect(try await Self.answer(connection) == (areAccepted ? [0, 7] : [CTAPStatus.invalidParameter.rawValue]))
        try await connection.client.send(.shutdown)
        _ = try? await serving.value
    }

    @Test("A request that cannot be parsed gets its status without a prompt, and the next one is served")
    func unreadable() async throws {
        let connection = try Connection()
        let asked = Mutex(0)
        let serving = Self.serve(connection) { _ in
            asked.withLock { $0 += 1 }
            return Self.success
        }
        let cases: [([UInt8], UInt8)] = [
            ([], 0x03), ([0x08], 0x01), ([0x0C, 0xA0], 0x01), ([0xFF], 0x01), ([0x02], 0x12), ([0x02, 0x5F], 0x12),
            ([0x01, 0x80], 0x11), ([0x02, 0xA0], 0x14), (Self.signIn + [0], 0x12),
        ]
        for (request, status) in cases {
            try await Self.ask(connection, request)
            #expect(try await Self.answer(connection) == [status], "\(request)")
        }
        #expect(asked.withLock { $0 } == 0)
        try await Self.ask(connection, Self.signIn)
        #expect(try await Self.answer(connection) == Self.success.encoded)
        connection.clientWire.end(.closed(code: 1000))
        #expect(try await serving.value == .clientLeft(.peerClosed))
    }

    @Test("A second request before the first response closes the prompt and gets no response")
    func impatient() async throws {
        let connection = try Connection()
        let (asked, cancelled) = (Signal(), Signal())
        let serving = Self.serve(connection) { _ in
            asked.fire()
            await Signal.cancellation()
            cancelled.fire()
            return Self.success
        }
        try await Self.ask(connection, Self.signIn)
        await asked.wait()
        try await Self.ask(connection, Self.signIn)
        await cancelled.wait()
        let failure = await Self.failure(of: serving)
        #expect(failure == .clientMisbehaved("it sent a request before the last one was answered"))
        #expect(connection.phoneWire.sent == 0)
    }

    /// Ways in which a client disconnects.
    enum Leaving: CaseIterable {
        case shutdown, closed, withoutCode, gone, limited, lost, stalled

        /// The expected close reason.
        var reason: ChannelCloseReason {
            switch self {
            case .shutdown, .closed, .withoutCode: .peerClosed
            case .gone: .goneAway
            case .limited: .closed(code: 1008)
            case .lost, .stalled: .connectionLost
            }
        }
    }

    private static func leave(_ connection: Connection, _ how: Leaving) async throws {
        switch how {
        case .shutdown: try await connection.client.send(.shutdown)
        case .closed: connection.clientWire.end(.closed(code: 1000))
        case .withoutCode: connection.clientWire.end(.closed(code: 1005))
        case .gone: connection.clientWire.end(.closed(code: 1001))
        case .limited: connection.clientWire.end(.closed(code: 1008))
        case .lost: connection.clientWire.end(.connectionLost)
        case .stalled: connection.clientWire.end(.stalled)
        }
    }

    @Test("A client that disconnects closes the prompt", arguments: Leaving.allCases)
    func cancelled(_ how: Leaving) async throws {
        let connection = try Connection()
        let asked = Signal()
        let serving = Self.serve(connection) { _ in
            asked.fire()
            await Signal.cancellation()
            return .failure(.keepaliveCancel)
        }
        try await Self.ask(connection, Self.signIn)
        await asked.wait()
        try await Self.leave(connection, how)
        #expect(try await serving.value == .clientLeftDuringRequest(how.reason))
        #expect(connection.phoneWire.sent == 0)
    }

    @Test("A user who had just agreed learns that the response was lost", arguments: Leaving.allCases)
    func agreedTooLate(_ how: Leaving) async throws {
        let cases: [([UInt8], CTAPResponse, AuthenticatorOutcome)] = [
            (Self.signIn, Self.success, .answerLost(.getAssertion, how.reason)),
            (Self.creation, Self.success, .answerLost(.makeCredential, how.reason)),
            (Self.signIn, .failure(.operationDenied), .clientLeftDuringRequest(how.reason)),
            ([0x04], Self.success, .clientLeftDuringRequest(how.reason)),
        ]
        for (request, response, end) in cases {
            let connection = try Connection()
            let asked = Signal()
            let serving = Self.serve(connection) { _ in
                asked.fire()
                // A write in progress is not interrupted by cancellation.
                await Signal.cancellation()
                return response
            }
            try await Self.ask(connection, request)
            await asked.wait()
            try await Self.leave(connection, how)
            #expect(try await serving.value == end)
            #expect(connection.phoneWire.sent == 0)
        }
    }

    @Test(
        "A response that cannot be sent is lost, whatever the cause",
        arguments: [
            (.closed(code: 1000), .peerClosed), (.closed(code: 1001), .goneAway), (.connectionLost, .connectionLost),
            (.stalled, .connectionLost),
        ] as [(TunnelError, ChannelCloseReason)]
    )
    func undelivered(_ error: TunnelError, _ reason: ChannelCloseReason) async throws {
        for (response, end) in [
            (Self.success, AuthenticatorOutcome.answerLost(.getAssertion, reason)),
            (.failure(.noCredentials), .clientLeftDuringRequest(reason)),
        ] {
            let connection = try Connection()
            connection.phoneWire.failSending(error)
            let sent: @Sendable () async -> Void = { Issue.record("nothing was sent") }
            let serving = Self.serve(connection, sent: sent, delivered: sent) { _ in response }
            try await Self.ask(connection, Self.signIn)
            #expect(try await serving.value == end)
        }
    }

    @Test("A close code that reports a bad message is the client's fault", arguments: [1003, 1009] as [UInt16])
    func refusedMessages(code: UInt16) async throws {
        for isBusy in [false, true] {
            let connection = try Connection()
            let asked = Signal()
            let serving = Self.serve(connection) { _ in
                asked.fire()
                await Signal.cancellation()
                return .failure(.keepaliveCancel)
            }
            if isBusy {
                try await Self.ask(connection, Self.signIn)
                await asked.wait()
            }
            connection.clientWire.end(.closed(code: code))
            let failure = await Self.failure(of: serving)
            #expect(failure == .clientMisbehaved("it sent a message that relays reject"))
            #expect(failure?.status == .dataError)
        }
        // A user who had just agreed learns that first.
        let connection = try Connection()
        let asked = Signal()
        let serving = Self.serve(connection) { _ in
            asked.fire()
            await Signal.cancellation()
            return Self.success
        }
        try await Self.ask(connection, Self.creation)
        await asked.wait()
        connection.clientWire.end(.closed(code: code))
        #expect(try await serving.value == .answerLost(.makeCredential, .closed(code: code)))
    }

    @Test("A client without a request times out, at the start and after a response")
    func idle() async throws {
        let silent = try Connection()
        let serving = Self.serve(silent, untilRequest: .milliseconds(1)) { _ in Self.success }
        #expect(await Self.failure(of: serving) == .clientSilent)

        let idle = try Connection()
        try await Self.ask(idle, Self.signIn)
        let ending = Self.serve(idle, untilRequest: .seconds(4)) { _ in Self.success }
        #expect(try await ending.value == .clientLeft(.timedOut))
        #expect(idle.phoneWire.sent == 1)
    }

    @Test("A client that sends only requests that cannot be parsed is reported")
    func nothingReadable() async throws {
        let connection = try Connection()
        let serving = Self.serve(connection) { _ in Self.success }
        try await Self.ask(connection, [0x99])
        #expect(try await Self.answer(connection) == [0x01])
        try await connection.client.send(.shutdown)
        #expect(await Self.failure(of: serving) == .clientMisbehaved("none of its requests can be parsed"))
    }
}
