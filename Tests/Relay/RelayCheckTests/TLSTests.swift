// SPDX-License-Identifier: Apache-2.0

import HybridNetwork
import HybridPrimitives
import HybridRelayCheck
import HybridRelayCore
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@Suite("TLS of a relay", .serialized, .timeLimit(.minutes(10)))
struct TLSTests {
    /// A wrong certificate and the start of its description.
    struct Wrong: Sendable {
        let name: String
        var hasExpired = false
        var isTrusted = true
        let text: String
    }

    @Test(
        "A wrong certificate fails one check only",
        arguments: [
            Wrong(name: "DNS:other.example", text: "the certificate is for another host"),
            Wrong(name: "IP:127.0.0.1", text: "the certificate is for another host"),
            Wrong(name: "DNS:relay.example", isTrusted: false, text: "the certificate is not trusted"),
            Wrong(name: "DNS:relay.example", hasExpired: true, text: "the certificate expired on "),
        ]
    )
    func wrongCertificate(_ wrong: Wrong) async throws {
        try await TestCertificate.with(wrong.name, hasExpired: wrong.hasExpired) { certificate in
            try await withRealRelay(certificate.relayTransport()) { port in
                var options = CheckOptions.testing
                options.connectTo = ConnectTo("::127.0.0.1:\(port)")
                if wrong.isTrusted { options.trustedCertificates = certificate.file }
                let report = try await check("wss://relay.example", options)
                #expect(report.differing == [.tlsCertificate])
                #expect(report.prevented == [])
                #expect(report.outcome(.tlsCertificate)?.found.hasPrefix(wrong.text) == true, "\(report.complaints)")
            }
        }
    }

    @Test("A certificate for an IP address is accepted")
    func address() async throws {
        try await TestCertificate.with("IP:127.0.0.1") { certificate in
            try await withRealRelay(certificate.relayTransport()) { port in
                var options = CheckOptions.testing
                options.trustedCertificates = certificate.file
                let report = try await check("wss://127.0.0.1:\(port)", options)
                #expect(report.complaints == [])
            }
        }
    }

    @Test("An address literal is compared with the certificate as it was named, wherever the connection goes")
    func literal() async throws {
        for (name, isRight) in [("IP:192.0.2.1", true), ("IP:127.0.0.1", false), ("DNS:192.0.2.1", false)] {
            try await TestCertificate.with(name) { certificate in
                try await withRealRelay(certificate.relayTransport()) { port in
                    var options = CheckOptions.testing
                    options.trustedCertificates = certificate.file
                    options.connectTo = ConnectTo("::127.0.0.1:\(port)")
                    let report = try await check("wss://192.0.2.1", options)
                    let expected: CheckOutcome =
                        isRight ? .ok("valid for 192.0.2.1") : .differs("the certificate is for another host")
                    #expect(report.outcome(.tlsCertificate) == expected, "\(name)")
                }
            }
        }
    }

    @Test("An old TLS version alone fails the version check")
    func oldVersion() async throws {
        try await TestCertificate.with("DNS:relay.example") { certificate in
            let chain = try NIOSSLCertificate.fromPEMFile(certificate.file).map {
                NIOSSLCertificateSource.certificate($0)
            }
            let key = try NIOSSLPrivateKey(file: certificate.key, format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain,
                privateKey: .privateKey(key)
            )
            configuration.minimumTLSVersion = .tlsv1
            configuration.maximumTLSVersion = .tlsv11
            let context = try NIOSSLContext(configuration: configuration)
            try await FaultyRelay.run(nil, tls: context) { port in
                var options = CheckOptions.testing
                options.trustedCertificates = certificate.file
                options.connectTo = ConnectTo("::127.0.0.1:\(port)")
                let report = try await check("wss://relay.example", options)
                #expect(report.differing == [.tlsCertificate, .tlsVersion])
                #expect(report.prevented == [])
                let found = report.outcome(.tlsCertificate)?.found
                #expect(found == "the connection ended: the server supports no recent TLS version")
                #expect(report.outcome(.tlsVersion) == .differs("TLS 1.1"))
            }
        }
    }

