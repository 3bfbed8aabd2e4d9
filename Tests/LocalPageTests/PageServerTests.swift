// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridQRCode
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import HybridLocalPage

@Suite("The page's server", .timeLimit(.minutes(10)))
struct PageServerTests {
    private func code() throws -> QRMatrix { try QRMatrix(text: "FIDO:/" + String(repeating: "1234567", count: 24)) }

    @Test("a visit from token to end: page, code, stages, last event, a clean end")
    func visit() async throws {
        let visit = try await Visit.begin()
        #expect(!visit.server.wasOpened)
        let cookie = try await visit.enter()
        #expect(visit.server.wasOpened)
        let page = try await visit.ask("/", cookie: cookie)
        #expect(page.hasPrefix("HTTP/1.1 200 OK\r\n") && page.hasSuffix("</html>\n"))
        let stream = try await visit.stream(cookie)
        visit.server.show(.scan(try code()))
        let drawn = try await stream.hear("\"stage\":\"scan\"")
        #expect(drawn.contains(try code().svgPath()))
        visit.server.warn("VIRTUAL RADIO: no proximity proof")
        _ = try await stream.hear("VIRTUAL RADIO")
        for (stage, name) in [
            (PageStage.found, "found"), (.connecting(host: "relay.example"), "connecting"), (.confirm, "confirm"),
        ] {
            visit.server.show(stage)
            let event = try await stream.hear("\"stage\":\"\(name)\"")
            #expect(!event.contains("path"))
        }
        await visit.server.end(.done)
        let rest = try await stream.hearAll()
        #expect(rest.contains("\"stage\":\"done\"") && rest.hasSuffix("0\r\n\r\n"))
        // A child of another test may hold a copy of the listening socket until it executes its program.
        try await Waiting.until("the port to be closed") {
            do throws(RawVisitor.NotConnected) {
                _ = try RawVisitor(port: visit.port)
                return false
            } catch {
                return error.errorNumber == ECONNREFUSED
            }
        }
        var reasons: [PageAbandonment] = []
        for await reason in visit.server.abandonments { reasons.append(reason) }
        #expect(reasons == [])
    }

    @Test("its address is not printed by accident")
    func hidden() async throws {
        let visit = try await Visit.begin()
        let token = try #require(visit.tokenPath.split(separator: "/").last)
        var shown = "\(visit.server.address) \(String(reflecting: visit.server.address))"
        dump(visit.server.address, to: &shown)
        #expect(token.count == 32 && visit.server.address.text.hasSuffix(token) && !shown.contains(token))
        await visit.server.end(.done)
    }

    @Test("whose connections are is looked up for so many at a time, and holds nobody else up")
    func lookups() async throws {
        var limits = PageLimits.patient
        limits.connections = 3
        let started = Mutex(0)
        let gate = Mutex(false)
        let visit = try await Visit.begin(limits) { client, server in
            started.withLock { $0 += 1 }
            // The kernel's table is long today.
            while !gate.withLock({ $0 }) { usleep(1000) }
            return SocketOwner.user(of: client, connectedTo: server)
        }
        let visitors = try (0..<40).map { _ in try RawVisitor(port: visit.port) }
        try await Waiting.until("those that are too many to be hung up on", evidence: "\(started.withLock { $0 })") {
            visitors.count(where: \.isOver) == 37
        }
        // On its own loop, at which the connections wait: it would never answer if the look-up were made there.
        visit.server.show(.confirm)
        #expect(started.withLock { $0 } <= 3)
        gate.withLock { $0 = true }
        let rest = visitors.filter { !$0.isOver }
        #expect(rest.count == 3)
        for visitor in rest {
            visitor.say("nonsense\r\n\r\n")
            #expect(try await visitor.hearAll().hasPrefix("HTTP/1.1 400"))
        }
        _ = try await visit.enter()
        await visit.server.end(.done)
    }

    @Test("who comes late is told all of it")
    func late() async throws {
        let visit = try await Visit.begin()
        visit.server.show(.scan(try code()))
        visit.server.show(.confirm)
        let cookie = try await visit.enter()
        let visitor = try RawVisitor(port: visit.port)
        visitor.say(visit.request("/events", cookie: cookie))
        let event = try await visitor.hear("\"stage\":\"confirm\"")
        #expect(!event.contains("path"))
        await visit.server.end(.done)
    }

