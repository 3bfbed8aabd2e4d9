// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridCaBLE
import HybridNetwork
import HybridPrimitives
import HybridRelayCore
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Testing

@testable import HybridDataChannel

@Suite("A relay's token", .timeLimit(.minutes(5)))
struct BearerTokenTests {
    private typealias BearerToken = HybridNetwork.BearerToken

    @Test("No value that contains a token shows it")
    func hidden() async throws {
        let token = try #require(BearerToken("hunter2".utf8))
        let endpoint = try await ScriptedRelay.endpoint(port: 1)
        let opening = TunnelOpening(relay: endpoint, path: .new(.test), bearerToken: token)
        let upgrade = WebSocketUpgrade(host: "h", displayName: "h", uri: "/", path: .new(.test), bearerToken: token)
        for holder in [token, [token], Optional(token) as Any, opening, upgrade, AuthorizationHandler(token)] {
            var dumped = ""
            dump(holder, to: &dumped)
            for text in [String(describing: holder), String(reflecting: holder), dumped, "\(holder)"] {
                #expect(!text.contains("hunter2") && !text.contains("104, 117, 110"), "\(text)")
            }
        }
        #expect(Mirror(reflecting: token).children.isEmpty)
    }

    @Test("No log line contains the token, even at trace level")
    func logged() async throws {
        let word = "Very-Secret_1~"
        let hash = SHA256.hash(data: Array(word.utf8)).map { String(format: "%02x", $0) }.joined()
        let log = Log()
        var logger = Logger(label: "test") { _ in log }
        logger.logLevel = .trace
        let token = try #require(BearerToken(word.utf8))
        logger.trace("asks with \(token)", metadata: ["token": "\(token)", "more": .stringConvertible(token)])
        try await RealRelayTests.relay(tokens: TunnelTokens(parsing: Array("phone \(hash)\n".utf8)), logger: logger) {
            #expect(await Client.refusal(at: $0) != nil)
            let routing = try await WebSocketTunnel.withTunnel(Client.tunnel, at: $0, bearerToken: token) {
                $0.routingID
            }
            #expect(routing != nil)
        }
        #expect(log.lines.contains { $0.contains("asks with BearerToken(hidden)") })
        #expect(log.lines.count > 1)
        #expect(!log.lines.contains { $0.contains("Secret") }, "\(log.lines)")
    }

    /// Records all log lines.
    private final class Log: LogHandler {
        private let kept = NIOLockedValueBox<[String]>([])

        var lines: [String] { kept.withLockedValue { $0 } }
        var metadata: Logger.Metadata {
            get { [:] }
            set {}
        }
        var logLevel: Logger.Level {
            get { .trace }
            set {}
        }

        subscript(metadataKey _: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }

        func log(event: LogEvent) {
            kept.withLockedValue { $0.append("\(event.message) \(event.metadata ?? [:])") }
        }
    }
}
