// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCTAP
import HybridCaBLE
import HybridDataChannel
import HybridPrimitives
import Synchronization
import Testing

@testable import HybridSession

/// The phone's side behind the handshake: several requests on one channel, and clients that leave.
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

    /// A phone that serves with an answer of the test's, while the test plays the client.
    private static func serve(
        _ connection: Connection,
        untilRequest: Duration = .seconds(60),
        sent: @escaping @Sendable () async -> Void = {},
        delivered: @escaping @Sendable () async -> Void = {},
        asking answer: @escaping @Sendable (CTAPRequest) async -> CTAPResponse
    ) -> Task<AuthenticatorOutcome, any Error> {
        var timeouts = AuthenticatorTimeouts()
        timeouts.untilRequest = untilRequest
        return Task { [timeouts] in
            try await ServedClient(channel: connection.phone).serve(
                timeouts,
                events: { _ in },
                answer: answer,
                sent: sent,
                delivered: delivered
            )
        }
    }

    private static func ask(_ connection: Connection, _ request: [UInt8]) async throws {
        try await connection.client.send(.ctap(CTAPPayload(bytes: request)))
    }

    private static func answer(_ connection: Connection) async throws -> [UInt8] {
        guard case .ctap(let payload) = try await connection.client.receive() else {
            Issue.record("no CTAP message")
            return []
        }
        return payload.bytes
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

    @Test("is answered as often as it asks, and the user is asked anew for each request")
    func several() async throws {
        let connection = try Connection()
        let asked = Mutex(0)
        let sent = Mutex<[Int]>([])
        let delivered = Mutex(0)
        let noteSent: @Sendable () async -> Void = { sent.withLock { $0.append(connection.phoneWire.sent) } }
        let noteDelivered: @Sendable () async -> Void = { delivered.withLock { $0 += 1 } }
        let serving = Self.serve(connection, sent: noteSent, delivered: noteDelivered) { request in
            let number = asked.withLock { asked in
                asked += 1
                return UInt8(asked)
            }
            return request == .getInfo ? .success([]) : .success([number])
        }
        for number in 1...5 as ClosedRange<UInt8> {
            try await Self.ask(connection, Self.signIn)
            #expect(try await Self.answer(connection) == [0, number])
            #expect(delivered.withLock { $0 } == Int(number) - 1, "the client has not shown that it has this answer")
        }
        try await connection.client.send(.shutdown)
        #expect(try await serving.value == .shutDown)
        #expect(asked.withLock { $0 } == 5)
        #expect(sent.withLock { $0 } == [1, 2, 3, 4, 5], "said after each answer was sent")
        #expect(delivered.withLock { $0 } == 5)
        #expect(connection.phoneWire.sent == 5, "a phone says no goodbye")
    }

    @Test("hears the right status of what can't be read, nobody is asked, and the next request is served")
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
        #expect(try await serving.value == .clientLeft(.goodbye))
    }

    @Test("who asks again before the answer gets none, and the question is taken down")
    func impatient() async throws {
        let connection = try Connection()
        let (asked, takenDown) = (Signal(), Signal())
        let serving = Self.serve(connection) { _ in
            asked.fire()
            await Signal.cancellation()
            takenDown.fire()
            return Self.success
        }
        try await Self.ask(connection, Self.signIn)
        await asked.wait()
        try await Self.ask(connection, Self.signIn)
        await takenDown.wait()
        guard case .clientMisbehaved = await Self.failure(of: serving) else {
            Issue.record("another end")
            return
        }
        #expect(connection.phoneWire.sent == 0)
    }

    /// The ways to leave.
    enum Leaving: CaseIterable {
        case shutdown, closed, wordless, gone, limited, lost, stalled

        /// What is known of it.
        var parting: ChannelCloseReason {
            switch self {
            case .shutdown, .closed, .wordless: .goodbye
            case .gone: .goneAway
            case .limited: .closed(code: 1008)
            case .lost, .stalled: .broken
            }
        }
    }

    private static func leave(_ connection: Connection, _ how: Leaving) async throws {
        switch how {
        case .shutdown: try await connection.client.send(.shutdown)
        case .closed: connection.clientWire.end(.closed(code: 1000))
        case .wordless: connection.clientWire.end(.closed(code: 1005))
        case .gone: connection.clientWire.end(.closed(code: 1001))
        case .limited: connection.clientWire.end(.closed(code: 1008))
        case .lost: connection.clientWire.end(.connectionLost)
        case .stalled: connection.clientWire.end(.stalled)
        }
    }

    @Test("who leaves takes the question down", arguments: Leaving.allCases)
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
        #expect(try await serving.value == .clientLeftDuringRequest(how.parting))
        #expect(connection.phoneWire.sent == 0)
    }

    @Test("a user who had agreed just before learns that nobody heard it", arguments: Leaving.allCases)
    func agreedTooLate(_ how: Leaving) async throws {
        let cases: [([UInt8], CTAPResponse, AuthenticatorOutcome)] = [
            (Self.signIn, Self.success, .answerLost(.getAssertion, how.parting)),
            (Self.creation, Self.success, .answerLost(.makeCredential, how.parting)),
            (Self.signIn, .failure(.operationDenied), .clientLeftDuringRequest(how.parting)),
            ([0x04], Self.success, .clientLeftDuringRequest(how.parting)),
        ]
        for (request, response, end) in cases {
            let connection = try Connection()
            let asked = Signal()
            let serving = Self.serve(connection) { _ in
                asked.fire()
                // What is being written to the disk now does not stop for a cancellation.
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
        "an answer that can't be sent is lost, whatever the cause",
        arguments: [
            (.closed(code: 1000), .goodbye), (.closed(code: 1001), .goneAway), (.connectionLost, .broken),
            (.stalled, .broken),
        ] as [(TunnelError, ChannelCloseReason)]
    )
    func undelivered(_ error: TunnelError, _ parting: ChannelCloseReason) async throws {
        for (response, end) in [
            (Self.success, AuthenticatorOutcome.answerLost(.getAssertion, parting)),
            (.failure(.noCredentials), .clientLeftDuringRequest(parting)),
        ] {
            let connection = try Connection()
            connection.phoneWire.failSending(error)
            let sent: @Sendable () async -> Void = { Issue.record("nothing was sent") }
            let serving = Self.serve(connection, sent: sent, delivered: sent) { _ in response }
            try await Self.ask(connection, Self.signIn)
            #expect(try await serving.value == end)
        }
    }

    @Test("a relay that says why it closed names the client's fault", arguments: [1003, 1009] as [UInt16])
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
            #expect(failure == .clientMisbehaved("it sent a message that relays don't carry"))
            #expect(failure?.status == .dataError)
        }
        // Who had agreed just before learns that first.
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

    @Test("who asks for nothing is not waited for, neither at first nor behind a request")
    func idle() async throws {
        let silent = try Connection()
        let serving = Self.serve(silent, untilRequest: .milliseconds(1)) { _ in Self.success }
        #expect(await Self.failure(of: serving) == .clientSilent)

        let idle = try Connection()
        try await Self.ask(idle, Self.signIn)
        let ending = Self.serve(idle, untilRequest: .seconds(1)) { _ in Self.success }
        #expect(try await ending.value == .clientLeft(.silence))
        #expect(idle.phoneWire.sent == 1)
    }

    @Test("who only ever sent what can't be read asked for nothing")
    func nothingReadable() async throws {
        let connection = try Connection()
        let serving = Self.serve(connection) { _ in Self.success }
        try await Self.ask(connection, [0x99])
        #expect(try await Self.answer(connection) == [0x01])
        try await connection.client.send(.shutdown)
        #expect(await Self.failure(of: serving) == .clientMisbehaved("nothing that it asked can be read"))
    }
}
