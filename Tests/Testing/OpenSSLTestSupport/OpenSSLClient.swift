// SPDX-License-Identifier: Apache-2.0

internal import CHybridOpenSSL

/// A TLS 1.3 client of OpenSSL without a socket, which can send early data with the ticket of an earlier connection.
///
/// Must be used on one thread only. It is a module of its own, because clang confuses the functions of OpenSSL's headers
/// with those of BoringSSL's if one module loads both.
package final class OpenSSLClient {
    /// A session of an earlier connection, which may be used several times.
    package final class Ticket {
        fileprivate let session: OpaquePointer

        fileprivate init(_ session: OpaquePointer) { self.session = session }

        deinit { SSL_SESSION_free(session) }

        /// Number of bytes of early data that the server permits.
        package var maximumEarlyData: UInt32 { SSL_SESSION_get_max_early_data(session) }

        /// Makes the client ignore the server's limit.
        package func removeLimit() { SSL_SESSION_set_max_early_data(session, 1 << 20) }
    }

    /// The server's answer to early data.
    package enum EarlyData: Equatable {
        case notSent
        case rejected
        case accepted
    }

    /// A call of libssl failed.
    package struct Failed: Error {
        package let call: String
        package let reason: CInt
    }

    private let context: OpaquePointer
    private let tls: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer
    /// True if the handshake is complete on this side.
    package private(set) var isEstablished = false
    /// True once the server's close_notify has arrived.
    package var hasReceivedCloseNotify: Bool { SSL_get_shutdown(tls) & SSL_RECEIVED_SHUTDOWN != 0 }
    /// Number of tickets that have arrived.
    package private(set) var tickets = 0

    /// Creates a client that checks no certificate.
    package init(resuming ticket: Ticket? = nil, protocols: [String] = ["http/1.1"]) throws {
        guard let context = SSL_CTX_new(TLS_client_method()), let tls = SSL_new(context),
            let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem())
        else { throw Failed(call: "SSL_new", reason: 0) }
        (self.context, self.tls, self.input, self.output) = (context, tls, input, output)
        SSL_set_bio(tls, input, output)
        SSL_set_connect_state(tls)
        _ = SSL_ctrl(tls, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_3_VERSION), nil)
        let list = protocols.flatMap { [UInt8($0.utf8.count)] + $0.utf8 }
        if !list.isEmpty { SSL_set_alpn_protos(tls, list, UInt32(list.count)) }
        // A copy, because OpenSSL makes the session of a failed connection unusable.
        if let copy = ticket.flatMap({ SSL_SESSION_dup($0.session) }) {
            SSL_set_session(tls, copy)
            SSL_SESSION_free(copy)
        }
        SSL_set_msg_callback(tls) { isWrite, _, type, bytes, count, _, this in
            guard isWrite == 0, type == SSL3_RT_HANDSHAKE, count > 0, let bytes, let this,
                bytes.load(as: UInt8.self) == UInt8(SSL3_MT_NEWSESSION_TICKET)
            else { return }
            Unmanaged<OpenSSLClient>.fromOpaque(this).takeUnretainedValue().tickets += 1
        }
        _ = SSL_ctrl(tls, SSL_CTRL_SET_MSG_CALLBACK_ARG, 0, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        // OpenSSL makes the session of a connection that is not closed in order unusable.
        SSL_set_shutdown(tls, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        SSL_free(tls)
        SSL_CTX_free(context)
    }

    /// The server's answer to the early data that was sent.
    package var earlyData: EarlyData {
        switch SSL_get_early_data_status(tls) {
        case SSL_EARLY_DATA_ACCEPTED: .accepted
        case SSL_EARLY_DATA_REJECTED: .rejected
        default: .notSent
        }
    }

    /// The session of the latest ticket.
    package var ticket: Ticket? { SSL_get1_session(tls).map { Ticket($0) } }

    /// Pads each record to the maximum length; has no effect in newer versions of OpenSSL once something was sent.
    package func padRecords() { _ = SSL_set_block_padding(tls, 1 << 14) }

    /// Returns the first flight, or more of it, with early data.
    package func early(_ bytes: [UInt8]) throws -> [UInt8] {
        var written = 0
        let result = SSL_write_early_data(tls, bytes, bytes.count, &written)
        guard result == 1, written == bytes.count else { throw failure("SSL_write_early_data", result) }
        return takeOutput()
    }

    /// Returns the first flight without early data.
    package func hello() throws -> [UInt8] {
        try proceed()
        return takeOutput()
    }

    /// Takes the server's records, and returns the bytes in them.
    ///
    /// The client's last flight is not sent before ``takeOutput()``.
    package func receive(_ records: [UInt8]) throws -> [UInt8] {
        var bytes: [UInt8] = []
        if !records.isEmpty { BIO_write(input, records, CInt(records.count)) }
        try proceed()
        while isEstablished {
            var buffer = [UInt8](repeating: 0, count: 1 << 14)
            let count = SSL_read(tls, &buffer, CInt(buffer.count))
            if count > 0 {
                bytes += buffer.prefix(Int(count))
                continue
            }
            switch SSL_get_error(tls, count) {
            case SSL_ERROR_WANT_READ, SSL_ERROR_ZERO_RETURN: return bytes
            default: throw failure("SSL_read", count)
            }
        }
        return bytes
    }

    /// Returns the records of bytes, after those that have not been sent yet.
    package func encrypt(_ bytes: [UInt8]) throws -> [UInt8] {
        let result = SSL_write(tls, bytes, CInt(bytes.count))
        guard result == bytes.count else { throw failure("SSL_write", result) }
        return takeOutput()
    }

    /// Returns the records to be sent.
    package func takeOutput() -> [UInt8] {
        var records = [UInt8](repeating: 0, count: BIO_ctrl_pending(output))
        let count = BIO_read(output, &records, CInt(records.count))
        return Array(records.prefix(max(0, Int(count))))
    }

    private func proceed() throws {
        guard !isEstablished else { return }
        let result = SSL_do_handshake(tls)
        if result == 1 {
            isEstablished = true
        } else if SSL_get_error(tls, result) != SSL_ERROR_WANT_READ {
            throw failure("SSL_do_handshake", result)
        }
    }

    private func failure(_ call: String, _ result: CInt) -> Failed {
        Failed(call: call, reason: SSL_get_error(tls, result))
    }
}
