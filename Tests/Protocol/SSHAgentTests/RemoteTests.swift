// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import SSHTestSupport
import Testing

@testable import HybridSSHAgent

@Suite("Messages about websites on other hosts")
struct RemoteMessageTests {
    private func message(_ members: String) throws(RemoteMessageError) -> RemoteMessage {
        try RemoteMessage(parsing: Array("{\(members)}".utf8))
    }

    private let get = #""version":1,"type":"get","origin":"https://shop.example","publicKey":{"challenge":"AA"}"#

    @Test("A message is read as it was written")
    func roundTrip() throws {
        let plain = try message(get)
        #expect(plain.operation == .get && plain.origin == "https://shop.example" && plain.topOrigin == nil)
        #expect(String(decoding: plain.request, as: UTF8.self) == #"{"publicKey":{"challenge":"AA"}}"#)
        #expect(try RemoteMessage(parsing: plain.encoded).encoded == plain.encoded)
        let frame = try message(get + #","crossOrigin":true,"topOrigin":"https://top.example""#)
        #expect(frame.topOrigin == "https://top.example")
        #expect(try RemoteMessage(parsing: frame.encoded).encoded == frame.encoded)
        let create = try message(#""version":1,"type":"create","origin":"o","crossOrigin":false,"publicKey":{"rp":{}}"#)
        #expect(create.operation == .create)
    }

    @Test(
        "Unknown, missing, repeated and mistyped members are refused",
        arguments: [
            (#","extra":1"#, RemoteMessageError.malformed), (#","type":"get""#, .malformed),
            (#","crossOrigin":"no""#, .malformed), (#","crossOrigin":true"#, .frame),
            (#","topOrigin":"https://top.example""#, .frame), (#","crossOrigin":true,"topOrigin":1"#, .malformed),
        ]
    )
    func additions(_ addition: String, _ expected: RemoteMessageError) {
        #expect(throws: expected) { try message(get + addition) }
    }

    @Test(
        "A message of another kind is refused",
        arguments: [
            ("", RemoteMessageError.version), (#""version":2,"type":"get","origin":"o","publicKey":{}"#, .version),
            (#""version":1,"type":"sign","origin":"o","publicKey":{}"#, .malformed),
            (#""version":1,"type":"get","publicKey":{}"#, .malformed),
            (#""version":1,"type":"get","origin":"o","publicKey":[]"#, .malformed),
            (#""version":1,"type":"get","origin":"o","publicKey":{"rp":{}}"#, .malformed),
            (#""version":1,"type":"create","origin":"o","publicKey":{}"#, .malformed),
        ]
    )
    func otherKinds(_ members: String, _ expected: RemoteMessageError) {
        #expect(throws: expected) { try message(members) }
    }

    @Test("Broken UTF-8, text behind the message and a message above the limit are refused")
    func bytes() {
        let whole = Array("{\(get)}".utf8)
        #expect(throws: RemoteMessageError.malformed) { try RemoteMessage(parsing: whole + [0x31]) }
        #expect(throws: RemoteMessageError.malformed) { try RemoteMessage(parsing: [0x7B, 0xFF, 0x7D]) }
        let long = whole + [UInt8](repeating: 0x20, count: RemoteMessage.maximumLength)
        #expect(throws: RemoteMessageError.tooLong) { try RemoteMessage(parsing: long) }
    }

    @Test("The other host learns a name, a code and a fixed message")
    func answers() throws {
        for code in RemoteFailureCode.allCases {
            let answer = RemoteAnswer.failure(.init(code, name: "SecurityError"))
            guard case .failure(let failure)? = RemoteAnswer(parsing: answer.encoded) else {
                Issue.record("\(code) is not read again")
                continue
            }
            #expect(failure == .init(code, name: "SecurityError"))
        }
        let response = RemoteAnswer.response(.object([("id", .string("x"))]))
        #expect(String(decoding: response.encoded, as: UTF8.self) == #"{"response":{"id":"x"}}"#)
        for malformed in ["{}", "[]", #"{"response":1}"#, #"{"response":{},"error":{}}"#, #"{"error":{"name":"x"}}"#] {
            #expect(RemoteAnswer(parsing: Array(malformed.utf8)) == nil, "\(malformed)")
        }
    }

    @Test("The carrier's messages are those of the agent protocol")
    func carrier() throws {
        let name = RemoteMessage.extensionName
        let request = RemoteCarrier.request([1, 2])
        #expect(request == Wire.string([27] + Wire.string(name) + Wire.string([1, 2])))
        #expect(RemoteCarrier.query == Wire.string([27] + Wire.string("query")))
        #expect(RemoteCarrier.length(header: Array(request.prefix(4))) == request.count - 4)
        for header in [[0, 0, 0, 0], [0, 4, 0, 1], [0, 0, 1]] as [[UInt8]] {
            #expect(RemoteCarrier.length(header: header) == nil)
        }
        guard case .unknown? = RemoteCarrier.answer(in: [5]), case .unavailable? = RemoteCarrier.answer(in: [28]) else {
            Issue.record("the answers of one byte are not known")
            return
        }
        let known = RemoteAnswer.failure(.init(.refused)).encoded
        guard case .answer? = RemoteCarrier.answer(in: [29] + Wire.string(name) + Wire.string(known)) else {
            Issue.record("an answer is not read")
            return
        }
        let malformed: [[UInt8]] = [
            [], [6], [5, 0], [28, 0], [29], [29] + Wire.string("other") + Wire.string(known),
            [29] + Wire.string(name) + Wire.string(known) + [0], [29] + Wire.string(name) + Wire.string([1]),
        ]
        for message in malformed {
            #expect(RemoteCarrier.answer(in: message) == nil, "\(message.prefix(40))")
        }
    }
}

@Suite("Requests of websites on a connection")
struct RemoteConnectionTests {
    let server = TestServer()
    let session = TestServer.session(1)
    var state = AgentState(keys: [])
    var client = TestClient()
    private let request: [UInt8] = [27] + Wire.string(RemoteMessage.extensionName) + Wire.string([1, 2, 3])

    private func remoteRequest(_ action: AgentConnection.Action) -> RemoteRequest? {
        if case .remote(let request) = action { request } else { nil }
    }

    /// Returns true for the answer that a host gets for each reason.
    private func isRefused(_ action: AgentConnection.Action, _ refusal: AgentRefusal?) -> Bool {
        let name = RemoteMessage.extensionName
        let expected = [29] + Wire.string(name) + Wire.string(RemoteAnswer.failure(.init(.refused)).encoded)
        return action.reply?.bytes == Wire.string(expected) && action.refusal == refusal
    }

    @Test("Each hop that forwards the agent is named, nearest first")
    mutating func hops() throws {
        let (first, second) = (TestServer(), TestServer())
        let action = try client.send(
            first.bind(session, isForwarded: true),
            second.bind(TestServer.session(2), isForwarded: true),
            request,
            to: &state
        )
        let remote = try #require(remoteRequest(action))
        #expect(remote.origin == .hosts([try first.hostKey, try second.hostKey]))
        #expect(remote.message == [1, 2, 3])
        #expect(client.connection.firstSession?.bytes == session)
    }

    @Test("A request of this computer, or of a session that logs in, is refused like any other")
    mutating func notForwarded() throws {
        let unproved = try client.send(request, to: &state)
        #expect(isRefused(unproved, .unprovedHost))
        #expect(client.connection.firstSession == nil)
        let direct = try client.send(server.bind(session), request, to: &state)
        #expect(isRefused(direct, .notForwarded))
        var other = TestClient()
        let login = try TestServer().bind(TestServer.session(2))
        let action = try other.send(server.bind(session, isForwarded: true), login, request, to: &state)
        #expect(isRefused(action, .notForwarded))
    }

    @Test("After a bad binding, nothing is served")
    mutating func badBinding() throws {
        let forged = try server.bind(session, isForwarded: true, signing: TestServer.session(2))
        for message in [forged, [27] + Wire.string("session-bind@openssh.com")] {
            var client = TestClient()
            let action = try client.send(message, server.bind(session, isForwarded: true), request, to: &state)
            #expect(action.type == 28 && action.refusal == .bindingFailed)
        }
    }

    @Test("A locked agent refuses")
    mutating func locked() throws {
        _ = try client.send([22] + Wire.string("secret"), server.bind(session, isForwarded: true), to: &state)
        let action = try client.send(request, to: &state)
        #expect(isRefused(action, .locked))
    }

    @Test("A named socket stands for all hosts behind it")
    mutating func namedSocket() throws {
        client.connection = AgentConnection(isRestricted: true, socketName: "dev")
        let local = try client.send(request, to: &state)
        #expect(remoteRequest(local)?.origin == .socket("dev"))
        client.connection = AgentConnection(isRestricted: true, socketName: "dev")
        let action = try client.send(server.bind(session, isForwarded: true), request, to: &state)
        #expect(remoteRequest(action)?.origin == .socket("dev"))
    }

    @Test("One request waits for its answer, and is answered once")
    mutating func answer() throws {
        let action = try client.send(server.bind(session, isForwarded: true), request, to: &state)
        let id = try #require(remoteRequest(action)).id
        try client.connection.receive(Wire.string([11]))
        let waiting = try client.connection.next(&state, at: client.now)
        #expect(waiting == nil)
        let answer = RemoteAnswer.response(.object([]))
        let reply = client.connection.complete(id, with: answer)
        let name = RemoteMessage.extensionName
        #expect(reply?.bytes == Wire.string([29] + Wire.string(name) + Wire.string(#"{"response":{}}"#)))
        let second = client.connection.complete(id, with: answer)
        #expect(second == nil)
        let list = try client.connection.next(&state, at: client.now)
        #expect(list?.type == 12)
    }

    @Test("A request whose client has left is not answered")
    mutating func leaving() throws {
        let action = try client.send(server.bind(session, isForwarded: true), request, to: &state)
        let id = try #require(remoteRequest(action)).id
        let closed = client.connection.close()
        let answer = client.connection.complete(id, with: .failure(.init(.failed)))
        #expect(closed == id && answer == nil)
    }

    @Test("A response above the limit becomes a failure instead of ending the connection")
    mutating func longResponse() throws {
        let action = try client.send(server.bind(session, isForwarded: true), request, to: &state)
        let text = String(repeating: "x", count: RemoteMessage.maximumLength)
        let reply = client.connection.complete(
            try #require(remoteRequest(action)).id,
            with: .response(.object([("id", .string(text))]))
        )
        let expected = RemoteAnswer.failure(.init(.failed)).encoded
        #expect(reply?.bytes == Wire.string([29] + Wire.string(RemoteMessage.extensionName) + Wire.string(expected)))
    }

    @Test("The extension is listed")
    mutating func query() throws {
        let reply = try #require(client.send([27] + Wire.string("query"), to: &state).reply)
        #expect(RemoteCarrier.isListed(in: Array(reply.bytes.dropFirst(4))))
        #expect(!RemoteCarrier.isListed(in: [29] + Wire.string("query") + Wire.string("query")))
        #expect(!RemoteCarrier.isListed(in: [5]))
    }
}