    @Test("a token that is used twice ends the ceremony")
    func twice() async throws {
        let visit = try await Visit.begin()
        _ = try await visit.enter()
        let again = try await visit.ask(visit.tokenPath)
        #expect(again.hasPrefix("HTTP/1.1 410 Gone\r\n"))
        var reasons = visit.server.abandonments.makeAsyncIterator()
        #expect(await reasons.next() == .openedTwice)
        await visit.server.end(.failed(cause: "a", remedy: "b"))
    }

    @Test("the page is closed when its last stream has ended, and not before")
    func closing() async throws {
        var limits = PageLimits.patient
        limits.absence = .milliseconds(1)
        limits.streams = 2
        let visit = try await Visit.begin(limits)
        let reasons = Mutex<[PageAbandonment]>([])
        let listening = Task {
            for await reason in visit.server.abandonments { reasons.withLock { $0.append(reason) } }
        }
        let cookie = try await visit.enter()
        let first = try await visit.stream(cookie)
        let second = try await visit.stream(cookie)
        first.hangUp()
        // There is room for a third as soon as the server has noticed.
        var third: RawVisitor?
        try await Waiting.until("the server to notice that a stream has ended") {
            third = try? await visit.stream(cookie)
            return third != nil
        }
        third?.hangUp()
        visit.server.show(.found)
        _ = try await second.hear("\"stage\":\"found\"")
        #expect(reasons.withLock { $0 } == [])
        second.hangUp()
        await listening.value
        #expect(reasons.withLock { $0 } == [.closed])
        await visit.server.end(.failed(cause: "a", remedy: "b"))
    }

    @Test("who says nothing, or a little now and then, is hung up on")
    func slow() async throws {
        var limits = PageLimits.patient
        // The last visitor, who is quick, must be done in this time, too.
        limits.patience = .seconds(3)
        let visit = try await Visit.begin(limits)
        let silent = try RawVisitor(port: visit.port)
        let dribbling = try RawVisitor(port: visit.port)
        dribbling.say("GET / HTTP/1.1\r\n")
        try await Waiting.until("the server to hang up on both") {
            dribbling.say("X-A: b\r\n")
            return silent.isOver && dribbling.isOver
        }
        #expect(try await visit.enter().hasPrefix("hybrid-"))
        await visit.server.end(.done)
    }

    @Test("heads without end, and bodies, are refused")
    func tooMuch() async throws {
        let visit = try await Visit.begin()
        let long = try RawVisitor(port: visit.port)
        long.say("GET /\(String(repeating: "a", count: 20000)) HTTP/1.1\r\nHost: 127.0.0.1:\(visit.port)\r\n\r\n")
        #expect(try await long.hearAll().hasPrefix("HTTP/1.1 431 "))
        let many = try RawVisitor(port: visit.port)
        many.say("GET / HTTP/1.1\r\n" + String(repeating: "X: y\r\n", count: 5000))
        // NIO's own bound for the number of fields.
        #expect(try await many.hearAll().hasPrefix("HTTP/1.1 400 "))
        let body = try RawVisitor(port: visit.port)
        body.say("POST / HTTP/1.1\r\nHost: 127.0.0.1:\(visit.port)\r\nContent-Length: 1000000\r\n\r\nabc")
        #expect(try await body.hearAll().hasPrefix("HTTP/1.1 413 "))
        #expect(!visit.server.wasOpened)
        await visit.server.end(.done)
    }

    @Test("a connection is good for one request")
    func pipelined() async throws {
        let visit = try await Visit.begin()
        let visitor = try RawVisitor(port: visit.port)
        visitor.say(visit.request("/nothing") + visit.request(visit.tokenPath))
        let all = try await visitor.hearAll()
        #expect(all.hasPrefix("HTTP/1.1 404 ") && all.split(separator: "HTTP/1.1 ").count == 1)
        #expect(!visit.server.wasOpened)
        await visit.server.end(.done)
    }

