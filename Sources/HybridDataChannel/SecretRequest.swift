// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import NIOCore

/// A request with a secret in it on its way out: wiped when it is written, or can't be.
///
/// By then whoever sent it has let go of it; as long as somebody had not, a copy would be wiped in its place.
final class SecretRequest {
    /// The request; zeros when it was written.
    private(set) var bytes: ByteBuffer

    /// An empty request with room for so many bytes, which then are not moved: what is moved is left behind.
    init(capacity: Int, _ allocator: ByteBufferAllocator) { bytes = allocator.buffer(capacity: capacity) }

    func append(_ more: some Sequence<UInt8>) { bytes.writeBytes(more) }
    func append(_ more: StaticString) { bytes.writeStaticString(more) }

    /// Sends it towards the network.
    func write(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>? = nil) {
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in
            self.bytes.withUnsafeMutableReadableBytes { SecretBytes.wipe($0) }
        }
        context.write(NIOAny(bytes), promise: written)
    }
}

@available(*, unavailable)
extension SecretRequest: Sendable {}
