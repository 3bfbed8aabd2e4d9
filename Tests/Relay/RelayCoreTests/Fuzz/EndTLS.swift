// SPDX-License-Identifier: Apache-2.0

#if canImport(HybridBoringTLS)
import HybridBoringTLS
import HybridRelayCore
import TestSupport

/// The client's side of TLS for an end of a fuzzed relay, without a socket.
///
/// With a ticket, the first bytes are early data. It must be used on one thread only.
final class EndTLS {
    /// The latest ticket of a relay, as BoringSSL serializes it.
    final class Tickets {
        var latest: [UInt8]?
    }

    private let engine: TLSEngine
    private let tickets: Tickets
    private var input: ArraySlice<UInt8> = []
    private var output: [UInt8] = []
    /// Bytes to be encrypted.
    private var pending: ArraySlice<UInt8> = []
    /// Bytes that were sent as early data, which must be sent again if the relay rejects it.
    private var early: [UInt8] = []
    /// True after an alert or an error, as after bytes that are not TLS.
    private(set) var isBroken = false

    init(_ tickets: Tickets, resumes: Bool) throws {
        self.tickets = tickets
        guard let engine = TLSEngine(Self.client) else { throw BrokenInvariant(description: "no memory") }
        self.engine = engine
        try invariant(self.engine.attach(Self.transport, to: self), "there is memory")
        try invariant(self.engine.connect(serverName: "localhost"), "the name can be sent")
        if resumes, let ticket = tickets.latest {
            ticket.withUnsafeBytes { self.engine.offer(session: $0, of: Self.client) }
        }
    }

    /// Encrypts bytes as soon as the handshake permits it.
    func encrypt(_ bytes: [UInt8]) {
        pending = pending.isEmpty ? bytes[...] : pending + bytes
        work()
    }

    /// Decrypts records, and returns the bytes in them.
    func decrypt(_ records: [UInt8]) -> [UInt8] {
        input = input.isEmpty ? records[...] : input + records
        work()
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 14)
        while !isBroken, !engine.isInHandshake {
            let outcome = chunk.withUnsafeMutableBytes { engine.read(into: $0) }
            guard case .done(let count) = outcome else {
                if case .needsInput = outcome {} else { isBroken = true }
                break
            }
            bytes += chunk[..<count]
        }
        work()
        return bytes
    }

    /// Returns the records to be sent.
    func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    /// Continues the handshake and encrypts what it can.
    private func work() {
        guard !isBroken else { return }
        if engine.isInHandshake {
            switch engine.shakeHands() {
            case .done, .needsInput: break
            case .earlyDataRejected:
                engine.forgetEarlyData()
                (pending, early) = (early + pending, [])
                return work()
            default:
                isBroken = true
                return
            }
        }
        while !pending.isEmpty, !engine.isInHandshake || engine.isInEarlyData {
            let isEarly = engine.isInEarlyData
            guard case .done(let count) = pending.withUnsafeBytes({ engine.write($0) }) else { return }
            if isEarly { early += pending.prefix(count) }
            pending = pending.dropFirst(count)
        }
    }

    private static let transport = TLSTransport(
        "fuzzed end",
        read: { bio, target, count in
            TLSTransport.read(bio, target, count) { owner, target in
                let end = Unmanaged<EndTLS>.fromOpaque(owner).takeUnretainedValue()
                let taken = min(end.input.count, target.count)
                target.copyBytes(from: end.input.prefix(taken))
                end.input = end.input.dropFirst(taken)
                return taken
            }
        },
        write: { bio, bytes, count in
            TLSTransport.write(bio, bytes, count) { owner, bytes in
                let end = Unmanaged<EndTLS>.fromOpaque(owner).takeUnretainedValue()
                end.output += bytes
                return bytes.count
            }
        }
    )

    private static let client: TLSContext = {
        do {
            let context = try TLSContext(.client, ciphers: "ECDHE+AESGCM")
            guard context.trust(certificates: Array(certificate.utf8)) else { fatalError("no certificate") }
            context.passSessions { connection, session in
                guard let offered = OfferedSession(connection, session), offered.permitsEarlyData else { return 0 }
                let end = Unmanaged<EndTLS>.fromOpaque(offered.owner).takeUnretainedValue()
                end.tickets.latest = offered.withSerialization { Array($0) } ?? end.tickets.latest
                return 0
            }
            return context
        } catch {
            fatalError("\(error)")
        }
    }()

    /// The relay's side.
    static let relay: SocketSecurity = {
        do {
            return .tls(try RelayCertificate.context(certificate: Array(certificate.utf8), key: Array(key.utf8)))
        } catch {
            fatalError("\(error)")
        }
    }()

    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBljCCATugAwIBAgIUNYJyD1D9NE2JlUZmJiEcxnIxqYowCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyODIzMzkyMFoYDzIxMjYxMTA0
        MjMzOTIwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAASq7SitdHg9sMqQNN5MbbBqhhaac8ZbQrIhEHNxKVPHxftO291WQm+R
        uRK1Z5FWD3wakvDpJcgmsTfqyr20UCzYo2kwZzAdBgNVHQ4EFgQUCJU8v17M2eAy
        pdYfPBURAN/jNHEwHwYDVR0jBBgwFoAUCJU8v17M2eAypdYfPBURAN/jNHEwDwYD
        VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
        SQAwRgIhANHtsZBPrQ2sOKPzfs5JS5qMaNLn0XWk6N4Ln0mn/V9uAiEAwp/Aq1zQ
        T+VtOrsYD4RMeU4IzxqS26cyxN864VNuqbc=
        -----END CERTIFICATE-----
        """

    /// The key of this certificate, which nothing else uses.
    private static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgRWxLHP7Ffsf0+s4c
        N00RlUZiE+oq3ai1y5JLYAZXSqShRANCAASq7SitdHg9sMqQNN5MbbBqhhaac8Zb
        QrIhEHNxKVPHxftO291WQm+RuRK1Z5FWD3wakvDpJcgmsTfqyr20UCzY
        -----END PRIVATE KEY-----
        """
}
#else
import HybridRelayCore
import TestSupport

/// No TLS, in a build without a TLS library.
final class EndTLS {
    final class Tickets {}

    let isBroken = true
    static let relay = SocketSecurity.plaintext

    init(_ tickets: Tickets, resumes: Bool) throws { throw BrokenInvariant(description: "this build has no TLS") }

    func encrypt(_ bytes: [UInt8]) {}
    func decrypt(_ records: [UInt8]) -> [UInt8] { [] }
    func takeOutput() -> [UInt8] { [] }
}
#endif