    @Test("rubbish changes nothing")
    func rubbish() async throws {
        let visit = try await Visit.begin()
        var random = SeededGenerator()
        let heads = [
            "", "\r\n\r\n", "GET", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\n : \r\n\r\n", "\u{16}\u{3}\u{1}",
            "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET \0 HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
            "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n",
        ]
        for round in 0..<100 {
            let visitor = try RawVisitor(port: visit.port)
            let head = round < heads.count ? heads[round] : visit.request("/", cookie: "hybrid-\(visit.port)=0")
            var bytes = Array(head.utf8)
            if round >= heads.count {
                for _ in 0...random.number(0...4) {
                    bytes[random.number(0...(bytes.count - 1))] = UInt8(random.number(0...255))
                }
            }
            visitor.say(bytes)
            visitor.hangUp()
        }
        #expect(!visit.server.wasOpened, "\(random)")
        // Those that hang up are gone in a moment; until then there may be too many.
        try await Waiting.until("the server to answer as ever") {
            (try? await visit.ask("/nothing").hasPrefix("HTTP/1.1 404 ")) == true
        }
        try await Waiting.until("the token to be taken") { (try? await visit.enter())?.hasPrefix("hybrid-") == true }
        await visit.server.end(.done)
    }

    @Test("too many connections are hung up on, and others come in again when those are gone")
    func crowd() async throws {
        let visit = try await Visit.begin()
        var crowd: [RawVisitor] = []
        for _ in 0..<60 { crowd.append(try RawVisitor(port: visit.port)) }
        try await Waiting.until("all but 16 to be hung up on") { crowd.count { $0.isOver } == 60 - 16 }
        crowd.removeAll()
        try await Waiting.until("the server to answer again") {
            (try? await visit.ask("/nothing").hasPrefix("HTTP/1.1 404 ")) == true
        }
        try await Waiting.until("the token to be taken") { (try? await visit.enter())?.hasPrefix("hybrid-") == true }
        await visit.server.end(.done)
    }

    @Test("the page can be open four times")
    func streams() async throws {
        let visit = try await Visit.begin()
        let cookie = try await visit.enter()
        var open: [RawVisitor] = []
        for _ in 0..<4 { open.append(try await visit.stream(cookie)) }
        #expect(try await visit.ask("/events", cookie: cookie).hasPrefix("HTTP/1.1 503 "))
        await visit.server.end(.done)
        for stream in open { #expect(try await stream.hearAll().contains("\"stage\":\"done\"")) }
    }

    @Test("a reader that takes nothing holds nobody up")
    func stalled() async throws {
        var limits = PageLimits.patient
        limits.closeTimeout = .seconds(1)
        let visit = try await Visit.begin(limits)
        let cookie = try await visit.enter()
        let stalled = try await visit.stream(cookie)
        // More than all buffers between them hold.
        for number in 0..<20_000 {
            visit.server.show(.connecting(host: "\(number)" + String(repeating: "x", count: 500)))
        }
        let other = try await visit.stream(cookie)
        await visit.server.end(.done)
        #expect(try await other.hearAll().contains("\"stage\":\"done\""))
        try await Waiting.until("the stalled one to be hung up on") { stalled.isOver }
    }

    @Test(
        "sockets of other users are hung up on, even with the token",
        .enabled(if: geteuid() == 0, "only root can be somebody else")
    )
    func otherUser() async throws {
        let visit = try await Visit.begin()
        let script = """
            exec 3<>/dev/tcp/127.0.0.1/\(visit.port) && printf 'GET \(visit.tokenPath) HTTP/1.1\\r\\nHost: \
            127.0.0.1:\(visit.port)\\r\\n\\r\\n' >&3; cat <&3
            """
        let stranger = try RunningProgram(
            "/usr/bin/setpriv",
            ["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", script],
            in: "/tmp",
            environment: ["PATH": "/usr/bin:/bin"]
        )
        let ending = try await stranger.ending()
        #expect(ending.output == "", "\(ending)")
        #expect(!visit.server.wasOpened)
        #expect(try await visit.enter().hasPrefix("hybrid-"))
        await visit.server.end(.done)
    }
}
