// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NIOSSL

/// A TLS client without a socket, so that a test can cut, hold back or omit any record.
///
/// Must be used on one thread only.
final class TLSClientEngine {
    private let channel = EmbeddedChannel()
    /// True once the server's close_notify has arrived.
    private(set) var hasReceivedCloseNotify = false

    /// Creates a client and its first flight.
    init(_ context: NIOSSLContext) throws {
        let handler = try NIOSSLClientHandler(context: context, serverHostname: "localhost")
        try channel.pipeline.syncOperations.addHandler(handler)
        channel.connect(to: try SocketAddress(unixDomainSocketPath: "/"), promise: nil)
    }

    /// Returns the records to be sent.
    func takeOutput() throws -> [UInt8] {
        var records: [UInt8] = []
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { records += buffer.readableBytesView }
        return records
    }

    /// Encrypts bytes; before the end of the handshake, they follow it.
    func encrypt(_ bytes: [UInt8]) throws -> [UInt8] {
        channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
        return try takeOutput()
    }

    /// Decrypts received records, and returns the bytes in them.
    func decrypt(_ records: [UInt8]) throws -> [UInt8] {
        try channel.writeInbound(ByteBuffer(bytes: records))
        // The handler closes the channel for a close_notify and for nothing else; it throws all errors.
        if !channel.isActive { hasReceivedCloseNotify = true }
        var bytes: [UInt8] = []
        while let buffer = try channel.readInbound(as: ByteBuffer.self) { bytes += buffer.readableBytesView }
        return bytes
    }

    /// Returns a close_notify record.
    func closeNotify() throws -> [UInt8] {
        channel.close(promise: nil)
        return try takeOutput()
    }
}
