// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import TestSupport

@testable import HybridSSHAgent

/// Fuzzes a connection to the agent.
///
/// The first byte contains options, the second the length of pieces; the rest is what the client sends.
func fuzzSSHAgent(_ input: [UInt8]) throws -> Bool {
    guard input.count > 2 else { return false }
    let stream = Array(input.dropFirst(2))
    let whole = try Conversation.answers(input[0], stream, in: stream.count)
    let pieces = try Conversation.answers(input[0], stream, in: Int(input[1]) + 1)
    try invariant(whole == pieces, "the answers do not depend on the pieces")
    return whole.contains { [6, 12, 14, 29].contains($0.first) }
}

/// A client's conversation with the agent, whose rules are checked after each step.
private struct Conversation {
    private let isRestricted: Bool
    private var connection: AgentConnection
    private var state: AgentState
    private let start = ContinuousClock.now
    /// True if a binding failed: nothing may be signed afterwards.
    private var isTainted = false
    /// The contents of all answers; that of a sign request is its data.
    private var answers: [[UInt8]] = []

    /// Returns the answers to a stream that arrives in pieces.
    static func answers(_ options: UInt8, _ stream: [UInt8], in size: Int) throws -> [[UInt8]] {
        var conversation = Conversation(
            state: AgentState(keys: [try FuzzedKey.agentKey(options)]),
            isRestricted: options & 2 != 0
        )
        return try conversation.run(stream, in: size)
    }

    private init(state: AgentState, isRestricted: Bool) {
        self.state = state
        self.isRestricted = isRestricted
        connection = AgentConnection(isRestricted: isRestricted)
    }

    private mutating func run(_ stream: [UInt8], in size: Int) throws -> [[UInt8]] {
        do {
            for piece in stream.pieces(of: size) {
                try connection.receive(piece)
                while let action = try connection.next(&state, at: start) { try check(action, stream) }
            }
        } catch is AgentProtocolError {
            answers.append([0])
        }
        _ = connection.close()
        return answers
    }

    private mutating func check(_ action: AgentConnection.Action, _ stream: [UInt8]) throws {
        switch action {
        case .reply(let reply): try check(reply)
        case .sign(let request):
            try invariant(!state.lock.isLocked, "a locked agent signs nothing")
            try invariant(!isTainted, "nothing is signed after a failed binding")
            try invariant(request.isForwarded || !isRestricted, "a restricted connection is forwarded")
            if isRestricted, case .login(_, let host, _) = request.purpose {
                try invariant(host != nil, "a login on a restricted connection is bound")
            }
            try invariant(stream.contains(request.data.bytes), "the data is what the client sent")
            let subject = request.shownSubject.description.unicodeScalars
            try invariant(subject.allSatisfy { $0.properties.generalCategory != .control }, "a prompt is one line")
            answers.append([14] + request.data.bytes)
            var other = AgentConnection()
            try invariant(other.complete(request.id, with: nil) == nil, "a request belongs to its connection")
            let reply = try present(connection.complete(request.id, with: nil), "a pending request can be answered")
            try invariant(connection.complete(request.id, with: nil) == nil, "a request is answered once")
            try check(reply)
        case .remote(let request):
            try invariant(!state.lock.isLocked && !isTainted, "no website after a lock or a failed binding")
            guard case .hosts(let hosts) = request.origin else { throw BrokenInvariant(description: "no host") }
            try invariant(!hosts.isEmpty, "a host is proved")
            try invariant(stream.contains(request.message), "the message is what the client sent")
            answers.append([29] + request.message)
            let answer = RemoteAnswer.failure(.init(.refused))
            let reply = try present(connection.complete(request.id, with: answer), "a request can be answered")
            let second = connection.complete(request.id, with: answer)
            try invariant(second == nil, "a request is answered once")
            try check(reply)
        }
        try invariant(connection.capacity >= 0, "the buffer is bounded")
    }

    private mutating func check(_ reply: AgentReply) throws {
        let length = reply.bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        try invariant(reply.bytes.count == 4 + length && length > 0, "an answer is one message")
        try invariant([5, 6, 12, 28, 29].contains(reply.bytes[4]), "of a known type")
        try invariant(reply.delay <= .seconds(10), "a delay is bounded")
        if reply.bytes[4] == 28 { isTainted = true }
        answers.append(Array(reply.bytes.dropFirst(4)))
    }
}
