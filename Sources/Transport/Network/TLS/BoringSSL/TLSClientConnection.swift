// SPDX-License-Identifier: Apache-2.0

private import CNIOBoringSSL
internal import NIOCore

// The maintainers of BoringSSL and swift-nio-ssl promise no stable interface for CNIOBoringSSL. So three files of this
// module use few functions, which each lists, and the tests exercise each of them. In this file:
//
// - BIO_clear_retry_flags, BIO_get_data, BIO_get_new_index, BIO_meth_new, BIO_meth_set_ctrl, BIO_meth_set_read,
//   BIO_meth_set_write, BIO_new, BIO_set_data, BIO_set_init, BIO_set_retry_read, ERR_GET_REASON, ERR_clear_error,
//   ERR_get_error, ERR_reason_symbol_name, OPENSSL_free
// - SSL_CTX_get_cert_store, SSL_SESSION_early_data_capable, SSL_SESSION_free, SSL_SESSION_from_bytes,
//   SSL_SESSION_get0_peer, SSL_SESSION_get0_peer_certificates, SSL_SESSION_to_bytes, SSL_do_handshake, SSL_free,
//   SSL_get0_alpn_selected, SSL_get0_param, SSL_get_error, SSL_get_peer_certificate, SSL_get_rbio,
//   SSL_get_verify_result, SSL_in_early_data, SSL_new, SSL_read, SSL_reset_early_data_reject, SSL_set_bio,
//   SSL_set_connect_state, SSL_set_early_data_enabled, SSL_set_session, SSL_set_tlsext_host_name, SSL_shutdown,
//   SSL_version, SSL_write
// - X509_STORE_CTX_free, X509_STORE_CTX_get0_param, X509_STORE_CTX_init, X509_STORE_CTX_new,
//   X509_STORE_CTX_set_default, X509_VERIFY_PARAM_set1, X509_free, X509_parse_from_buffer, X509_verify_cert,
//   sk_CRYPTO_BUFFER_num, sk_CRYPTO_BUFFER_value, sk_X509_new_null, sk_X509_pop_free, sk_X509_push

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
}

