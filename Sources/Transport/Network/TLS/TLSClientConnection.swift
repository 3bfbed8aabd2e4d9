// SPDX-License-Identifier: Apache-2.0

internal import HybridBoringTLS
internal import NIOCore

/// A version of TLS.
package enum TLSVersion: String, Sendable {
    /// Version 1.0, which is not secure.
    case tls10 = "TLS 1.0"
    /// Version 1.1, which is not secure.
    case tls11 = "TLS 1.1"
    /// Version 1.2.
    case tls12 = "TLS 1.2"
    /// Version 1.3.
    case tls13 = "TLS 1.3"

    /// Creates a version from its number in the protocol (RFC 8446 §4.1.2); `nil` for another one.
    init?(number: UInt16) {
        switch number {
        case 0x0301: self = .tls10
        case 0x0302: self = .tls11
        case 0x0303: self = .tls12
        case 0x0304: self = .tls13
        default: return nil
        }
    }
}

/// The client's side of a TLS connection, without input and output: bytes are passed in, and results are taken out.
///
/// It must be used on one event loop only.
final class TLSClientConnection {
    private let context: TLSClientContext
    private let engine: TLSEngine
    /// Ciphertext that BoringSSL has not read.
    private var input = ByteBuffer()
    private var output = ByteBuffer()
    /// Maximum number of sessions of one connection, because each costs work and a server can offer any number.
    private static let maximumSessions = 4
    /// Number of sessions that may still be taken.
    private var remainingSessions: Int
    private var newSession: TLSSession?

    /// Creates a connection.
    ///
    /// - Parameters:
    ///   - context: The settings.
    ///   - serverName: The name to send (SNI), unless it is an address literal.
    ///   - keepsSessions: True to keep sessions for ``takeSession()``.
    init(_ context: TLSClientContext, serverName: String?, keepsSessions: Bool) throws(TLSFailure) {
        guard let engine = TLSEngine(context.settings) else { throw Self.noMemory }
        self.context = context
        self.engine = engine
        remainingSessions = keepsSessions ? Self.maximumSessions : 0
        guard self.engine.attach(Self.transport, to: self) else { throw Self.noMemory }
        guard self.engine.connect(serverName: serverName) else { throw failure() }
    }

    // MARK: Ciphertext

    /// Adds ciphertext from the server; one of the following functions must be called afterwards.
    func receive(_ bytes: ByteBuffer) {
        guard input.readableBytes > 0 else {
            input = bytes
            return
        }
        input.writeImmutableBuffer(bytes)
    }

    /// Returns the ciphertext to send to the server; `nil` if there is none.
    func takeOutput() -> ByteBuffer? {
        guard output.readableBytes > 0 else { return nil }
        defer { output = ByteBuffer() }
        return output
    }

    // MARK: Handshake

    /// The state of the handshake.
    enum Handshake {
        case needsInput
        /// Early data may be written once; the handshake continues with the server's answer.
        case early
        /// The server has rejected early data; it must be written again after the handshake, which goes on.
        case earlyDataRejected
        case complete
    }

    /// Continues the handshake.
    func shakeHands() throws(TLSFailure) -> Handshake {
        switch engine.shakeHands() {
        case .done: return engine.isInEarlyData ? .early : .complete
        case .needsInput, .needsOutput: return .needsInput
        case .earlyDataRejected:
            engine.forgetEarlyData()
            return .earlyDataRejected
        case .ended: throw .cutOff
        case .transportFailed, .failed: throw failure()
        }
    }

    /// Offers a session, and early data with it.
    ///
    /// The session is ignored if it permits no early data, or if its certificates are no longer trusted or valid.
    func offer(_ session: TLSSession) {
        session.withUnsafeBytes { engine.offer(session: $0, of: context.settings) }
    }

    /// The server's certificate, verified or not; with early data, at first the one that came with the session.
    var certificate: PeerCertificate? {
        guard let certificate = engine.peerCertificate else { return nil }
        return PeerCertificate(certificate)
    }

    /// The version, once it has been negotiated.
    var version: TLSVersion? { TLSVersion(number: engine.version) }

    /// The protocol that the server has chosen (ALPN), if it has.
    var applicationProtocol: String? { engine.applicationProtocol }

