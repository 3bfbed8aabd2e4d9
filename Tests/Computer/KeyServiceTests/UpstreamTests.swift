// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridSSHAgent
import HybridThreads
import SSHTestSupport
import TestSupport
import Testing

@testable import HybridKeyService

@Suite("Requests for another agent")
struct UpstreamFramesTests {
    private func destination(_ message: [UInt8]) -> UpstreamFrames.Destination {
        UpstreamFrames.destination(of: Wire.string(message)) { $0 == [7] }
    }

    @Test("Lists go to both, foreign keys to the other agent, locks and own keys stay here")
    func destinations() {
        #expect(destination([11]) == .both)
        #expect(destination([13] + Wire.string([7]) + Wire.string("data")) == .own)
        #expect(destination([13] + Wire.string([8]) + Wire.string("data")) == .upstream)
        #expect(destination([13, 0, 0, 0, 9, 8]) == .own)
        for type: UInt8 in [17, 18, 19, 25] { #expect(destination([type]) == .upstream) }
        for type: UInt8 in [22, 23, 0, 99] { #expect(destination([type]) == .own) }
        #expect(destination([27] + Wire.string("session-bind@openssh.com") + [1]) == .binding)
        #expect(destination([27] + Wire.string("query")) == .own)
    }

    @Test("Messages are taken whole, in pieces of any length")
    func frames() {
        let messages: [[UInt8]] = [[11], [13, 1, 2, 3], [UInt8](repeating: 9, count: 300)].map { Wire.string($0) }
        for size in [1, 3, 64, 1000] {
            var frames = UpstreamFrames()
            var taken: [[UInt8]] = []
            var rest = messages.flatMap { $0 }[...]
            while !rest.isEmpty {
                frames.append(rest.prefix(size))
                rest = rest.dropFirst(size)
                while let message = frames.next() { taken.append(message) }
            }
            #expect(taken == messages)
        }
    }

    @Test("A message of impossible length is passed on as its header")
    func impossible() {
        for header: [UInt8] in [[0, 0, 0, 0], [0, 4, 0, 1], [0xFF, 0xFF, 0xFF, 0xFF]] {
            var frames = UpstreamFrames()
            frames.append(header)
            #expect(frames.next() == header)
        }
    }

    @Test("Lists are merged; an answer that is no list adds nothing")
    func merging() {
        let (first, second) = (Wire.string([1]) + Wire.string("a"), Wire.string([2]) + Wire.string("b"))
        let own = Wire.string([12, 0, 0, 0, 1] + first)
        #expect(
            UpstreamFrames.merged(own, Wire.string([12, 0, 0, 0, 1] + second))
                == Wire.string([12, 0, 0, 0, 2] + first + second)
        )
        let malformed: [[UInt8]] = [
            [5], [12, 0], [12, 0xFF, 0xFF, 0xFF, 0xFF] + second, [12, 0, 0, 0, 2] + second, [12, 0, 0, 0, 0] + second,
            [12, 0, 0, 0, 1] + Wire.string([2]),
        ]
        for other: [UInt8]? in [nil, []] + malformed.map({ Wire.string($0) }) {
            #expect(UpstreamFrames.merged(own, other) == own)
        }
    }

    @Test("The other agent is used if one of the two has verified the binding, and the other one knows of it")
    func bindings() {
        let (yes, no) = (Wire.string([6]), Wire.string([28]))
        for (own, other, isBound) in [
            (yes, yes, true), (yes, no, true), (no, yes, true), (no, no, false), (yes, nil, false), (no, [], false),
        ] as [([UInt8], [UInt8]?, Bool)] {
            #expect(UpstreamFrames.isBound(own, other) == isBound)
        }
    }
}

@Suite("An agent with another agent's keys", .timeLimit(.minutes(5)))
struct UpstreamTests {
    /// Runs `body` with an agent whose upstream is another one.
    private func withAgents(_ body: (_ agent: TestAgent, _ other: TestAgent) async throws -> Void) async throws {
        try await TestAgent.with { other in
            try await TestAgent.with(upstream: other.path) { agent in try await body(agent, other) }
        }
    }

    @Test("Lists the keys of both and signs with both")
    func keys() async throws {
        try await withAgents { agent, other in
            let client = try Connection(agent.path)
            let list = try #require(await client.ask([11]))
            for passkey in [agent.passkey, other.passkey] {
                let key = try passkey.publicKey.encoded
                #expect(list.firstRange(of: key) != nil)
            }
            #expect(Array(list.prefix(5)) == [12, 0, 0, 0, 2])
            #expect(await client.ask(try other.login())?.first == 14)
            #expect(await client.ask(try agent.login())?.first == 14)
            #expect(agent.asked.withLock { $0.count } == 1 && other.asked.withLock { $0.count } == 1)
        }
    }

