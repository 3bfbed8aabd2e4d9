// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import NIOCore

/// An outgoing request that contains a secret; wiped once it is written or cannot be.
///
/// No other owner may hold the buffer by then; otherwise a copy would be wiped in its place.
final class SecretRequest {
    /// The request; zeros once it is written.
    private(set) var bytes: ByteBuffer

    /// Creates an empty request with room for `capacity` bytes.
    ///
    /// A request that outgrew it would leave a copy behind.
    init(capacity: Int, _ allocator: ByteBufferAllocator) { bytes = allocator.buffer(capacity: capacity) }

    func append(_ more: some Sequence<UInt8>) { bytes.writeBytes(more) }
    func append(_ more: StaticString) { bytes.writeStaticString(more) }

    /// Sends the request towards the network.
    func write(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>? = nil) {
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in
            self.bytes.withUnsafeMutableReadableBytes { SecretBytes.wipe($0) }
        }
        context.write(NIOAny(bytes), promise: written)
    }
}
