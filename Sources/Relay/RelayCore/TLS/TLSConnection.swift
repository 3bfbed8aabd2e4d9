// SPDX-License-Identifier: Apache-2.0

private import CNIOBoringSSL
private import Glibc

// The only file that uses BoringSSL. Its maintainers promise no stable interface for CNIOBoringSSL, so the file uses few
// functions, and the tests exercise each of them:
//
// - ASN1_TIME_to_posix, BIO_clear_retry_flags, BIO_free, BIO_get_data, BIO_get_new_index, BIO_meth_new, BIO_meth_set_ctrl,
//   BIO_meth_set_read, BIO_meth_set_write, BIO_new, BIO_new_mem_buf, BIO_set_data, BIO_set_init, BIO_set_retry_read,
//   BIO_set_retry_write, ERR_GET_LIB, ERR_GET_REASON, ERR_clear_error, ERR_error_string_n, ERR_get_error,
//   ERR_peek_last_error, EVP_PKEY_free, PEM_read_bio_PrivateKey, PEM_read_bio_X509, X509_free, X509_get0_notAfter
// - SSL_CTX_add1_chain_cert, SSL_CTX_check_private_key, SSL_CTX_free, SSL_CTX_new, SSL_CTX_set1_group_ids,
//   SSL_CTX_set_alpn_select_cb, SSL_CTX_set_cipher_list, SSL_CTX_set_early_data_enabled,
//   SSL_CTX_set_min_proto_version, SSL_CTX_set_mode, SSL_CTX_set_session_cache_mode, SSL_CTX_use_certificate,
//   SSL_CTX_use_PrivateKey, SSL_do_handshake, SSL_free, SSL_get_error, SSL_in_init, SSL_new, SSL_read,
//   SSL_set_accept_state, SSL_set_bio, SSL_set_shed_handshake_config, SSL_shutdown, SSL_write, TLS_server_method

/// A certificate with its key and the relay's TLS settings, shared by all event loops.
///
/// TLS 1.2 or later, HTTP/1.1 by ALPN, no client certificates, no renegotiation. Session tickets are encrypted with keys
/// that BoringSSL replaces after two days and deletes after four, both when a ticket is next used. They exist only in
/// memory. With a ticket, a client may send up to 14 KiB of early data (RFC 8446 §2.3), which an attacker can replay. So the
/// caller decides which requests it processes.
public final class TLSServerContext: Sendable {
    /// The reason why a certificate and key cannot be used.
    enum SetupError: Error, Equatable {
        case noCertificate
        case noKey
        case mismatch
        case rejected(String)
    }

    // SAFETY of nonisolated(unsafe): the pointer is constant. BoringSSL locks what changes in a context in use.
    nonisolated(unsafe) fileprivate let context: OpaquePointer

    /// Creates a context from a PEM chain, which begins with the server's own certificate, and a PEM key.
    init(certificate: [UInt8], key: [UInt8]) throws(SetupError) {
        defer { ERR_clear_error() }
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw .rejected("no memory") }
        self.context = context
        // The deinitializer frees the context if one of the following throws.
        try Self.useCertificates(certificate, in: context)
        try Self.useKey(key, in: context)
        guard SSL_CTX_set_min_proto_version(context, UInt16(TLS1_2_VERSION)) == 1,
            // For TLS 1.2, only suites with forward secrecy and authenticated encryption; TLS 1.3 has no others. In both
            // versions the client chooses, so browsers and phones use AES-128, their first choice.
            SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1,
            Self.setGroups(of: context)
        else { throw .rejected(Self.lastError()) }
        SSL_CTX_set_mode(context, UInt32(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF)
        SSL_CTX_set_early_data_enabled(context, 1)
        SSL_CTX_set_alpn_select_cb(context, Self.selectHTTP, nil)
    }

    deinit { SSL_CTX_free(context) }

    /// Returns the earliest expiry in a PEM chain, in seconds since 1970; `nil` if there is no certificate.
    static func expiry(ofCertificate certificate: [UInt8]) -> Int? {
        defer { ERR_clear_error() }
        var earliest: Int?
        withMemoryBIO(certificate) { bio in
            while let certificate = PEM_read_bio_X509(bio, nil, nil, nil) {
                defer { X509_free(certificate) }
                var seconds: Int64 = 0
                guard let time = X509_get0_notAfter(certificate), ASN1_TIME_to_posix(time, &seconds) == 1 else {
                    continue
                }
                earliest = min(earliest ?? .max, Int(seconds))
            }
        }
        return earliest
    }