    @Test("The other agent learns bindings, and a failed one ends its use")
    func bindings() async throws {
        try await withAgents { agent, other in
            let server = TestServer()
            let message = try other.passkey.sign(messageData())
            let client = try Connection(agent.path)
            #expect(await client.ask(try server.bind(TestServer.session(1), isForwarded: true)) == [6])
            // A forwarded message, which the other agent refuses because it knows the binding.
            #expect(await client.ask(message) == [5])
            let second = try Connection(agent.path)
            #expect(await second.ask(try server.bind(TestServer.session(1), signing: TestServer.session(2))) == [28])
            #expect(await second.ask(message) == [5])
            #expect(other.asked.withLock { $0 } == [])
        }
    }

    @Test("Another agent that knows no bindings is not used after a failed one")
    func oldAgent() async throws {
        try await TestFolder.with { folder in
            let path = folder.path + "/old.sock"
            let listener = try Self.listener(at: path)
            defer { close(listener) }
            let serving = Task { await DedicatedThread.run { Self.serveOldAgent(listener) } }
            try await TestAgent.with(upstream: path) { agent in
                let request = [13] + Wire.string([8]) + Wire.string("data")
                let client = try Connection(agent.path)
                #expect(await client.ask(request) == [14])
                let failing = try TestServer().bind(TestServer.session(1), signing: TestServer.session(2))
                #expect(await client.ask(failing) == [28])
                #expect(await client.ask(request) == [5])
                client.leave()
            }
            await serving.value
        }
    }

    private static func listener(at path: String) throws -> CInt {
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(code == 0 && listen(descriptor, 1) == 0)
        return descriptor
    }

    /// Serves one connection as an agent that knows no extensions, and signs whatever it receives.
    private static func serveOldAgent(_ listener: CInt) {
        let descriptor = accept(listener, nil, nil)
        defer { close(descriptor) }
        var frames = UpstreamFrames()
        var bytes = [UInt8](repeating: 0, count: 4096)
        while case let count = recv(descriptor, &bytes, bytes.count, 0), count > 0 {
            frames.append(bytes.prefix(count))
            while let frame = frames.next() {
                let reply = Wire.string([frame[4] == 27 ? 28 : 14])
                _ = send(descriptor, reply, reply.count, CInt(MSG_NOSIGNAL))
            }
        }
    }

    @Test("A locked agent hides the keys of both")
    func lock() async throws {
        try await withAgents { agent, other in
            let client = try Connection(agent.path)
            #expect(await client.ask([22] + Wire.string("secret")) == [6])
            #expect(await client.ask([11]) == [12, 0, 0, 0, 0])
            #expect(await client.ask(try other.login()) == [5])
            #expect(await client.ask([23] + Wire.string("secret")) == [6])
            #expect(await client.ask(try other.login())?.first == 14)
        }
    }

    @Test("The other agent learns bindings while this one is locked")
    func bindingWhileLocked() async throws {
        try await withAgents { agent, other in
            let client = try Connection(agent.path)
            #expect(await client.ask([22] + Wire.string("secret")) == [6])
            #expect(await client.ask(try TestServer().bind(TestServer.session(1), isForwarded: true)) == [6])
            #expect(await client.ask([23] + Wire.string("secret")) == [6])
            // A forwarded message, which the other agent refuses because it knows the binding.
            #expect(await client.ask(try other.passkey.sign(messageData())) == [5])
            #expect(other.asked.withLock { $0 } == [])
        }
    }

    @Test("Another agent that does not answer delays a list for some seconds only")
    func silent() async throws {
        try await TestFolder.with { folder in
            let path = folder.path + "/silent.sock"
            let other = try UnresponsiveSocket(path: path)
            try await TestAgent.with(upstream: path) { agent in
                // The connection waits for 30 s.
                let client = try Connection(agent.path)
                #expect(try #require(await client.ask([11])).prefix(5) == [12, 0, 0, 0, 1])
                #expect(await client.ask(try agent.login())?.first == 14)
            }
            withExtendedLifetime(other) {}
        }
        for (type, mayAsk) in [(11, false), (13, true), (17, true), (19, false), (18, false), (27, false)]
            as [(UInt8, Bool)]
        {
            #expect(UpstreamFrames.mayAskUser(Wire.string([type])) == mayAsk)
        }
    }

    @Test("Without the other agent, the own keys work")
    func absent() async throws {
        try await TestAgent.with(upstream: "/nonexistent/agent.sock") { agent in
            let client = try Connection(agent.path)
            let list = try #require(await client.ask([11]))
            #expect(Array(list.prefix(5)) == [12, 0, 0, 0, 1])
            #expect(await client.ask(try agent.login())?.first == 14)
            #expect(await client.ask([17]) == [5])
        }
    }
}
