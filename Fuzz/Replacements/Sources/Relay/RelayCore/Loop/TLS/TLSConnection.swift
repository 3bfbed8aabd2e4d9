// SPDX-License-Identifier: Apache-2.0

// TLS without encryption, in place of TLSConnection.swift and TLSServerContext.swift in RelayCore/Loop/TLS. The
// fuzzer's connections have no TLS, so that its build needs no TLS library.

/// A TLS context that cannot be created.
public final class TLSServerContext: Sendable {
    private init() {}
}

/// A TLS session that cannot be created.
final class TLSConnection {
    enum Received {
        case bytes(Int)
        case nothing
        case end
    }

    let heldBytes = 0
    let isEstablished = false
    let isInEarlyData = false
    var isOutputLast = false

    init(_ context: TLSServerContext, descriptor: CInt, buffers: LoopBuffers) throws(ConnectionFailure) {
        throw .memory
    }

    func receive(upTo maximum: Int) -> Socket.Received { .failed }
    func restore() {}
    func keep(_ bytes: RawSpan) {}
    func rebind(to buffers: LoopBuffers) {}
    func keepRest() {}
    func handshake() throws(ConnectionFailure) -> Bool { throw .tls }
    func read(into target: UnsafeMutableRawBufferPointer) throws(ConnectionFailure) -> Received { throw .tls }
    func readEarlyData(into target: UnsafeMutableRawBufferPointer) throws(ConnectionFailure) -> Received { throw .tls }
    func write(_ bytes: UnsafeRawBufferPointer) throws(ConnectionFailure) -> Int { throw .tls }
    func sendCloseNotify() throws(ConnectionFailure) -> Bool { throw .tls }
}
