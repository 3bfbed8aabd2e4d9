// SPDX-License-Identifier: Apache-2.0

internal import HybridBoringTLS

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

    private let session: TLSEngine
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
        guard let session = TLSEngine(context.settings) else { throw .memory }
        self.session = session
        self.descriptor = descriptor
        self.buffers = buffers
        guard self.session.attach(Self.transport, to: self) else { throw .memory }
        self.session.accept()
    }

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

    private func take(_ target: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(target.count, input.count)
        guard count > 0 else { return 0 }
        let end = input.lowerBound + count
        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffers.ciphertext[input.lowerBound..<end]))
        input = end..<input.upperBound
        if !isEstablished { handshakeBytes += count }
        return count
    }

    private func send(_ bytes: UnsafeRawBufferPointer) -> Int? {
        Socket.send(bytes, to: descriptor, isContinued: isOutputLast)
    }

    // MARK: TLS

    /// Continues the handshake up to its end or to early data.
    ///
    /// - Returns: True if it waits until the socket takes more bytes.
    func handshake() throws(ConnectionFailure) -> Bool {
        switch try checked(session.shakeHands()) {
        case .done: break
        case .needsOutput: return true
        default: return false
        }
        isInEarlyData = session.isInHandshake
        isEstablished = !isInEarlyData
        helloBytes = handshakeBytes
        return false
    }

    /// Decrypts received bytes.
    func read(into target: UnsafeMutableRawBufferPointer) throws(ConnectionFailure) -> Received {
        switch try checked(session.read(into: target)) {
        case .done(let count): .bytes(count)
        case .ended: .end
        default: .nothing
        }
    }

    /// Decrypts early data, or completes the handshake and decrypts what follows it.
    func readEarlyData(into target: UnsafeMutableRawBufferPointer) throws(ConnectionFailure) -> Received {
        let received = try read(into: target)
        if !session.isInHandshake {
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
        guard case .done(let count) = try checked(session.write(bytes)) else { return 0 }
        return count
    }

    /// Sends close_notify if the handshake is complete; BoringSSL sends none in early data.
    ///
    /// - Returns: False if the socket did not take it, so that the call must be repeated.
    func sendCloseNotify() throws(ConnectionFailure) -> Bool {
        guard isEstablished else { return true }
        if case .needsOutput = try checked(session.close()) { return false }
        return true
    }

    /// Returns the outcome of a call unless the session failed.
    private func checked(_ outcome: TLSEngine.Outcome) throws(ConnectionFailure) -> TLSEngine.Outcome {
        switch outcome {
        case .done, .needsInput, .needsOutput, .ended: return outcome
        case .transportFailed: throw .socket
        case .earlyDataRejected, .failed:
            BoringSSLErrors.clear()
            throw .tls
        }
    }

    // MARK: Transport

    /// The functions through which BoringSSL reads and writes ciphertext.
    private static let transport = TLSTransport(
        "relay",
        read: { bio, target, count in
            TLSTransport.read(bio, target, count) { owner, target in TLSConnection.of(owner).take(target) }
        },
        write: { bio, bytes, count in
            TLSTransport.write(bio, bytes, count) { owner, bytes in TLSConnection.of(owner).send(bytes) }
        }
    )

    private static func of(_ owner: UnsafeMutableRawPointer) -> TLSConnection {
        Unmanaged<TLSConnection>.fromOpaque(owner).takeUnretainedValue()
    }
}
