// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads
internal import NIOCore

/// Reads the alert with which TLS tells a server what is wrong with its certificate (RFC 5246 §7.2).
///
/// The library says only that a certificate was refused. Whether its authority is unknown or its time is over stands in
/// the alert that it sends, by its own judgement of the whole chain. Up to TLS 1.2 that alert is not encrypted.
final class TLSAlertRecorder: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Where the alert is left for who looks later.
    typealias Note = Locked<UInt8?>

    /// The chain leads to a trusted authority, but it is too early or too late for it.
    static let certificateExpired: UInt8 = 45

    private let note: Note

    init(_ note: Note) { self.note = note }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if let alert = Self.fatalAlert(in: Self.unwrapOutboundIn(data)) { note.withLock { $0 = $0 ?? alert } }
        context.write(data, promise: promise)
    }

    /// The description in a record that is a fatal alert and nothing else.
    static func fatalAlert(in buffer: ByteBuffer) -> UInt8? {
        let record = Array(buffer.readableBytesView)
        // Kind, version, length 2, level "fatal", description.
        guard record.count == 7, record[0] == 21, record[1] == 3, record[3...5] == [0, 2, 2] else { return nil }
        return record[6]
    }
}

@available(*, unavailable)
extension TLSAlertRecorder: Sendable {}
