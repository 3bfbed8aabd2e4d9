// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import NIOCore

/// An outgoing request that contains a secret; wiped once it has been written or writing has failed.
///
/// Nothing else may hold the buffer at that time; otherwise, a copy would be wiped instead.
final class SecretRequest {
    /// The request; overwritten with zeros once it has been written.
    private(set) var bytes: ByteBuffer

    /// Creates an empty request with room for `capacity` bytes.
    ///
    /// A longer request would be reallocated and leave a copy behind.
    init(capacity: Int, _ allocator: ByteBufferAllocator) { bytes = allocator.buffer(capacity: capacity) }

    func append(_ more: some Sequence<UInt8>) { bytes.writeBytes(more) }
    func append(_ more: StaticString) { bytes.writeStaticString(more) }

    /// Writes the request to the channel without flushing, and wipes it afterwards.
    func write(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>? = nil) {
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in
            self.bytes.withUnsafeMutableReadableBytes { SecretBytes.wipe($0) }
        }
        context.write(NIOAny(bytes), promise: written)
    }
}
