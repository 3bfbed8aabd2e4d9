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

    @Test("a complete ceremony: token, page, code, stages, last event, clean end")
    func complete() async throws {
        let page = try await RunningPage.start()
        #expect(!page.server.wasOpened)
        let cookie = try await page.exchangeToken()
        #expect(page.server.wasOpened)
        let document = try await page.get("/", cookie: cookie)
        #expect(document.hasPrefix("HTTP/1.1 200 OK\r\n") && document.hasSuffix("</html>\n"))
        let stream = try await page.openStream(cookie)
        page.server.show(.scan(try code()))
        let drawn = try await stream.receive(until: "\"stage\":\"scan\"")
        #expect(drawn.contains(try code().svgPath()))
        page.server.warn("VIRTUAL RADIO: no proximity proof")
        _ = try await stream.receive(until: "VIRTUAL RADIO")
        for (stage, name) in [
            (PageStage.found, "found"), (.connecting(host: "relay.example"), "connecting"), (.confirm, "confirm"),
        ] {
            page.server.show(stage)
            let event = try await stream.receive(until: "\"stage\":\"\(name)\"")
            #expect(!event.contains("path"))
        }
        await page.server.end(.done)
        let rest = try await stream.receiveAll()
        #expect(rest.contains("\"stage\":\"done\"") && rest.hasSuffix("0\r\n\r\n"))
        // A child of another test may hold a copy of the listening socket until it executes its program.
        try await Waiting.until("the port to be closed") {
            do throws(RawClient.NotConnected) {
                _ = try RawClient(port: page.port)
                return false
            } catch {
                return error.errorNumber == ECONNREFUSED
            }
        }
        var reasons: [PageAbandonment] = []
        for await reason in page.server.abandonments { reasons.append(reason) }
        #expect(reasons == [])
    }

    @Test("the address is never printed")
    func hidden() async throws {
        let page = try await RunningPage.start()
        let token = try #require(page.tokenPath.split(separator: "/").last)
        var shown = "\(page.server.address) \(String(reflecting: page.server.address))"
        dump(page.server.address, to: &shown)
        #expect(token.count == 32 && page.server.address.text.hasSuffix(token) && !shown.contains(token))
        await page.server.end(.done)
    }

    @Test("lookups of owners are limited and do not block the server")
    func lookups() async throws {
        var limits = PageLimits.generous
        limits.connections = 3
        let started = Mutex(0)
        let gate = Mutex(false)
        let page = try await RunningPage.start(limits) { client, server in
            started.withLock { $0 += 1 }
            // Simulates a slow lookup.
            while !gate.withLock({ $0 }) { usleep(1000) }
            return SocketOwner.user(of: client, connectedTo: server)
        }
        let clients = try (0..<40).map { _ in try RawClient(port: page.port) }
        try await Waiting.until("excess connections to be closed", evidence: "\(started.withLock { $0 })") {
            clients.count(where: \.isClosed) == 37
        }
        // This would block if lookups ran on the event loop.
        page.server.show(.confirm)
        #expect(started.withLock { $0 } <= 3)
        gate.withLock { $0 = true }
        let rest = clients.filter { !$0.isClosed }
        #expect(rest.count == 3)
        for client in rest {
            client.send("nonsense\r\n\r\n")
            #expect(try await client.receiveAll().hasPrefix("HTTP/1.1 400"))
        }
        _ = try await page.exchangeToken()
        await page.server.end(.done)
    }

    @Test("a late viewer gets the complete state")
    func late() async throws {
        let page = try await RunningPage.start()
        page.server.show(.scan(try code()))
        page.server.show(.confirm)
        let cookie = try await page.exchangeToken()
        let client = try RawClient(port: page.port)
        client.send(page.request("/events", cookie: cookie))
        let event = try await client.receive(until: "\"stage\":\"confirm\"")
        #expect(!event.contains("path"))
        await page.server.end(.done)
    }

    @Test("a second use of the token ends the ceremony")
    func twice() async throws {
        let page = try await RunningPage.start()
        _ = try await page.exchangeToken()
        let again = try await page.get(page.tokenPath)
        #expect(again.hasPrefix("HTTP/1.1 410 Gone\r\n"))
        var reasons = page.server.abandonments.makeAsyncIterator()
        #expect(await reasons.next() == .openedTwice)
        await page.server.end(.failed(cause: "a", remedy: "b"))
    }

    @Test("the page counts as closed when its last stream has ended, and not before")
    func closing() async throws {
        var limits = PageLimits.generous
        limits.reconnectTimeout = .milliseconds(1)
        limits.streams = 2
        let page = try await RunningPage.start(limits)
        let reasons = Mutex<[PageAbandonment]>([])
        let listening = Task {
            for await reason in page.server.abandonments { reasons.withLock { $0.append(reason) } }
        }
        let cookie = try await page.exchangeToken()
        let first = try await page.openStream(cookie)
        let second = try await page.openStream(cookie)
        first.close()
        // A third is accepted as soon as the server has removed the first.
        var third: RawClient?
        try await Waiting.until("the server to remove a stream") {
            third = try? await page.openStream(cookie)
            return third != nil
        }
        third?.close()
        page.server.show(.found)
        _ = try await second.receive(until: "\"stage\":\"found\"")
        #expect(reasons.withLock { $0 } == [])
        second.close()
        await listening.value
        #expect(reasons.withLock { $0 } == [.closed])
        await page.server.end(.failed(cause: "a", remedy: "b"))
    }

    @Test("a reload starts the time until the page counts as closed anew")
    func reloading() async throws {
        var limits = PageLimits.generous
        limits.reconnectTimeout = .seconds(5)
        for attempt in 1... {
            let page = try await RunningPage.start(limits)
            let cookie = try await page.exchangeToken()
            let leaving = ContinuousClock.now
            try await page.openStream(cookie).close()
            let second = try await page.openStream(cookie)
            // A machine that is too busy to reload in time shows nothing.
            let isInTime = .now - leaving < .seconds(4)
            try await Task.sleep(for: .seconds(1))
            let closing = ContinuousClock.now
            second.close()
            var reasons = page.server.abandonments.makeAsyncIterator()
            #expect(await reasons.next() == .closed)
            let pause = ContinuousClock.now - closing
            await page.server.end(.failed(cause: "a", remedy: "b"))
            guard isInTime || attempt == 5 else { continue }
            return #expect(pause >= .seconds(5))
        }
    }

    @Test("silent and slow connections time out")
    func slow() async throws {
        var limits = PageLimits.generous
        // The last client must be done in this time, too.
        limits.requestTimeout = .seconds(8)
        let page = try await RunningPage.start(limits)
        let silent = try RawClient(port: page.port)
        let dribbling = try RawClient(port: page.port)
        dribbling.send("GET / HTTP/1.1\r\n")
        try await Waiting.until("the server to close both") {
            dribbling.send("X-A: b\r\n")
            return silent.isClosed && dribbling.isClosed
        }
        #expect(try await page.exchangeToken().hasPrefix("hybrid-"))
        await page.server.end(.done)
    }

    @Test("oversized heads and bodies are rejected")
    func tooMuch() async throws {
        let page = try await RunningPage.start()
        let long = try RawClient(port: page.port)
        long.send("GET /\(String(repeating: "a", count: 20000)) HTTP/1.1\r\nHost: 127.0.0.1:\(page.port)\r\n\r\n")
        #expect(try await long.receiveAll().hasPrefix("HTTP/1.1 431 "))
        let many = try RawClient(port: page.port)
        many.send("GET / HTTP/1.1\r\n" + String(repeating: "X: y\r\n", count: 5000))
        // NIO's own limit for the number of fields.
        #expect(try await many.receiveAll().hasPrefix("HTTP/1.1 400 "))
        let body = try RawClient(port: page.port)
        body.send("POST / HTTP/1.1\r\nHost: 127.0.0.1:\(page.port)\r\nContent-Length: 1000000\r\n\r\nabc")
        #expect(try await body.receiveAll().hasPrefix("HTTP/1.1 413 "))
        #expect(!page.server.wasOpened)
        await page.server.end(.done)
    }

    @Test("a connection serves one request")
    func pipelined() async throws {
        let page = try await RunningPage.start()
        let client = try RawClient(port: page.port)
        client.send(page.request("/nothing") + page.request(page.tokenPath))
        let all = try await client.receiveAll()
        #expect(all.hasPrefix("HTTP/1.1 404 ") && all.split(separator: "HTTP/1.1 ").count == 1)
        #expect(!page.server.wasOpened)
        await page.server.end(.done)
    }

    @Test("malformed requests change nothing")
    func rubbish() async throws {
        let page = try await RunningPage.start()
        var random = SeededGenerator()
        let heads = [
            "", "\r\n\r\n", "GET", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\n : \r\n\r\n", "\u{16}\u{3}\u{1}",
            "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET \0 HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
            "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n",
        ]
        for round in 0..<100 {
            let client = try RawClient(port: page.port)
            let head = round < heads.count ? heads[round] : page.request("/", cookie: "hybrid-\(page.port)=0")
            var bytes = Array(head.utf8)
            if round >= heads.count {
                for _ in 0...random.number(0...4) {
                    bytes[random.number(0...(bytes.count - 1))] = UInt8(random.number(0...255))
                }
            }
            client.send(bytes)
            client.close()
        }
        #expect(!page.server.wasOpened, "\(random)")
        // Closed connections are removed soon; until then there may be too many.
        try await Waiting.until("the server to respond as before") {
            (try? await page.get("/nothing").hasPrefix("HTTP/1.1 404 ")) == true
        }
        try await Waiting.until("the token to be accepted") {
            (try? await page.exchangeToken())?.hasPrefix("hybrid-") == true
        }
        await page.server.end(.done)
    }

    @Test("excess connections are closed, and new ones are accepted when those are gone")
    func crowd() async throws {
        let page = try await RunningPage.start()
        var crowd: [RawClient] = []
        for _ in 0..<60 { crowd.append(try RawClient(port: page.port)) }
        try await Waiting.until("all but 16 to be closed") { crowd.count { $0.isClosed } == 60 - 16 }
        crowd.removeAll()
        try await Waiting.until("the server to respond again") {
            (try? await page.get("/nothing").hasPrefix("HTTP/1.1 404 ")) == true
        }
        try await Waiting.until("the token to be accepted") {
            (try? await page.exchangeToken())?.hasPrefix("hybrid-") == true
        }
        await page.server.end(.done)
    }

    @Test("the page can be open four times")
    func streams() async throws {
        let page = try await RunningPage.start()
        let cookie = try await page.exchangeToken()
        var open: [RawClient] = []
        for _ in 0..<4 { open.append(try await page.openStream(cookie)) }
        #expect(try await page.get("/events", cookie: cookie).hasPrefix("HTTP/1.1 503 "))
        await page.server.end(.done)
        for stream in open { #expect(try await stream.receiveAll().contains("\"stage\":\"done\"")) }
    }

    @Test("a stalled reader does not delay others")
    func stalled() async throws {
        var limits = PageLimits.generous
        limits.closeTimeout = .seconds(1)
        let page = try await RunningPage.start(limits)
        let cookie = try await page.exchangeToken()
        let stalled = try await page.openStream(cookie)
        // More than all buffers between the two hold.
        for number in 0..<20_000 {
            page.server.show(.connecting(host: "\(number)" + String(repeating: "x", count: 500)))
        }
        let other = try await page.openStream(cookie)
        await page.server.end(.done)
        #expect(try await other.receiveAll().contains("\"stage\":\"done\""))
        try await Waiting.until("the stalled one to be closed") { stalled.isClosed }
    }

    @Test(
        "connections of other users are closed, even with the token",
        .enabled(if: geteuid() == 0, "needs root to change the user")
    )
    func otherUser() async throws {
        let page = try await RunningPage.start()
        let script = """
            exec 3<>/dev/tcp/127.0.0.1/\(page.port) && printf 'GET \(page.tokenPath) HTTP/1.1\\r\\nHost: \
            127.0.0.1:\(page.port)\\r\\n\\r\\n' >&3; cat <&3
            """
        let otherUser = try RunningProgram(
            "/usr/bin/setpriv",
            ["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", script],
            in: "/tmp",
            environment: ["PATH": "/usr/bin:/bin"]
        )
        let ending = try await otherUser.ending()
        #expect(ending.output == "", "\(ending)")
        #expect(!page.server.wasOpened)
        #expect(try await page.exchangeToken().hasPrefix("hybrid-"))
        await page.server.end(.done)
    }
}