    private static func useCertificates(_ pem: [UInt8], in context: OpaquePointer) throws(SetupError) {
        var count = 0
        var isAccepted = true
        withMemoryBIO(pem) { bio in
            while isAccepted, let certificate = PEM_read_bio_X509(bio, nil, nil, nil) {
                defer { X509_free(certificate) }
                let result =
                    count == 0
                    ? SSL_CTX_use_certificate(context, certificate) : SSL_CTX_add1_chain_cert(context, certificate)
                isAccepted = result == 1
                count += 1
            }
        }
        guard count > 0 else { throw .noCertificate }
        guard isAccepted else { throw .rejected(lastError()) }
        // After the last certificate, the reader reports that there is no further start line.
        let end = ERR_peek_last_error()
        guard ERR_GET_LIB(end) == CInt(ERR_LIB_PEM), ERR_GET_REASON(end) == PEM_R_NO_START_LINE else {
            throw .noCertificate
        }
        ERR_clear_error()
    }

    private static func useKey(_ pem: [UInt8], in context: OpaquePointer) throws(SetupError) {
        // Without a callback for the passphrase, an encrypted key is not read.
        guard let key = withMemoryBIO(pem, { PEM_read_bio_PrivateKey($0, nil, nil, nil) }) ?? nil else {
            throw .noKey
        }
        defer { EVP_PKEY_free(key) }
        guard SSL_CTX_use_PrivateKey(context, key) == 1, SSL_CTX_check_private_key(context) == 1 else {
            throw .mismatch
        }
    }

    /// Sets the groups for key agreement.
    ///
    /// The first one protects against attackers who record traffic now to decrypt it later. Browsers and phones offer
    /// it.
    private static func setGroups(of context: OpaquePointer) -> Bool {
        let groups = [
            UInt16(SSL_GROUP_X25519_MLKEM768), UInt16(SSL_GROUP_X25519), UInt16(SSL_GROUP_SECP256R1),
            UInt16(SSL_GROUP_SECP384R1),
        ]
        return SSL_CTX_set1_group_ids(context, groups, groups.count) == 1
    }

    private typealias SelectProtocol =
        @convention(c) (
            OpaquePointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?,
            UnsafePointer<UInt8>?, CUnsignedInt, UnsafeMutableRawPointer?
        ) -> CInt

    /// Selects HTTP/1.1 if the client offers it; otherwise, the connection continues without ALPN.
    private static let selectHTTP: SelectProtocol = { _, selected, selectedLength, offered, count, _ in
        guard let selected, let selectedLength, let offered else { return SSL_TLSEXT_ERR_NOACK }
        let list = UnsafeBufferPointer(start: offered, count: Int(count))
        var index = 0
        while index < list.count {
            let end = index + 1 + Int(list[index])
            guard end <= list.count else { break }
            if list[(index + 1)..<end].elementsEqual("http/1.1".utf8) {
                // The result may be a part of the offer.
                selected.pointee = offered + index + 1
                selectedLength.pointee = list[index]
                return SSL_TLSEXT_ERR_OK
            }
            index = end
        }
        return SSL_TLSEXT_ERR_NOACK
    }