    @Test("The TLS version is known even if the relay closes at once after the request")
    func closedEarly() async throws {
        try await TestCertificate.with("DNS:relay.example") { certificate in
            let context = try certificate.context()
            let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                        try channel.pipeline.syncOperations.addHandler(ClosingHandler())
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            var options = CheckOptions.testing
            options.trustedCertificates = certificate.file
            options.connectTo = ConnectTo("::127.0.0.1:\(try #require(server.localAddress?.port))")
            let report = try await check("wss://relay.example", options)
            try await server.close()
            #expect(report.outcome(.tlsCertificate) == .ok("valid for relay.example"))
            #expect(report.outcome(.tlsVersion) == .ok("TLS 1.3"))
        }
    }

    @Test(
        "A token is not sent to a relay with a wrong certificate, and the run stops",
        arguments: ["DNS:other.example", "DNS:other.example,IP:127.0.0.1"]
    )
    func tokenNeedsTrust(names: String) async throws {
        let count = FaultyRelay.TokenCount()
        try await TestCertificate.with(names) { certificate in
            try await FaultyRelay.run(nil, token: "secret", tokenCount: count, tls: certificate.context()) { port in
                var options = CheckOptions.testing
                options.trustedCertificates = certificate.file
                options.connectTo = ConnectTo("::127.0.0.1:\(port)")
                options.token = BearerToken("secret".utf8)
                let report = try await check("wss://relay.example", options)
                #expect(report.differing == [.tlsCertificate])
                #expect(report.prevented == Array(CheckID.allCases.dropFirst(2)))
                #expect(report.outcome(.tlsVersion) == .ok("TLS 1.3"))
                #expect(report.outcome(.join)?.found.contains("the token is not sent") == true)
                #expect(count.value == 0)
                // The same relay passes under the name in its certificate.
                let other = try await check("wss://other.example", options)
                #expect(other.complaints == [])
                #expect(count.value > 10)
            }
        }
    }

    @Test(
        "A server without TLS, or that ends it, fails with the cause, and the run stops",
        arguments: [
            ("HTTP/1.1 400 Bad Request\r\n\r\n", "the server does not speak TLS"),
            // A record with the fatal alert 80.
            ("\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}P", "the server ended TLS with the alert internal_error"),
        ]
    )
    func noTLS(greeting: String, cause: String) async throws {
        try await Hostility.greets(greeting).serve { port in
            let report = try await check("wss://127.0.0.1:\(port)")
            #expect(report.differing == [.tlsCertificate, .tlsVersion])
            #expect(report.prevented.count == CheckID.allCases.count - 2)
            #expect(report.connections <= 4)
            #expect(report.outcome(.tlsVersion) == .differs("the connection ended: \(cause)"))
        }
    }

    @Test("A TLS handshake that stalls or is cut off fails, and the run stops", arguments: [true, false])
    func handshakeWithoutEnd(closesEarly: Bool) async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if closesEarly { try channel.pipeline.syncOperations.addHandler(ClosingHandler()) }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        var options = CheckOptions.testing
        // Long enough for the server to close; the silent one is waited for in full.
        options.timeout = closesEarly ? .seconds(30) : .seconds(10)
        let report = try await check("wss://127.0.0.1:\(port)", options)
        try await server.close()
        #expect(report.differing == [.tlsCertificate, .tlsVersion])
        #expect(report.prevented.count == CheckID.allCases.count - 2)
        let why = closesEarly ? "the connection ended: closed by the relay in the TLS handshake" : "nothing within 10 s"
        #expect(report.outcome(.tlsVersion) == .differs(why))
    }
}

/// Closes the connection at the first bytes.
private final class ClosingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.close(promise: nil) }
}
