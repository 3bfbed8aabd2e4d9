// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// A handler that inserts the token into an outgoing request, between the HTTP encoder and TLS.
///
/// The encoder takes header fields as strings, which would leave copies of the token behind.
package final class AuthorizationHandler: ChannelOutboundHandler, RemovableChannelHandler {
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    private static let field: StaticString = "Authorization: Bearer "
    private static let ending: StaticString = "\r\n\r\n"

    private var token: BearerToken?
    /// The request; `nil` until it is sent.
    private(set) var request: SecretRequest?

    package init(_ token: BearerToken) { self.token = token }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let head = Self.unwrapOutboundIn(data).readableBytesView
        guard let token, head.suffix(4).elementsEqual("\r\n\r\n".utf8) else {
            return context.write(data, promise: promise)
        }
        self.token = nil
        let request = token.withUnsafeBytes { text in
            let capacity = head.count + Self.field.utf8CodeUnitCount + text.count + Self.ending.utf8CodeUnitCount
            let request = SecretRequest(capacity: capacity, context.channel.allocator)
            request.append(head.dropLast(2))
            request.append(Self.field)
            request.append(text)
            request.append(Self.ending)
            return request
        }
        self.request = request
        request.write(context, promise: promise)
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
}
