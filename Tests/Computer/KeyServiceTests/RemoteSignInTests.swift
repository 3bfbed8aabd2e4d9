// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridCTAP
import HybridCommandSupport
import HybridPrimitives
import HybridProgram
import HybridSSHAgent
import HybridThreads
import SSHTestSupport
import TestSupport
import Testing

@testable import HybridKeyService

/// An agent whose socket serves websites on other hosts, with programs in place of the prompt and the ceremony.
private final class RemoteAgent: Sendable {
    let path: String
    let host = TestServer()
    let permissions: RemotePermissionStore
    let journal: Journal
    let reports = Locked<[String]>([])
    private let folder: TestFolder
    private let server: SSHAgentServer
    private let socket: ServiceSocket

    /// - Parameters:
    ///   - prompt: The shell script of the prompt, which has read the request and the question.
    ///   - ceremony: The shell script of the ceremony.
    init(
        _ folder: TestFolder,
        prompt: String?,
        ceremony: String,
        socketName: String? = nil,
        isLocked: Bool = false,
        seconds: Int = 100
    ) async throws {
        self.folder = folder
        path = folder.path + "/agent.sock"
        let state = try StateFolder(path: folder.path + "/state")
        (permissions, journal) = (RemotePermissionStore(in: state), Journal(in: state))
        let (program, window) = (folder.path + "/child", folder.path + "/prompt")
        try await TestFile.writeProgram("#!/bin/sh\necho started >>\(folder.path)/started\n\(ceremony)", to: program)
        let script = "#!/bin/sh\nread request\necho \"$request\" >>\(folder.path)/requests\n\(prompt ?? "")"
        try await TestFile.writeProgram(script, to: window)
        let display = prompt == nil ? CeremonyDisplay.page : .prompt(path: window)
        let store = SSHKeyStore(in: state)
        try store.add([try storedKey(try TestPasskey("key.example.org"))])
        let keys = try SSHKeyRing(store) { _ in }
        let reports = reports
        let remote = RemoteSignInService(
            launcher: CeremonyLauncher(program: [program], isLocked: { isLocked }, display: { display }),
            permissions: permissions,
            keys: keys,
            journal: journal,
            knownHosts: [],
            seconds: seconds
        ) { line in reports.withLock { $0.append(line) } }
        let signing = SigningService { _ in .failure(.notSigned) }
        server = try #require(
            SSHAgentServer(keys: keys, signing: signing, remote: remote, socketName: socketName) { line in
                reports.withLock { $0.append(line) }
            }
        )
        socket = try ServiceSocket(path: path)
        let (server, socket) = (server, socket)
        try #require(DedicatedThread.start { server.serve(socket) })
    }

    static func with(
        prompt: String? = "echo proceed; cat >/dev/null",
        ceremony: String = RemoteAgent.signing,
        socketName: String? = nil,
        isLocked: Bool = false,
        isAllowed: Bool = true,
        seconds: Int = 100,
        _ body: (RemoteAgent) async throws -> Void
    ) async throws {
        try await TestFolder.with { folder in
            let agent = try await RemoteAgent(
                folder,
                prompt: prompt,
                ceremony: ceremony,
                socketName: socketName,
                isLocked: isLocked,
                seconds: seconds
            )
            defer {
                agent.server.stop()
                agent.socket.remove()
            }
            if isAllowed { try agent.allow() }
            try await body(agent)
        }
    }

    static let signing = "printf '\\0\\n{\"response\":{\"id\":\"x\"}}'"

    func allow(_ host: TestServer? = nil) throws {
        let fingerprint = try (host ?? self.host).hostKey.fingerprint
        try permissions.change { permissions in _ = permissions.allow(.key(fingerprint), name: "web1") }
    }

    /// The requests that prompts have shown.
    var requests: [String] { TestFile.text(folder.path + "/requests").split(separator: "\n").map(String.init) }
    /// The number of ceremonies.
    var ceremonies: Int { TestFile.text(folder.path + "/started").split(separator: "\n").count }
    /// The results in the journal.
    var results: [String] { get throws { try journal.entries().map(\.result) } }

    /// Returns a connection that is forwarded to hosts, the nearest first.
    func connection(_ hosts: TestServer...) async throws -> Connection {
        let connection = try Connection(path)
        for (number, host) in (hosts.isEmpty ? [self.host] : hosts).enumerated() {
            let answer = await connection.ask(try host.bind(TestServer.session(UInt8(number)), isForwarded: true))
            #expect(answer == [6])
        }
        return connection
    }

    static func request(
        origin: String = "https://shop.example",
        options: String = #""challenge":"AAAA","rpId":"shop.example""#,
        type: String = "get"
    ) -> [UInt8] {
        let text = #"{"version":1,"type":"\#(type)","origin":"\#(origin)","publicKey":{\#(options)}}"#
        return [27] + Wire.string(RemoteMessage.extensionName) + Wire.string(text)
    }

    static let creation = """
        "challenge":"AAAA","rp":{"id":"shop.example","name":"s"},"user":{"id":"AA","name":"n","displayName":"n"},\
        "pubKeyCredParams":[{"type":"public-key","alg":-7}]
        """

    /// Sends a request over a new connection and returns the answer's JSON.
    func ask(_ request: [UInt8] = RemoteAgent.request(), _ connection: Connection? = nil) async throws -> String {
        let connection = if let connection { connection } else { try await self.connection() }
        let answer = try #require(await connection.ask(request))
        #expect(answer.first == 29)
        return String(decoding: try Wire.strings(answer[1...], count: 2)[1], as: UTF8.self)
    }

    /// Expects an answer to a request.
    func expect(
        _ expected: String,
        _ request: [UInt8] = RemoteAgent.request(),
        _ connection: Connection? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let answer = try await ask(request, connection)
        #expect(answer == expected, sourceLocation: sourceLocation)
    }
}

