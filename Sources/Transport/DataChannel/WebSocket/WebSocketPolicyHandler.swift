// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOWebSocket

/// A handler that rejects invalid frames that NIO's decoder accepts.
///
/// These are masked frames from a server, frames with reserved bits or unknown opcodes, and malformed control frames
/// (RFC 6455 §5.1, §5.2, §5.5). Text frames are rejected, too, because a tunnel carries only binary messages.
final class WebSocketPolicyHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        if let complaint = Self.complaint(about: frame) {
            context.fireErrorCaught(TunnelError.relayMisbehaved(complaint))
            context.close(promise: nil)
            return
        }
        context.fireChannelRead(data)
    }

    static func complaint(about frame: WebSocketFrame) -> String? {
        if frame.maskKey != nil { return "it masked a frame" }
        if frame.rsv1 || frame.rsv2 || frame.rsv3 { return "it set a reserved bit" }
        switch frame.opcode {
        case .binary, .continuation: return nil
        case .text: return "it sent text"
        case .ping, .pong, .connectionClose:
            if !frame.fin { return "it fragmented a control frame" }
            return frame.length > 125 ? "it sent an oversized control frame" : nil
        default: return "it used an unknown opcode"
        }
    }
}