/// The client's side of a TLS connection, without input and output: bytes are passed in, and results are taken out.
///
/// It must be used on one event loop only.
final class TLSClientConnection {
    private let context: TLSClientContext
    private let ssl: OpaquePointer
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
        guard let method = Self.method.pointer, let ssl = SSL_new(context.pointer) else { throw Self.noMemory() }
        (self.context, self.ssl, remainingSessions) = (context, ssl, keepsSessions ? Self.maximumSessions : 0)
        // The deinitializer frees the connection if one of the following throws.
        guard let bio = BIO_new(method) else { throw Self.noMemory() }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        // BoringSSL's connection owns the BIO, and this object owns the connection, so the pointer is valid when used.
        SSL_set_bio(ssl, bio, bio)
        SSL_set_connect_state(ssl)
        if let serverName, SSL_set_tlsext_host_name(ssl, serverName) != 1 { throw failure() }
    }

    deinit { SSL_free(ssl) }

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
        let result = SSL_do_handshake(ssl)
        if result == 1 { return SSL_in_early_data(ssl) == 1 ? .early : .complete }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
            ERR_clear_error()
            return .needsInput
        case SSL_ERROR_EARLY_DATA_REJECTED:
            ERR_clear_error()
            SSL_reset_early_data_reject(ssl)
            return .earlyDataRejected
        case SSL_ERROR_ZERO_RETURN: throw .cutOff
        default: throw failure()
        }
    }

    /// Offers a session, and early data with it.
    ///
    /// The session is ignored if it permits no early data, or if its certificates are no longer trusted or valid.
    /// BoringSSL checks the ticket's own lifetime.
    func offer(_ session: TLSSession) {
        defer { ERR_clear_error() }
        let session = session.withUnsafeBytes { bytes in
            SSL_SESSION_from_bytes(bytes.assumingMemoryBound(to: UInt8.self).baseAddress, bytes.count, context.pointer)
        }
        guard let session else { return }
        defer { SSL_SESSION_free(session) }
        guard SSL_SESSION_early_data_capable(session) == 1, isTrusted(session), SSL_set_session(ssl, session) == 1
        else { return }
        SSL_set_early_data_enabled(ssl, 1)
    }

    /// Verifies the chain that the server of a session presented, as in a handshake.
    ///
    /// BoringSSL itself verifies it again only by a callback, which would have to replace its verification.
    private func isTrusted(_ session: OpaquePointer) -> Bool {
        guard let leaf = SSL_SESSION_get0_peer(session), let chain = sk_X509_new_null() else { return false }
        // The chain owns its certificates.
        defer { sk_X509_pop_free(chain, X509_free) }
        let presented = SSL_SESSION_get0_peer_certificates(session)
        for index in 0..<sk_CRYPTO_BUFFER_num(presented) {
            let parsed = X509_parse_from_buffer(sk_CRYPTO_BUFFER_value(presented, index))
            guard let certificate = parsed, sk_X509_push(chain, certificate) > 0 else {
                X509_free(parsed)
                return false
            }
        }
        guard let verification = X509_STORE_CTX_new() else { return false }
        defer { X509_STORE_CTX_free(verification) }
        return X509_STORE_CTX_init(verification, SSL_CTX_get_cert_store(context.pointer), leaf, chain) == 1
            && X509_STORE_CTX_set_default(verification, "ssl_server") == 1
            && X509_VERIFY_PARAM_set1(X509_STORE_CTX_get0_param(verification), SSL_get0_param(ssl)) == 1
            && X509_verify_cert(verification) == 1
    }

    /// The server's certificate, verified or not; with early data, at first the one that came with the session.
    var certificate: PeerCertificate? {
        guard let certificate = SSL_get_peer_certificate(ssl) else { return nil }
        defer { X509_free(certificate) }
        return PeerCertificate(certificate)
    }

    /// The version, once it has been negotiated.
    var version: TLSVersion? {
        switch SSL_version(ssl) {
        case TLS1_VERSION: .tls10
        case TLS1_1_VERSION: .tls11
        case TLS1_2_VERSION: .tls12
        case TLS1_3_VERSION: .tls13
        default: nil
        }
    }

    /// The protocol that the server has chosen (ALPN), if it has.
    var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var length: CUnsignedInt = 0
        SSL_get0_alpn_selected(ssl, &name, &length)
        guard length > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }

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
            var result: CInt = 0
            // A record is at least as long as its contents, so this is normally enough for all of them.
            target.writeWithUnsafeMutableBytes(minimumWritableBytes: max(input.readableBytes, 1024)) { space in
                result = SSL_read(ssl, space.baseAddress, CInt(clamping: space.count))
                return Int(max(result, 0))
            }
            guard result <= 0 else { continue }
            switch SSL_get_error(ssl, result) {
            case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
                ERR_clear_error()
                return .needsInput
            case SSL_ERROR_ZERO_RETURN:
                ERR_clear_error()
                return .closed
            default: return .failed(failure())
            }
        }
    }

    /// Encrypts data.
    ///
    /// - Returns: False if not all of it fits into the early data that the server accepts. Then the call must be repeated
    ///   with the same bytes after the handshake.
    func write(_ bytes: ByteBuffer) throws(TLSFailure) -> Bool {
        guard bytes.readableBytes > 0 else { return true }
        let result = bytes.withUnsafeReadableBytes { SSL_write(ssl, $0.baseAddress, CInt(clamping: $0.count)) }
        if result > 0 { return true }
        guard SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ else { throw failure() }
        ERR_clear_error()
        return false
    }

    /// Encrypts close_notify.
    ///
    /// - Returns: True if the server has sent its own, too.
    func close() -> Bool {
        defer { ERR_clear_error() }
        return SSL_shutdown(ssl) == 1
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

    /// The function that BoringSSL calls with a new session; 0 means that BoringSSL keeps the ownership.
    static let keepSession: @convention(c) (OpaquePointer?, OpaquePointer?) -> CInt = { ssl, session in
        guard let ssl, let session, let connection = TLSClientConnection.of(SSL_get_rbio(ssl)) else { return 0 }
        connection.keep(session)
        return 0
    }

    private func keep(_ session: OpaquePointer) {
        // A session without early data would not save a round trip.
        guard remainingSessions > 0, SSL_SESSION_early_data_capable(session) == 1 else { return }
        var bytes: UnsafeMutablePointer<UInt8>?
        var length = 0
        guard SSL_SESSION_to_bytes(session, &bytes, &length) == 1, let bytes else {
            // Otherwise, the read in progress would fail.
            ERR_clear_error()
            return
        }
        // This wipes the memory.
        defer { OPENSSL_free(bytes) }
        let kept = TLSSession(bytes: UnsafeRawBufferPointer(start: bytes, count: length))
        if let kept { newSession = kept }
    }

    // MARK: Errors

    /// Reads the cause of a failed call from the thread's error queue, and empties it.
    ///
    /// BoringSSL empties the queue at the beginning of each call whose result is examined here.
    private func failure() -> TLSFailure {
        var reasons: [String] = []
        while true {
            let error = ERR_get_error()
            guard error != 0 else { break }
            reasons.append(
                ERR_reason_symbol_name(error).map { String(cString: $0) } ?? "reason(\(ERR_GET_REASON(error)))"
            )
        }
        let verification: TLSFailure.Verification =
            switch CInt(SSL_get_verify_result(ssl)) {
            case X509_V_ERR_CERT_HAS_EXPIRED: .expired
            case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
            default: .untrusted
            }
        return TLSFailure(reasons: reasons, verification)
    }

    private static func noMemory() -> TLSFailure {
        ERR_clear_error()
        return .other("out of memory")
    }

    // MARK: BIO

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
    private struct Method: Sendable {
        // SAFETY of nonisolated(unsafe): the pointer is constant, and so is what it points to after `init`.
        nonisolated(unsafe) let pointer: OpaquePointer?

        init() {
            let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "client")
            BIO_meth_set_read(method) { bio, target, count in
                BIO_clear_retry_flags(bio)
                guard let connection = TLSClientConnection.of(bio), let target, count > 0 else { return -1 }
                let taken = connection.take(UnsafeMutableRawBufferPointer(start: target, count: Int(count)))
                if taken > 0 { return CInt(clamping: taken) }
                BIO_set_retry_read(bio)
                return -1
            }
            BIO_meth_set_write(method) { bio, bytes, count in
                BIO_clear_retry_flags(bio)
                guard let connection = TLSClientConnection.of(bio), let bytes, count > 0 else { return -1 }
                connection.output.writeBytes(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
                return count
            }
            BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
            pointer = method
        }
    }

    private static let method = Method()

    private static func of(_ bio: OpaquePointer?) -> TLSClientConnection? {
        BIO_get_data(bio).map { Unmanaged<TLSClientConnection>.fromOpaque($0).takeUnretainedValue() }
    }
}

@available(*, unavailable)
extension TLSClientConnection: Sendable {}
