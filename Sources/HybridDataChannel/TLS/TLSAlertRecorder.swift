// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads
internal import NIOCore

/// A handler that records the alert with which TLS reports a bad certificate to the server (RFC 5246 §7.2).
///
/// The library reports only that a certificate was rejected. The alert distinguishes an unknown authority from an
/// expired certificate, after a check of the whole chain. Up to TLS 1.2, the alert is not encrypted.
final class TLSAlertRecorder: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The alert that was sent, if any.
    typealias Record = Locked<UInt8?>

    /// The chain leads to a trusted authority, but the current time is outside its validity period.
    static let certificateExpired: UInt8 = 45

    private let record: Record

    init(_ record: Record) { self.record = record }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if let alert = Self.fatalAlert(in: Self.unwrapOutboundIn(data)) { record.withLock { $0 = $0 ?? alert } }
        context.write(data, promise: promise)
    }

    /// Returns the description byte of a TLS record that consists of one fatal alert; `nil` for other bytes.
    static func fatalAlert(in buffer: ByteBuffer) -> UInt8? {
        let bytes = Array(buffer.readableBytesView)
        // Content type, version, length 2, level "fatal", description.
        guard bytes.count == 7, bytes[0] == 21, bytes[1] == 3, bytes[3...5] == [0, 2, 2] else { return nil }
        return bytes[6]
    }
}