    // MARK: Data

    /// The reason why no more data was read.
    enum ReadEnd {
        case needsInput
        /// The server has sent close_notify.
        case closed
        case failed(TLSFailure)
    }

    /// Decrypts all received data, and appends it to `target`.
    func read(into target: inout ByteBuffer) -> ReadEnd {
        while true {
            var outcome = TLSEngine.Outcome.needsInput
            // A record is at least as long as its contents, so this is normally enough for all of them.
            target.writeWithUnsafeMutableBytes(minimumWritableBytes: max(input.readableBytes, 1024)) { space in
                outcome = engine.read(into: space)
                return if case .done(let count) = outcome { count } else { 0 }
            }
            switch outcome {
            case .done: continue
            case .needsInput, .needsOutput: return .needsInput
            case .ended: return .closed
            case .earlyDataRejected, .transportFailed, .failed: return .failed(failure())
            }
        }
    }

    /// Encrypts data.
    ///
    /// - Returns: False if not all of it fits into the early data that the server accepts. Then the call must be repeated
    ///   with the same bytes after the handshake.
    func write(_ bytes: ByteBuffer) throws(TLSFailure) -> Bool {
        guard bytes.readableBytes > 0 else { return true }
        switch bytes.withUnsafeReadableBytes({ engine.write($0) }) {
        case .done: return true
        case .needsInput: return false
        case .needsOutput, .ended, .earlyDataRejected, .transportFailed, .failed: throw failure()
        }
    }

    /// Encrypts close_notify.
    ///
    /// - Returns: True if the server has sent its own, too.
    func close() -> Bool {
        defer { BoringSSLErrors.clear() }
        return if case .done(1) = engine.close() { true } else { false }
    }

    // MARK: Sessions

    /// Removes and returns the newest session that the server has offered since the last call, if there is one.
    ///
    /// After ``maximumSessions``, the server's offers are ignored.
    func takeSession() -> TLSSession? {
        guard let session = newSession else { return nil }
        newSession = nil
        remainingSessions -= 1
        return session
    }

    /// The function that BoringSSL calls with a new session.
    static let keepSession: TLSContext.NewSession = { ssl, session in
        if let session = OfferedSession(ssl, session) { TLSClientConnection.of(session.owner).keep(session) }
        return 0
    }

    private func keep(_ session: borrowing OfferedSession) {
        // A session without early data would not save a round trip.
        guard remainingSessions > 0, session.permitsEarlyData else { return }
        if let kept = session.withSerialization(TLSSession.init) { newSession = kept }
    }

    // MARK: Errors

    /// Reads the cause of a failed call from the thread's error queue, and empties it.
    ///
    /// BoringSSL empties the queue at the beginning of each call whose result is examined here.
    private func failure() -> TLSFailure {
        let verification: TLSFailure.Verification =
            switch engine.verification {
            case .expired: .expired
            case .notYetValid: .notYetValid
            case .other: .untrusted
            }
        return TLSFailure(reasons: BoringSSLErrors.takeReasons(), verification)
    }

    private static let noMemory = TLSFailure.other("out of memory")

    // MARK: Transport

    private func take(_ target: UnsafeMutableRawBufferPointer) -> Int {
        let count = input.readWithUnsafeReadableBytes { bytes in
            let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(target.count))
            target.copyMemory(from: part)
            return part.count
        }
        // The channel can then reuse its buffer.
        if input.readableBytes == 0 { input = ByteBuffer() }
        return count
    }

    /// The functions through which BoringSSL reads and writes ciphertext.
    private static let transport = TLSTransport(
        "client",
        read: { bio, target, count in
            TLSTransport.read(bio, target, count) { owner, target in TLSClientConnection.of(owner).take(target) }
        },
        write: { bio, bytes, count in
            TLSTransport.write(bio, bytes, count) { owner, bytes in
                TLSClientConnection.of(owner).output.writeBytes(bytes)
            }
        }
    )

    private static func of(_ owner: UnsafeMutableRawPointer) -> TLSClientConnection {
        Unmanaged<TLSClientConnection>.fromOpaque(owner).takeUnretainedValue()
    }
}

@available(*, unavailable)
extension TLSClientConnection: Sendable {}
