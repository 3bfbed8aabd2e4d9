// SPDX-License-Identifier: Apache-2.0

/// The buffers that all connections of one event loop share, so that an idle connection holds none.
///
/// Their contents belong to the connection that is being read, and only until it has been. A connection copies what it
/// needs later before any other connection is read.
final class LoopBuffers {
    /// Number of bytes that one read of a socket can return.
    static let readSize = 64 << 10
    /// Number of bytes at the start of ``plaintext`` that are reserved for the header of a forwarded frame.
    static let headroom = FrameReader.headroom

    /// Ciphertext of one connection: an incomplete TLS record and the bytes received after it.
    let ciphertext = UnsafeMutableRawBufferPointer.allocate(
        byteCount: TLSRecords.maximumLength + readSize,
        alignment: 16
    )
    /// Plaintext of one connection.
    private(set) var plaintext = UnsafeMutableRawBufferPointer.allocate(
        byteCount: headroom + FrameReader.bufferedPayload + FrameHeader.maximumLength + readSize,
        alignment: 16
    )

    deinit {
        ciphertext.deallocate()
        plaintext.deallocate()
    }

    /// Makes ``plaintext`` hold at least this number of bytes; its contents are lost if it was smaller.
    func reservePlaintext(_ count: Int) {
        guard plaintext.count < count else { return }
        plaintext.deallocate()
        plaintext = .allocate(byteCount: count, alignment: 16)
    }
}
