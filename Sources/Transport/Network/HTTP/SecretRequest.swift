// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import NIOCore

/// An outgoing request that contains a secret; wiped after it has been written or writing has failed.
///
/// Nothing else may hold the buffer in the next turn of the event loop; otherwise, a copy would be wiped instead.
final class SecretRequest {
    /// The request; overwritten with zeros after it has been written.
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
        let loop = context.eventLoop.assumeIsolated()
        written.futureResult.assumeIsolated().whenComplete { _ in
            // Later, because the callers of this closure may still hold the buffer, for example in a list of writes.
            loop.execute { self.bytes.withUnsafeMutableReadableBytes { SecretBytes.wipe($0) } }
        }
        context.write(NIOAny(bytes), promise: written)
    }
}