    /// Calls `body` with a BIO that reads the bytes; returns `nil` if there is no memory for it.
    @discardableResult
    private static func withMemoryBIO<Result>(
        _ bytes: [UInt8],
        _ body: (OpaquePointer) -> Result
    ) -> Result? {
        bytes.withUnsafeBytes { bytes -> Result? in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, bytes.count) else { return nil }
            defer { BIO_free(bio) }
            return body(bio)
        }
    }

    /// Returns BoringSSL's text for the latest error.
    private static func lastError() -> String {
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(ERR_get_error(), &text, text.count)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// One connection's TLS session, on a socket and the buffers of an event loop.
///
/// BoringSSL keeps no buffer while a connection is idle: it reads complete records from the loop's buffer and writes
/// directly to the socket. The session keeps an incomplete record here. It must be used only on the event loop that its
/// buffers belong to.
final class TLSConnection {
    /// The result of a read.
    enum Received {
        case bytes(Int)
        /// More ciphertext is needed.
        case nothing
        /// The peer has sent close_notify.
        case end
    }

    private let session: OpaquePointer
    private let descriptor: CInt
    private var buffers: LoopBuffers
    /// The part of the loop's ciphertext that BoringSSL may read; empty while another connection uses the buffer.
    private var input = 0..<0
    /// The end of this connection's bytes in the loop's ciphertext; those after `input` are an incomplete record.
    private var inputEnd = 0
    /// Ciphertext that could not be read yet.
    private var kept: [UInt8] = []
    /// Number of bytes read before the end of the handshake, of which BoringSSL may keep ``maximumHandshakeBytes``.
    private var handshakeBytes = 0
    /// Number of these bytes that precede early data; BoringSSL keeps the ClientHello up to the end of the handshake.
    private var helloBytes = 0
    /// True if the handshake is complete.
    private(set) var isEstablished = false
    /// True if early data was accepted and the client's last message of the handshake has not arrived.
    ///
    /// Bytes can be written, and only the owner of the session can read them. Bytes that are read may be a replay.
    private(set) var isInEarlyData = false
    /// True if the end of the socket's output follows the next writes at once.
    var isOutputLast = false

    /// Creates the server's side of a session on a connected socket, which the caller owns.
    init(_ context: TLSServerContext, descriptor: CInt, buffers: LoopBuffers) throws(ConnectionFailure) {
        guard let method = Self.method.pointer, let session = SSL_new(context.context) else {
            ERR_clear_error()
            throw .memory
        }
        self.session = session
        self.descriptor = descriptor
        self.buffers = buffers
        // The deinitializer frees the session if this throws.
        guard let bio = BIO_new(method) else {
            ERR_clear_error()
            throw .memory
        }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        // The session owns the BIO, and this object owns the session, so the BIO's pointer is valid when it is used.
        SSL_set_bio(session, bio, bio)
        SSL_set_shed_handshake_config(session, 1)
        SSL_set_accept_state(session)
    }

    deinit { SSL_free(session) }

    /// Amount of memory for ciphertext that could not be read yet and for the handshake's messages, in bytes.
    var heldBytes: Int { kept.capacity + (isEstablished ? 0 : min(handshakeBytes, Self.maximumHandshakeBytes)) }

    /// Size of BoringSSL's buffer for the longest message of a handshake, in bytes; the rest of the input is padding.
    private static let maximumHandshakeBytes = 22 << 10

    // MARK: Ciphertext

    /// Reads the socket once, at most ``LoopBuffers/readSize`` bytes; they stay in the loop's buffer until
    /// ``keepRest()``.
    func receive(upTo count: Int) -> Socket.Received {
        // More is kept only while the socket is not read: in a handshake that waits for it, in a move, or by a held request.
        guard kept.count < TLSRecords.maximumLength else { return .failed }
        let target = buffers.ciphertext[kept.count..<(kept.count + count)]
        let result = Socket.receive(descriptor, into: UnsafeMutableRawBufferPointer(rebasing: target))
        if case .bytes(let count) = result { load(count) }
        return result
    }

    /// Makes the kept ciphertext readable, maybe in the buffer of another event loop.
    func restore() { load(0) }

    /// Adds ciphertext that was received before the session began.
    func keep(_ bytes: RawSpan) { kept.append(copying: bytes) }

    /// Moves the session to the buffers of another event loop.
    func rebind(to buffers: LoopBuffers) { self.buffers = buffers }

    /// Makes the kept ciphertext and `count` bytes after its place in the loop's buffer readable.
    private func load(_ count: Int) {
        inputEnd = kept.count + count
        if !kept.isEmpty {
            buffers.ciphertext.copyBytes(from: kept)
            kept = []
        }
        let all = UnsafeRawBufferPointer(rebasing: buffers.ciphertext[..<inputEnd])
        input = 0..<TLSRecords.completeLength(of: all.bytes)
    }

    /// Copies unread ciphertext out of the loop's buffer; must be called before another connection is read.
    func keepRest() {
        if input.lowerBound < inputEnd { kept = Array(buffers.ciphertext[input.lowerBound..<inputEnd]) }
        (input, inputEnd) = (0..<0, 0)
    }

    fileprivate func take(_ target: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(target.count, input.count)
        guard count > 0 else { return 0 }
        let end = input.lowerBound + count
        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffers.ciphertext[input.lowerBound..<end]))
        input = end..<input.upperBound
        if !isEstablished { handshakeBytes += count }
        return count
    }

    fileprivate func send(_ bytes: UnsafeRawBufferPointer) -> Int? {
        Socket.send(bytes, to: descriptor, isContinued: isOutputLast)
    }

    // MARK: TLS

    /// Continues the handshake up to its end or to early data.
    ///
    /// - Returns: True if it waits until the socket takes more bytes.
    func handshake() throws(ConnectionFailure) -> Bool {
        let result = SSL_do_handshake(session)
        guard result == 1 else { return try failure(result) == SSL_ERROR_WANT_WRITE }
        isInEarlyData = SSL_in_init(session) == 1
        isEstablished = !isInEarlyData
        helloBytes = handshakeBytes
        return false
    }

    /// Decrypts received bytes.
    func read(into target: UnsafeMutableRawBufferPointer) throws(ConnectionFailure) -> Received {
        let result = SSL_read(session, target.baseAddress, CInt(clamping: target.count))
        if result > 0 { return .bytes(Int(result)) }
        return try failure(result) == SSL_ERROR_ZERO_RETURN ? .end : .nothing
    }

    /// Decrypts early data, or completes the handshake and decrypts what follows it.
    func readEarlyData(into target: UnsafeMutableRawBufferPointer) throws(ConnectionFailure) -> Received {
        let received = try read(into: target)
        if SSL_in_init(session) == 0 {
            (isInEarlyData, isEstablished) = (false, true)
        } else if case .bytes = received {
            // Data between the fragments of a message is an error, so BoringSSL keeps nothing of it.
            handshakeBytes = helloBytes
        }
        return received
    }

    /// Encrypts and writes at most one record.
    ///
    /// - Returns: The number of bytes written; 0 if the socket takes none. Then the next call must begin with the same
    ///   bytes, because some of their ciphertext may have been sent.
    func write(_ bytes: UnsafeRawBufferPointer) throws(ConnectionFailure) -> Int {
        let result = SSL_write(session, bytes.baseAddress, CInt(clamping: bytes.count))
        if result > 0 { return Int(result) }
        _ = try failure(result)
        return 0
    }

    /// Sends close_notify if the handshake is complete; BoringSSL sends none in early data.
    ///
    /// - Returns: False if the socket did not take it, so that the call must be repeated.
    func sendCloseNotify() throws(ConnectionFailure) -> Bool {
        guard isEstablished else { return true }
        let result = SSL_shutdown(session)
        // 0 means that the peer has not sent its own.
        if result >= 0 { return true }
        return try failure(result) != SSL_ERROR_WANT_WRITE
    }

    /// Returns the reason for a failed call if it can be repeated later or if the peer has ended the session.
    ///
    /// BoringSSL empties the thread's error queue at the beginning of each call whose result this function examines, so
    /// no reason is taken for that of another connection. It is emptied here, too, which frees its memory.
    private func failure(_ result: CInt) throws(ConnectionFailure) -> CInt {
        let error = SSL_get_error(session, result)
        ERR_clear_error()
        switch error {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE, SSL_ERROR_ZERO_RETURN: return error
        case SSL_ERROR_SYSCALL: throw .socket
        default: throw .tls
        }
    }

    // MARK: BIO

    /// The functions through which BoringSSL reads and writes ciphertext.
    private struct Method: Sendable {
        // SAFETY of nonisolated(unsafe): the pointer is constant, and so is what it points to after `init`.
        nonisolated(unsafe) let pointer: OpaquePointer?

        init() {
            let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "relay")
            BIO_meth_set_read(method) { bio, target, count in
                BIO_clear_retry_flags(bio)
                guard let connection = TLSConnection.of(bio), let target, count > 0 else { return -1 }
                let taken = connection.take(UnsafeMutableRawBufferPointer(start: target, count: Int(count)))
                if taken > 0 { return CInt(clamping: taken) }
                BIO_set_retry_read(bio)
                return -1
            }
            BIO_meth_set_write(method) { bio, bytes, count in
                BIO_clear_retry_flags(bio)
                guard let connection = TLSConnection.of(bio), let bytes, count > 0 else { return -1 }
                guard let sent = connection.send(UnsafeRawBufferPointer(start: bytes, count: Int(count))) else {
                    return -1
                }
                if sent > 0 { return CInt(clamping: sent) }
                BIO_set_retry_write(bio)
                return -1
            }
            BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
            pointer = method
        }
    }

    private static let method = Method()

    private static func of(_ bio: OpaquePointer?) -> TLSConnection? {
        BIO_get_data(bio).map { Unmanaged<TLSConnection>.fromOpaque($0).takeUnretainedValue() }
    }
}