private let signed = #"{"response":{"id":"x"}}"#

private func failure(_ code: RemoteFailureCode, _ name: String = "NotAllowedError") -> String {
    String(decoding: RemoteAnswer.failure(.init(code, name: name)).encoded, as: UTF8.self)
}

@Suite("Websites on other hosts", .timeLimit(.minutes(5)))
struct RemoteSignInTests {
    @Test("A sign-in is asked for, then performed, and stands in the journal with its host")
    func signIn() async throws {
        try await RemoteAgent.with { agent in
            try await agent.expect(signed)
            let fingerprint = try agent.host.hostKey.fingerprint.description
            let request = try #require(agent.requests.first)
            let parts = [
                #""operation":"remote-sign-in""#, #""rp_id":"shop.example""#, "[\"\(fingerprint)\"]", "permanent",
            ]
            for part in parts { #expect(request.contains(part), "\(request)") }
            #expect(!request.contains("secret"))
            let entry = try #require(try agent.journal.entries().last)
            #expect(entry.door == .remote && entry.result == "signed" && entry.relyingParty == "shop.example")
            #expect(entry.purpose.contains(fingerprint))
            #expect(try agent.permissions.permissions().sites.isEmpty, "it counts once")
        }
    }

    @Test("A host without a permission gets the same answer as one whose user declines, and opens nothing")
    func permission() async throws {
        try await RemoteAgent.with(isAllowed: false) { agent in
            try await agent.expect(failure(.refused))
            #expect(agent.requests == [] && agent.ceremonies == 0)
            #expect(try agent.results.first?.hasPrefix("refused: ") == true)
        }
        try await RemoteAgent.with(prompt: "echo cancel; cat >/dev/null") { agent in
            try await agent.expect(failure(.refused))
            #expect(agent.requests.count == 1 && agent.ceremonies == 0)
            #expect(try agent.results == ["declined"])
        }
    }

    @Test("Every hop needs the permission")
    func hops() async throws {
        try await RemoteAgent.with { agent in
            let behind = TestServer()
            let request = RemoteAgent.request()
            let refused = try await agent.ask(request, agent.connection(agent.host, behind))
            #expect(refused == failure(.refused) && agent.requests == [])
            try agent.allow(behind)
            let answer = try await agent.ask(request, agent.connection(agent.host, behind))
            #expect(answer == signed)
            #expect(agent.requests.count == 1)
        }
    }

    @Test("A process that has proved two first hosts is refused, because one may pass for the other")
    func forgery() async throws {
        try await RemoteAgent.with { agent in
            // The login of the process that forwards its socket to this host.
            let login = try Connection(agent.path)
            #expect(await login.ask(try TestServer().bind(TestServer.session(9))) == [6])
            try await agent.expect(failure(.refused))
            #expect(agent.requests == [])
            #expect(try agent.results.first?.contains("first hosts") == true)
        }
    }

    @Test("An answer for the future counts for this website and host, and not for a secret or a registration")
    func permanent() async throws {
        try await RemoteAgent.with(prompt: "read state; [ -n \"$state\" ] && echo proceed-always; cat >/dev/null") {
            agent in
            try await agent.expect(signed)
            let site = try #require(try agent.permissions.permissions().sites.first)
            #expect(site.relyingParty.text == "shop.example" && !site.mayGetSecret)
            try await agent.expect(signed)
            // The agent does not wait for the program that shows a permitted request.
            try await Waiting.until("the second request") { agent.requests.count == 2 }
            let permitted = try #require(agent.requests.last)
            #expect(!permitted.contains("permanent"))
            let secret = #""challenge":"AAAA","rpId":"shop.example","extensions":{"prf":{"eval":{"first":"AA"}}}"#
            try await agent.expect(signed, RemoteAgent.request(options: secret))
            #expect(agent.requests.last?.contains(#""secret":true,"permanent":true"#) == true)
            let creation = RemoteAgent.request(options: RemoteAgent.creation, type: "create")
            try await agent.expect(signed, creation)
            let request = try #require(agent.requests.last)
            #expect(request.contains("remote-create") && !request.contains("permanent"))
        }
    }

    @Test(
        "A request that no phone can answer opens nothing",
        arguments: [
            (
                RemoteAgent.request(options: #""challenge":"AA","rpId":"SHOP.example""#),
                failure(.unusable, "SecurityError")
            ),
            (RemoteAgent.request(options: #""rpId":"shop.example""#), failure(.unusable, "TypeError")),
            (RemoteAgent.request(origin: "https://key.example.org", options: #""challenge":"AA""#), failure(.refused)),
            (RemoteAgent.request(origin: "file:///"), failure(.unusable, "SecurityError")),
        ]
    )
    func unusable(_ request: [UInt8], _ expected: String) async throws {
        try await RemoteAgent.with { agent in
            let answer = try await agent.ask(request)
            #expect(answer.contains(expected.contains("refused") ? "refused" : "unusable"), "\(answer)")
            #expect(agent.requests == [] && agent.ceremonies == 0)
        }
    }

    @Test("A page of another domain is named in the question")
    func relatedOrigin() async throws {
        try await RemoteAgent.with { agent in
            try await agent.expect(signed, RemoteAgent.request(origin: "https://shop.example.org"))
            let request = try #require(agent.requests.first)
            #expect(request.contains(#""origin":"https://shop.example.org""#) && !request.contains("permanent"))
            #expect(try agent.journal.entries().last?.purpose.contains("for the page https://shop.example.org") == true)
            try await agent.expect(signed)
            #expect(agent.requests.last?.contains("origin") == false)
        }
    }

    @Test(
        "The ceremony's failure reaches the page by name only; its cause is in the journal, and without the website in the log"
    )
    func ceremonyFailure() async throws {
        let answer = #"{"error":{"name":"InvalidStateError","code":"refused","message":"x"}}"#
        try await RemoteAgent.with(ceremony: "printf '\\0shop.example has one (exists)\\n\(answer)'") { agent in
            try await agent.expect(failure(.refused, "InvalidStateError"))
            #expect(try agent.results == ["failed: shop.example has one (exists)"])
            let line = "refused a website's request of another host: this request has one (exists)"
            #expect(agent.reports.withLock { $0 } == [line])
        }
        try await RemoteAgent.with(ceremony: "printf '\\0\\4slowshop.example is slow'; exit 75") { agent in
            try await agent.expect(failure(.timedOut))
            #expect(try agent.results == ["failed: shop.example is slow (slow)"])
            let line = "refused a website's request of another host: this request is slow (slow)"
            #expect(agent.reports.withLock { $0 } == [line])
        }
    }

    @Test("A client that leaves ends the question or the ceremony, also by closing its direction only")
    func leaving() async throws {
        try await RemoteAgent.with(prompt: "cat >/dev/null") { agent in
            let connection = try await agent.connection()
            connection.send(RemoteAgent.request())
            try await Waiting.until("the question") { agent.requests.count == 1 }
            connection.leave()
            try await Waiting.until("the end") { (try? agent.results) == ["cancelled"] }
        }
        try await RemoteAgent.with(ceremony: "cat >/dev/null; exit 130") { agent in
            let connection = try await agent.connection()
            connection.send(RemoteAgent.request())
            try await Waiting.until("the ceremony") { agent.ceremonies == 1 }
            connection.endSending()
            try await Waiting.until("the end") { (try? agent.results) == ["cancelled"] }
        }
    }

    @Test("A host has one request at a time; the agent serves its other clients meanwhile")
    func oneAtATime() async throws {
        try await RemoteAgent.with(prompt: "cat >/dev/null") { agent in
            let first = try await agent.connection()
            first.send(RemoteAgent.request())
            try await Waiting.until("the question") { agent.requests.count == 1 }
            try await agent.expect(failure(.refused))
            #expect(await (try Connection(agent.path)).ask([11])?.first == 12)
            first.leave()
        }
    }

    @Test("Three windows without a response are the limit")
    func flood() async throws {
        try await RemoteAgent.with(prompt: "echo cancel; cat >/dev/null") { agent in
            for _ in 0..<5 { try await agent.expect(failure(.refused)) }
            #expect(agent.requests.count == 3)
        }
    }

    @Test("Nothing opens while the session is locked, or without a program that can ask")
    func noQuestion() async throws {
        try await RemoteAgent.with(isLocked: true) { agent in
            try await agent.expect(failure(.refused))
            #expect(agent.requests == [])
        }
        try await RemoteAgent.with(prompt: nil) { agent in
            try await agent.expect(failure(.refused))
            #expect(agent.ceremonies == 0)
            #expect(try agent.results.first?.contains("hybrid-prompt") == true)
        }
    }

    @Test("The time limit of the question is that of the agent, not of the website")
    func timeLimit() async throws {
        try await RemoteAgent.with(prompt: "cat >/dev/null", seconds: 1) { agent in
            let options = #""challenge":"AAAA","rpId":"shop.example","timeout":600000"#
            try await agent.expect(failure(.timedOut), RemoteAgent.request(options: options))
        }
    }

    @Test("A socket for a container needs its own permission, and its host's proof does not count")
    func namedSocket() async throws {
        try await RemoteAgent.with(socketName: "dev") { agent in
            let connection = try Connection(agent.path)
            try await agent.expect(failure(.refused), RemoteAgent.request(), connection)
            try agent.permissions.change { permissions in _ = permissions.allow(.socket("dev"), name: "socket:dev") }
            try await agent.expect(signed, RemoteAgent.request(), connection)
            #expect(agent.requests.first?.contains("socket:dev") == true)
        }
    }

    @Test("Hostile messages are refused or end their connection, and the agent goes on")
    func hostile() async throws {
        try await RemoteAgent.with { agent in
            let name = Wire.string(RemoteMessage.extensionName)
            for contents in [[], [0xFF, 0xFE], Array("[]".utf8), Array("{\"version\":1}".utf8)] as [[UInt8]] {
                let answer = try await agent.ask([27] + name + Wire.string(contents))
                #expect(answer.contains("unusable"))
            }
            let long = try await agent.connection()
            long.send(raw: [0, 4, 0, 1, 27])
            #expect(await long.answer() == nil)
            let trailing = try await agent.connection()
            #expect(await trailing.ask([27] + name + Wire.string([1]) + [0]) == [5])
            try await agent.expect(signed)
        }
    }
}
