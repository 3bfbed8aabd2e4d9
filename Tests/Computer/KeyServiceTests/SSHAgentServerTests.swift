// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HybridCommandSupport
import HybridPrimitives
import HybridProgram
import HybridSSHAgent
import HybridThreads
import SSHTestSupport
import TestSupport
import Testing

@testable import HybridKeyService

/// An agent on a socket, whose user answers as the test decides.
final class TestAgent: Sendable {
    let path: String
    let passkey: TestPasskey
    let store: SSHKeyStore
    /// Requests that the user has been asked for.
    let asked = Locked<[String]>([])
    /// True while the user may answer.
    let mayAnswer = Locked(true)
    let cancellations = Locked(0)
    private let server: SSHAgentServer
    private let socket: ServiceSocket

    init(_ folder: TestFolder, upstream: String? = nil, isRestricted: Bool = false) throws {
        path = folder.path + "/agent.sock"
        let passkey = try TestPasskey()
        self.passkey = passkey
        store = SSHKeyStore(in: try StateFolder(path: folder.path + "/state"))
        try store.add([try storedKey(passkey)])
        let (asked, mayAnswer, cancellations) = (asked, mayAnswer, cancellations)
        let signing = SigningService { job in
            asked.withLock { $0.append(SigningDescription(job.request, hostName: nil).text) }
            var polled = pollfd(fd: job.cancellation.descriptor, events: Int16(POLLIN), revents: 0)
            while !mayAnswer.withLock({ $0 }) {
                guard poll(&polled, 1, 10) == 0 else {
                    cancellations.withLock { $0 += 1 }
                    return .failure(.notSigned)
                }
            }
            guard let assertion = try? passkey.assertion(job.request.data.bytes),
                let key = try? passkey.publicKey
            else { return .failure(.notSigned) }
            let signature = try? SSHSignature(
                derSignature: assertion.der,
                authenticatorData: assertion.authenticatorData,
                by: key,
                over: job.request.data
            )
            return signature.map(Result.success) ?? .failure(.notSigned)
        }
        let keys = try SSHKeyRing(store) { _ in }
        server = try #require(
            SSHAgentServer(keys: keys, signing: signing, upstream: upstream, isRestricted: isRestricted) { _ in }
        )
        socket = try ServiceSocket(path: path)
        let (server, socket) = (server, socket)
        try #require(DedicatedThread.start { server.serve(socket) })
    }

    func stop() {
        server.stop()
        socket.remove()
    }

    static func with(
        upstream: String? = nil,
        isRestricted: Bool = false,
        _ body: (TestAgent) async throws -> Void
    ) async throws {
        try await TestFolder.with { folder in
            let agent = try TestAgent(folder, upstream: upstream, isRestricted: isRestricted)
            defer { agent.stop() }
            try await body(agent)
        }
    }

    func login(_ number: UInt8 = 1) throws -> [UInt8] {
        try passkey.sign(try passkey.login(TestServer.session(number)))
    }
}

/// A connection to an agent; its calls block for at most 30 s.
final class Connection {
    private var descriptor: CInt

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var timeout = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(code == 0)
    }

    deinit { leave() }

    func leave() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    /// Ends only the direction to the agent.
    func endSending() { shutdown(descriptor, CInt(SHUT_WR)) }

    func send(raw bytes: [UInt8]) { _ = Glibc.send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL)) }

    func send(_ message: [UInt8]) { send(raw: Wire.string(message)) }

    /// Returns the next answer without its length; `nil` at the end of the connection.
    func answer() async -> [UInt8]? {
        let descriptor = descriptor
        let (answer, isSilent) = await DedicatedThread.run {
            var isSilent = false
            func read(_ count: Int) -> [UInt8]? {
                var bytes = [UInt8](repeating: 0, count: count)
                guard count > 0 else { return bytes }
                let received = recv(descriptor, &bytes, count, CInt(MSG_WAITALL))
                isSilent = received < 0 && errno == EAGAIN
                return received == count ? bytes : nil
            }
            return (read(4).flatMap { read($0.reduce(0) { $0 << 8 | Int($1) }) }, isSilent)
        }
        #expect(!isSilent, "the agent neither answers nor closes the connection")
        return answer
    }

    func ask(_ message: [UInt8]) async -> [UInt8]? {
        send(message)
        return await answer()
    }
}

