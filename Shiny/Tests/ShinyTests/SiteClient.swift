// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridShinyServer
import HybridWebAuthn
import NIOCore
import NIOPosix
import Testing

/// A running site and its addresses.
struct TestSite: Sendable {
    static let origin = "https://shiny.example"
    static let relatedOrigin = "https://shiny-shop.example"

    let port: Int

    /// Runs `body` with a site on a free port.
    static func run(
        _ change: (inout ShinyLimits) -> Void = { _ in },
        _ body: @escaping @Sendable (TestSite) async throws -> Void
    ) async throws {
        var configuration = try ShinyConfiguration(origin: Origin(origin), relatedOrigins: [Origin(relatedOrigin)])
        change(&configuration.limits)
        let server = ShinyServer(configuration, port: 0)
        let (ports, started) = AsyncStream.makeStream(of: Int.self)
        try await withThrowingTaskGroup { group in
            group.addTask {
                defer { started.finish() }
                try await server.run { started.yield($0) }
            }
            group.addTask {
                var iterator = ports.makeAsyncIterator()
                try await body(TestSite(port: #require(await iterator.next())))
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Sends bytes on a new connection and returns everything that the server sends until it closes.
    func exchange(_ bytes: [UInt8]) async throws -> [UInt8] {
        let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await connection.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(bytes: bytes))
            var received: [UInt8] = []
            for try await part in inbound { received += part.readableBytesView }
            return received
        }
    }
}

/// A response of the site.
struct SiteResponse {
    let status: Int
    let head: String
    let body: [UInt8]

    init(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        let end = try #require(text.range(of: "\r\n\r\n"), "no head in \(text)")
        head = String(text[..<end.lowerBound])
        status = try #require(Int(head.split(separator: " ")[1]))
        body = Array(text[end.upperBound...].utf8)
    }

    /// The value of a field; `nil` if the response does not have it.
    func field(_ name: String) -> String? {
        head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
            .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }

    /// The body as a JSON object.
    var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]) ?? [:] }

    /// The identifier of a refusal.
    var error: String? { json["error"] as? String }

    var account: [String: Any]? { json["account"] as? [String: Any] }

    var passkeyIDs: [String] { (account?["passkeys"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String } }
}

/// A browser with one session at the site.
final class SiteClient {
    let site: TestSite
    private(set) var cookie: String?

    init(_ site: TestSite, cookie: String? = nil) {
        self.site = site
        self.cookie = cookie
    }

    /// Sends a request; `fields` replace the usual ones, and `nil` removes them.
    @discardableResult
    func send(
        _ method: String = "POST",
        _ path: String,
        _ body: [UInt8] = Array("{}".utf8),
        fields: [String: String?] = [:]
    ) async throws -> SiteResponse {
        var all: [String: String?] = ["Host": "shiny.example", "Connection": "close"]
        if method == "POST" {
            all["Origin"] = TestSite.origin
            all["Content-Type"] = "application/json"
            all["Content-Length"] = String(body.count)
        }
        all["Cookie"] = cookie
        all.merge(fields) { $1 }
        let head = all.compactMap { name, value in value.map { "\(name): \($0)\r\n" } }.joined()
        let request = Array("\(method) \(path) HTTP/1.1\r\n\(head)\r\n".utf8) + (method == "POST" ? body : [])
        let response = try SiteResponse(await site.exchange(request))
        if let set = response.field("Set-Cookie") { cookie = String(set.prefix { $0 != ";" }) }
        return response
    }

    @discardableResult
    func post(_ path: String, _ members: [String: Any] = [:]) async throws -> SiteResponse {
        try await send("POST", path, Array(JSONSerialization.data(withJSONObject: members)))
    }

    /// Creates an account with a new passkey on the authenticator.
    @discardableResult
    func register(_ name: String, with device: TestAuthenticator) async throws -> SiteResponse {
        let options = try await post("/api/accounts/options", ["name": name, "displayName": ""])
        return try await post("/api/accounts", device.create(options.json))
    }

    /// Signs in with a passkey of the authenticator.
    @discardableResult
    func signIn(with device: TestAuthenticator, remembered: Bool = false) async throws -> SiteResponse {
        let options = try await post("/api/sign-in/options", ["remembered": remembered])
        return try await post("/api/sign-in", device.get(options.json))
    }
}
