// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridCaBLE
import HybridPrimitives
import HybridThreads
import NIOCore
import NetworkTestSupport
import Testing

@testable import HybridNetwork

@Suite("HTTPS requests to servers that another party chose", .timeLimit(.minutes(5)))
struct HTTPSClientTests {
    private static func url(_ target: String = "/path?query") throws -> HTTPSURL {
        try HTTPSURL(parsing: "https://\(try #require(TestCertificates.domain).host)\(target)")
    }

    /// Sends a request to a scripted server and returns the received head with the result.
    private static func send(
        _ method: HTTPSRequest.Method = .get,
        answer: String,
        identity: TestCertificates.Identity? = .relay,
        body: [UInt8] = [],
        redirects: Int = 0,
        limit: Int = 16
    ) async throws -> (head: String, result: Result<HTTPSResponse, any Error>) {
        let (head, result) = try await ScriptedServer.run(identity) { peer in
            let head = (try? await peer.readHead()) ?? []
            try? await peer.send(Array(answer.utf8))
            await peer.readToEnd()
            return String(decoding: head, as: UTF8.self)
        } client: { port -> Result<HTTPSResponse, any Error> in
            do {
                let client = try HTTPSClient(
                    network: try await ScriptedServer.network(port: port),
                    redirects: redirects,
                    maximumBodyLength: limit,
                    deadline: .seconds(30)
                )
                let request = HTTPSRequest(method, try url(), fields: [("Accept", "text/plain")], body: body)
                return .success(try await client.send(request))
            } catch {
                return .failure(error)
            }
        }
        return (head, result)
    }

    private static func failure(_ result: Result<HTTPSResponse, any Error>) -> HTTPSError? {
        if case .failure(let error) = result { error as? HTTPSError } else { nil }
    }