@Suite("The agent's socket", .timeLimit(.minutes(5)))
struct AgentServerTests {
    @Test("Lists keys and signs a login after the user has answered")
    func login() async throws {
        try await TestAgent.with { agent in
            let client = try Connection(agent.path)
            let list = try #require(await client.ask([11]))
            let key = try agent.passkey.publicKey.encoded
            #expect(list.first == 12 && list.firstRange(of: key) != nil)
            let answer = try #require(await client.ask(try agent.login()))
            #expect(answer.first == 14)
            #expect(agent.asked.withLock { $0.count } == 1)
        }
    }

    @Test("A new key is offered at once, a forgotten one no more")
    func reload() async throws {
        try await TestAgent.with { agent in
            let client = try Connection(agent.path)
            let other = try TestPasskey("ssh-new.invalid")
            try agent.store.add([try storedKey(other, named: "new")])
            let list = try #require(await client.ask([11]))
            let key = try other.publicKey.encoded
            #expect(list.firstRange(of: key) != nil)
            _ = try agent.store.remove("new")
            #expect(await client.ask(try other.sign(try other.login(TestServer.session(1)))) == [5])
            #expect(agent.asked.withLock { $0 } == [])
        }
    }

    @Test("The user is asked for one request at a time")
    func queue() async throws {
        try await TestAgent.with { agent in
            agent.mayAnswer.withLock { $0 = false }
            let clients = try (0..<3).map { _ in try Connection(agent.path) }
            for client in clients { client.send(try agent.login()) }
            try await Waiting.until("the first request") { agent.asked.withLock { $0.count } == 1 }
            // An answer to a further client shows that the agent has read the earlier requests.
            #expect(await (try Connection(agent.path)).ask([11])?.first == 12)
            #expect(agent.asked.withLock { $0.count } == 1)
            agent.mayAnswer.withLock { $0 = true }
            for client in clients { #expect(await client.answer()?.first == 14) }
            #expect(agent.asked.withLock { $0.count } == 3)
        }
    }

    @Test("A client that leaves takes its prompt with it, and the next one is asked")
    func leaving() async throws {
        try await TestAgent.with { agent in
            agent.mayAnswer.withLock { $0 = false }
            let first = try Connection(agent.path)
            first.send(try agent.login())
            try await Waiting.until("the first request") { agent.asked.withLock { $0.count } == 1 }
            first.leave()
            try await Waiting.until("the prompt to close") { agent.cancellations.withLock { $0 } == 1 }
            agent.mayAnswer.withLock { $0 = true }
            #expect(await (try Connection(agent.path)).ask(try agent.login())?.first == 14)
        }
    }

    @Test("A client that leaves while it waits is never asked for")
    func leavingTheQueue() async throws {
        try await TestAgent.with { agent in
            agent.mayAnswer.withLock { $0 = false }
            let first = try Connection(agent.path)
            first.send(try agent.login())
            try await Waiting.until("the first request") { agent.asked.withLock { $0.count } == 1 }
            let second = try Connection(agent.path)
            #expect(await second.ask([11])?.first == 12)
            second.send(try agent.login(2))
            second.leave()
            agent.mayAnswer.withLock { $0 = true }
            #expect(await first.answer()?.first == 14)
            #expect(await first.ask([11])?.first == 12)
            #expect(agent.asked.withLock { $0.count } <= 2)
        }
    }

    @Test("Data that is no login and no message is refused without a prompt")
    func otherData() async throws {
        try await TestAgent.with { agent in
            let client = try Connection(agent.path)
            let clientData = Array(#"{"type":"webauthn.get","challenge":"AA","origin":"https://example.com"}"#.utf8)
            #expect(await client.ask(try agent.passkey.sign(clientData)) == [5])
            #expect(await client.ask(try agent.passkey.sign(try agent.login() + [0])) == [5])
            #expect(agent.asked.withLock { $0 } == [])
        }
    }

    @Test("A message that is too long ends the connection")
    func longMessage() async throws {
        try await TestAgent.with { agent in
            let client = try Connection(agent.path)
            client.send(raw: [0, 4, 0, 1])
            #expect(await client.answer() == nil)
            #expect(await (try Connection(agent.path)).ask([11])?.first == 12)
        }
    }

    @Test("Connections beyond the limit are closed; the others go on")
    func connectionLimit() async throws {
        try await TestAgent.with { agent in
            let clients = try (0..<SSHAgentServer.maximumConnections).map { _ in try Connection(agent.path) }
            for client in clients { #expect(await client.ask([11])?.first == 12) }
            #expect(await (try Connection(agent.path)).ask([11]) == nil)
            #expect(await clients[0].ask([11])?.first == 12)
        }
    }

    @Test("The places of connections leave descriptors for ceremonies, whatever the limit on them")
    func descriptorLimit() {
        #expect(SSHAgentServer.connections(within: 1024) >= SSHAgentServer.maximumConnections)
        for limit in [128, 256, 512, 1024, 65_536] {
            // A socket, a waker, and a connection to another agent.
            #expect(limit - 3 * SSHAgentServer.connections(within: limit) >= 64)
        }
        #expect(SSHAgentServer.connections(within: 16) == 4)
    }

    @Test("Idle connections of one host leave room for other hosts, and those of all hosts for this computer")
    func forwardedConnections() async throws {
        let places = ConnectionPlaces(maximum: SSHAgentServer.maximumConnections)
        try await TestAgent.with { agent in
            var clients: [Connection] = []
            func connect(_ server: TestServer) async throws -> Bool {
                let client = try Connection(agent.path)
                let bind = try server.bind(TestServer.session(1), isForwarded: true)
                #expect(await client.ask(bind) == [6])
                guard await client.ask([11])?.first == 12 else { return false }
                clients.append(client)
                return true
            }
            let (first, second) = (TestServer(), TestServer())
            for _ in 0..<places.maximumForHost { #expect(try await connect(first)) }
            #expect(try await !connect(first))
            for _ in 0..<places.maximumForHost { #expect(try await connect(second)) }
            #expect(try await !connect(TestServer()))
            for _ in 0..<100 {
                let client = try Connection(agent.path)
                #expect(await client.ask([11])?.first == 12)
                clients.append(client)
            }
            // A host gets its place back when one of its connections ends.
            clients.removeFirst()
            try await Waiting.until("a free place") { try await connect(first) }
        }
    }

    @Test("Equal refusals are written once a minute, with the number of those in between")
    func refusalLines() {
        var lines = RepeatedLines()
        let start = ContinuousClock.now
        #expect(lines.line("a", at: start) == "a")
        for second in 1..<60 { #expect(lines.line("a", at: start + .seconds(second)) == nil) }
        #expect(lines.line("b", at: start + .seconds(2)) == "b")
        #expect(lines.line("a", at: start + .seconds(60)) == "a; 59 more like it since the last such line")
        #expect(lines.line("a", at: start + .seconds(120)) == "a")
    }

    @Test("A restricted socket signs bound logins, and offers no keys of another agent")
    func restrictedSocket() async throws {
        try await TestAgent.with { other in
            try await TestAgent.with(upstream: other.path, isRestricted: true) { agent in
                let client = try Connection(agent.path)
                #expect(try #require(await client.ask([11])).prefix(5) == [12, 0, 0, 0, 1])
                #expect(await client.ask([17]) == [5])
                #expect(await client.ask(try agent.login()) == [5])
                #expect(await client.ask([22] + Wire.string("secret")) == [5])
                let (server, session) = (TestServer(), TestServer.session(1))
                #expect(await client.ask(try server.bind(session)) == [6])
                let login = try agent.passkey.login(session, hostKey: server.blob)
                #expect(await client.ask(try agent.passkey.sign(login))?.first == 14)
                let asked = agent.asked.withLock { $0 }
                #expect(asked.count == 1 && asked[0].hasSuffix(", forwarded through an unknown host"))
                #expect(other.asked.withLock { $0 } == [])
            }
        }
    }

    @Test("Connections of a restricted socket leave room in the queue")
    func restrictedConnections() async throws {
        #expect(SSHAgentServer.maximumRestrictedConnections < SigningQueue<SigningJob>.maximumWaiting)
        try await TestAgent.with(isRestricted: true) { agent in
            let clients = try (0..<SSHAgentServer.maximumRestrictedConnections).map { _ in try Connection(agent.path) }
            for client in clients { #expect(await client.ask([11])?.first == 12) }
            #expect(await (try Connection(agent.path)).answer() == nil)
        }
    }

    @Test("Only the agent's user and root may use it")
    func users() {
        for (user, isAllowed) in [(1000, true), (0, true), (1001, false), (65534, false)] as [(uid_t, Bool)] {
            #expect(PeerCredentials(processID: 1, user: user).mayUseAgent(of: 1000) == isAllowed)
        }
    }

    @Test("The socket is for its user alone, and removed at the end")
    func socketFile() async throws {
        var path = ""
        try await TestAgent.with { agent in
            path = agent.path
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(throws: (any Error).self) { try ServiceSocket(path: agent.path) }
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("While another agent starts in the same folder, no socket is created or replaced")
    func startingTogether() async throws {
        try await TestFolder.with { folder in
            let path = folder.path + "/agent.sock"
            close(try ServiceSocket(path: path).descriptor)
            var (before, after) = (stat(), stat())
            #expect(lstat(path, &before) == 0)
            let other = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            defer { close(other) }
            #expect(flock(other, LOCK_EX) == 0)
            #expect(throws: CommandFailure.self) { try ServiceSocket(path: path, patience: .milliseconds(50)) }
            #expect(lstat(path, &after) == 0 && after.st_ino == before.st_ino)
            flock(other, LOCK_UN)
            let socket = try ServiceSocket(path: path)
            #expect(throws: CommandFailure.self) { try ServiceSocket(path: path) }
            socket.remove()
        }
    }

    @Test("A socket whose process accepts no connections is not replaced")
    func busySocket() async throws {
        try await TestFolder.with { folder in
            let path = folder.path + "/agent.sock"
            let busy = try ServiceSocket(path: path)
            defer { busy.remove() }
            listen(busy.descriptor, 0)
            // One connection fills the shortest queue.
            let client = try Connection(path)
            #expect(throws: CommandFailure.self) { try ServiceSocket(path: path) }
            client.leave()
        }
    }

    @Test("A socket that has taken the path is not removed")
    func takenPath() async throws {
        try await TestFolder.with { folder in
            let path = folder.path + "/agent.sock"
            let first = try ServiceSocket(path: path)
            // As systemd does when hybrid-key-agent.socket is started.
            unlink(path)
            let second = try ServiceSocket(path: path)
            first.remove()
            #expect(FileManager.default.fileExists(atPath: path))
            second.remove()
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("A socket that an ended process left behind is replaced, another file is not")
    func leftBehind() async throws {
        try await TestFolder.with { folder in
            let path = folder.path + "/agent.sock"
            close(try ServiceSocket(path: path).descriptor)
            try ServiceSocket(path: path).remove()
            try folder.write("text", to: "agent.sock")
            #expect(throws: (any Error).self) { try ServiceSocket(path: path) }
            #expect(TestFile.text(path) == "text")
        }
    }
}
