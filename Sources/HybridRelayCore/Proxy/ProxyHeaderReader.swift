// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// Reads the PROXY header, version 1 or 2, that a balancer puts in front of a connection, in whatever pieces it comes.
///
/// Both versions are read, since the first bytes tell them apart; whether there must be a header at all is not guessed
/// but configured. What is wrong is said as soon as it shows, and what is said does not depend on the pieces.
/// Source: The PROXY protocol, versions 1 & 2 (HAProxy's doc/proxy-protocol.txt), §2.
public struct ProxyHeaderReader: Sendable {
    /// Longest header of version 2 that is read, with its extensions, in bytes.
    public static let maximumLength = 4096

    private var collected = ByteBuffer()
    private var violation: ProxyViolation?

    /// A reader at the beginning of a connection.
    public init() {}

    /// Takes the next bytes; answers with the header and what came behind it, or `nil` if the header goes on.
    ///
    /// - Throws: what is wrong, again at each later call.
    public mutating func receive(
        _ bytes: ByteBuffer
    ) throws(ProxyViolation) -> (header: ProxyHeader, rest: ByteBuffer)? {
        if let violation { throw violation }
        collected.writeImmutableBuffer(bytes)
        do throws(ProxyViolation) {
            guard let (header, length) = try read() else { return nil }
            collected.moveReaderIndex(forwardBy: length)
            defer { collected = ByteBuffer() }
            return (header, collected)
        } catch {
            violation = error
            collected = ByteBuffer()
            throw error
        }
    }

    private func read() throws(ProxyViolation) -> (ProxyHeader, length: Int)? {
        let start = Array(collected.readableBytesView.prefix(Self.maximumLength))
        if start.first == ProxySignature.first { return try ProxyHeaderV2.read(start) }
        return try ProxyHeaderV1.read(start[...])
    }
}

/// The 12 bytes at the beginning of version 2, which no other protocol begins with.
enum ProxySignature {
    static let bytes = Array("\r\n\r\n\0\r\nQUIT\n".utf8)
    static let first = UInt8(ascii: "\r")
}
