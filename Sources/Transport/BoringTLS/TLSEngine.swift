// SPDX-License-Identifier: Apache-2.0

private import CNIOBoringSSL

// Functions of BoringSSL in this file (see BoringSSLErrors.swift):
//
// - BIO_clear_retry_flags, BIO_get_data, BIO_get_new_index, BIO_meth_new, BIO_meth_set_ctrl, BIO_meth_set_read,
//   BIO_meth_set_write, BIO_new, BIO_set_data, BIO_set_init, BIO_set_retry_read, BIO_set_retry_write, ERR_clear_error,
//   SSL_do_handshake, SSL_free, SSL_get_error, SSL_in_init, SSL_new, SSL_read, SSL_set_bio, SSL_shutdown, SSL_write

/// One side of a TLS connection, without input and output of its own: functions of its owner read and write ciphertext.
///
/// It must be used on one thread at a time. It is a value, so that a connection needs no memory for another object.
package struct TLSEngine: ~Copyable {
    /// The result of a call.
    package enum Outcome: Sendable {
        /// The call succeeded, for this number of bytes.
        case done(Int)
        /// The call can be repeated when there is more ciphertext.
        case needsInput
        /// The call can be repeated when the owner's function accepts more ciphertext.
        case needsOutput
        /// The peer has sent close_notify.
        case ended
        /// The server has rejected the client's early data.
        case earlyDataRejected
        /// The owner's function failed.
        case transportFailed
        /// TLS failed; the reasons are in ``BoringSSLErrors``.
        case failed
    }

    let ssl: OpaquePointer

    /// Creates a connection, which needs a call of ``attach(_:to:)``; `nil` if there is no memory.
    package init?(_ context: TLSContext) {
        guard let ssl = SSL_new(context.pointer) else {
            ERR_clear_error()
            return nil
        }
        self.ssl = ssl
    }

    deinit { SSL_free(ssl) }

    /// Sets the functions that read and write ciphertext, and the object that they get.
    ///
    /// - Parameters:
    ///   - transport: The functions.
    ///   - owner: The object that this connection is a part of; it is not retained.
    /// - Returns: False if there is no memory.
    package func attach(_ transport: TLSTransport, to owner: AnyObject) -> Bool {
        guard let method = transport.method, let bio = BIO_new(method) else {
            ERR_clear_error()
            return false
        }
        // The connection owns the BIO, and the owner owns the connection, so the pointer is valid when it is used.
        BIO_set_data(bio, Unmanaged.passUnretained(owner).toOpaque())
        BIO_set_init(bio, 1)
        SSL_set_bio(ssl, bio, bio)
        return true
    }

    /// True until the handshake is complete.
    package var isInHandshake: Bool { SSL_in_init(ssl) == 1 }

    /// Continues the handshake up to its end or to early data.
    package func shakeHands() -> Outcome {
        let result = SSL_do_handshake(ssl)
        return result == 1 ? .done(0) : outcome(result)
    }

    /// Decrypts received bytes, at least one.
    package func read(into target: UnsafeMutableRawBufferPointer) -> Outcome {
        let result = SSL_read(ssl, target.baseAddress, CInt(clamping: target.count))
        return result > 0 ? .done(Int(result)) : outcome(result)
    }

    /// Encrypts and writes bytes.
    ///
    /// After ``Outcome/needsInput`` or ``Outcome/needsOutput``, the next call must begin with the same bytes, because some
    /// of their ciphertext may have been sent.
    package func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        let result = SSL_write(ssl, bytes.baseAddress, CInt(clamping: bytes.count))
        return result > 0 ? .done(Int(result)) : outcome(result)
    }

    /// Sends close_notify.
    ///
    /// - Returns: The outcome; 1 for its number of bytes if the peer has sent its own, too, and 0 if not.
    package func close() -> Outcome {
        let result = SSL_shutdown(ssl)
        return result >= 0 ? .done(Int(result)) : outcome(result)
    }

    /// Returns the outcome of a call that did not succeed.
    ///
    /// BoringSSL empties the thread's error queue at the beginning of each such call, so no reason is taken for that of
    /// another connection. An outcome without an error is reported only if the queue is empty.
    private func outcome(_ result: CInt) -> Outcome {
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return .needsInput
        case SSL_ERROR_WANT_WRITE: return .needsOutput
        case SSL_ERROR_ZERO_RETURN: return .ended
        case SSL_ERROR_EARLY_DATA_REJECTED: return .earlyDataRejected
        case SSL_ERROR_SYSCALL:
            ERR_clear_error()
            return .transportFailed
        default: return .failed
        }
    }
}

/// The functions through which BoringSSL reads and writes the ciphertext of one kind of owner.
package struct TLSTransport: Sendable {
    /// A function of BoringSSL's for reading; it calls ``read(_:_:_:_:)``.
    package typealias Read = @convention(c) (OpaquePointer?, UnsafeMutablePointer<CChar>?, CInt) -> CInt
    /// A function of BoringSSL's for writing; it calls ``write(_:_:_:_:)``.
    package typealias Write = @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, CInt) -> CInt

    // SAFETY of nonisolated(unsafe): the pointer is constant, and so is what it points to after `init`.
    nonisolated(unsafe) fileprivate let method: OpaquePointer?

    /// Creates the functions, which are never freed; a constant should keep them.
    package init(_ name: String, read: @escaping Read, write: @escaping Write) {
        method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, name)
        BIO_meth_set_read(method, read)
        BIO_meth_set_write(method, write)
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
    }

    /// Reads ciphertext.
    ///
    /// - Parameters:
    ///   - bio: The first argument of BoringSSL's call.
    ///   - target: The second.
    ///   - count: The third.
    ///   - take: Copies available ciphertext of the owner, and returns its length; 0 if there is none.
    /// - Returns: The result of BoringSSL's call.
    package static func read(
        _ bio: OpaquePointer?,
        _ target: UnsafeMutablePointer<CChar>?,
        _ count: CInt,
        _ take: (_ owner: UnsafeMutableRawPointer, UnsafeMutableRawBufferPointer) -> Int
    ) -> CInt {
        BIO_clear_retry_flags(bio)
        guard let owner = BIO_get_data(bio), let target, count > 0 else { return -1 }
        let taken = take(owner, UnsafeMutableRawBufferPointer(start: target, count: Int(count)))
        if taken > 0 { return CInt(clamping: taken) }
        BIO_set_retry_read(bio)
        return -1
    }

    /// Writes ciphertext.
    ///
    /// - Parameters:
    ///   - bio: The first argument of BoringSSL's call.
    ///   - bytes: The second.
    ///   - count: The third.
    ///   - send: Takes ciphertext of the owner, and returns the length that it took; 0 if it can take none now, and `nil`
    ///     if it failed.
    /// - Returns: The result of BoringSSL's call.
    package static func write(
        _ bio: OpaquePointer?,
        _ bytes: UnsafePointer<CChar>?,
        _ count: CInt,
        _ send: (_ owner: UnsafeMutableRawPointer, UnsafeRawBufferPointer) -> Int?
    ) -> CInt {
        BIO_clear_retry_flags(bio)
        guard let owner = BIO_get_data(bio), let bytes, count > 0 else { return -1 }
        guard let sent = send(owner, UnsafeRawBufferPointer(start: bytes, count: Int(count))) else { return -1 }
        if sent > 0 { return CInt(clamping: sent) }
        BIO_set_retry_write(bio)
        return -1
    }
}