    @Test("A GET and its response")
    func get() async throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"
        let (head, result) = try await Self.send(answer: answer)
        let response = try result.get()
        #expect(response.status == 200 && response.body == Array("hello".utf8))
        #expect(response.values(of: "content-type") == ["text/plain"])
        #expect(response.url == (try Self.url()))
        let host = try #require(TestCertificates.domain).host
        #expect(head.hasPrefix("GET /path?query HTTP/1.1\r\nHost: \(host)\r\n"))
        #expect(head.contains("\r\nAccept: text/plain\r\n") && head.lowercased().contains("\r\nconnection: close\r\n"))
        #expect(head.contains("\r\n\(UserAgent.line)") && head.contains("\r\nAccept-Encoding: identity\r\n"))
    }

    @Test("A POST; a response without a length ends with the connection, and a redirection is returned")
    func post() async throws {
        let answer = "HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1/\r\nContent-Length: 0\r\n\r\n"
        let (head, result) = try await Self.send(.post, answer: answer, body: [1, 2, 3], redirects: 5)
        #expect(try result.get().status == 302)
        #expect(head.hasPrefix("POST /path?query HTTP/1.1\r\n") && head.contains("\r\nContent-Length: 3\r\n"))
    }

    @Test("Interim responses precede the final one; their number is limited")
    func interimResponses() async throws {
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
        let final = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"
        let response = try await Self.send(.post, answer: interim + final, body: [1]).result.get()
        #expect(response.status == 201 && response.body == Array("ok".utf8))
        let tooMany = String(repeating: interim, count: 5) + final
        #expect(Self.failure(try await Self.send(answer: tooMany).result) == .malformedResponse)
    }

    @Test("A body that is too long, with and without a length in front")
    func longBody() async throws {
        for framing in ["Content-Length: 17\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n11\r\n"] {
            let answer = "HTTP/1.1 200 OK\r\n\(framing)12345678901234567"
            #expect(Self.failure(try await Self.send(answer: answer).result) == .bodyTooLong)
        }
    }

    @Test(
        "Responses that are not valid",
        arguments: [
            "SSH-2.0-server\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 17_000),
        ]
    )
    func malformed(answer: String) async throws {
        #expect(Self.failure(try await Self.send(answer: answer).result) == .malformedResponse)
    }

    @Test("Certificates of other names or authorities are refused before anything is sent")
    func certificates() async throws {
        for identity in [TestCertificates.Identity.otherHost, .addressOnly, .unknownAuthority, .expired] {
            let (head, result) = try await Self.send(answer: "", identity: identity)
            #expect(Self.failure(result) == .notTrusted, "\(identity)")
            #expect(head == "")
        }
    }

    @Test("Redirections of a GET: https to permitted hosts only, and not more than allowed")
    func redirections() async throws {
        for location in [
            "http://example.com/", "https://10.0.0.1/", "https://a@example.com/", "https://example.com:1/",
        ] {
            let answer = "HTTP/1.1 301 Moved\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n"
            let result = try await Self.send(answer: answer, redirects: 5).result
            #expect(Self.failure(result) == .redirectionRefused, "\(location)")
        }
        let local = "HTTP/1.1 301 Moved\r\nLocation: https://localhost/\r\nContent-Length: 0\r\n\r\n"
        #expect(Self.failure(try await Self.send(answer: local, redirects: 1).result) == .addressNotAllowed)
    }

    // MARK: Addresses

    /// Returns the error of a request to a name with these addresses.
    private static func failure(
        resolving addresses: [String],
        policy: AddressPolicy = .globalOnly
    ) async throws -> HTTPSError? {
        var network = NetworkConfiguration()
        network.lookup = NameLookup { _, port in
            try addresses.map { try SocketAddress(ipAddress: $0, port: port) }
        }
        let client = try HTTPSClient(network: network, addresses: policy, deadline: .seconds(60))
        do {
            _ = try await client.send(HTTPSRequest(.get, HTTPSURL(parsing: "https://push.example/")))
            return nil
        } catch {
            return error as? HTTPSError
        }
    }

    @Test("A name is refused if any of its addresses is not public")
    func resolved() async throws {
        for addresses in [
            ["127.0.0.1"], ["192.0.2.1", "10.0.0.1"], ["1.1.1.1", "169.254.169.254"], ["::ffff:1.1.1.1"],
        ] {
            #expect(try await Self.failure(resolving: addresses) == .addressNotAllowed, "\(addresses)")
        }
        #expect(try await Self.failure(resolving: []) == .hostNotFound)
        // A loopback address without a server, to which the client may connect.
        let other = try await Self.failure(resolving: ["127.0.0.1"], policy: .any)
        #expect(other != .addressNotAllowed && other != nil)
    }

    @Test("The deadline includes the lookup of the name")
    func deadline() async throws {
        let end = Locked(false)
        var network = NetworkConfiguration()
        network.lookup = NameLookup { _, _ in
            while !end.withLock({ $0 }) { usleep(1000) }
            return []
        }
        let client = try HTTPSClient(network: network, deadline: .milliseconds(50))
        await #expect(throws: HTTPSError.timedOut) {
            try await client.send(HTTPSRequest(.get, HTTPSURL(parsing: "https://push.example/")))
        }
        end.withLock { $0 = true }
    }

    @Test("A proxy is asked for the checked address, and for the name if all addresses are permitted")
    func proxies() async throws {
        for (policy, target) in [(AddressPolicy.globalOnly, "1.1.1.1:443"), (.any, nil)] {
            let host = try #require(TestCertificates.domain).host
            let (head, status) = try await ScriptedServer.run(nil) { peer in
                let connect = try await peer.answerAsProxy(for: .relay, after: "HTTP/1.1 102 Processing\r\n\r\n")
                _ = try await peer.readHead()
                try await peer.sendThrough(Array("HTTP/1.1 204 No Content\r\n\r\n".utf8))
                await peer.readToEnd()
                return connect
            } client: { port in
                var network = ScriptedServer.behindProxy(try await ScriptedServer.network(port: port), port: port)
                network.lookup = NameLookup { name, port in
                    [try SocketAddress(ipAddress: name == host ? "1.1.1.1" : "127.0.0.1", port: port)]
                }
                let client = try HTTPSClient(network: network, addresses: policy, deadline: .seconds(30))
                return try await client.send(HTTPSRequest(.get, try Self.url())).status
            }
            #expect(status == 204)
            #expect(head.hasPrefix("CONNECT \(target ?? "\(host):443") HTTP/1.1\r\n"), "\(head)")
            #expect(head.contains("\r\n\(UserAgent.line)"))
        }
    }
}
