// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// Reads the PROXY header, version 1 or 2, that a balancer sends first on a connection, in pieces of any size.
///
/// The first bytes distinguish the versions. The configuration, not the input, decides if a header is required. A
/// violation is reported as soon as it shows, and does not depend on the pieces.
/// Source: The PROXY protocol, versions 1 & 2 (HAProxy's doc/proxy-protocol.txt), §2.
public struct ProxyHeaderReader: Sendable {
    /// Longest accepted header of version 2 with its extensions, in bytes.
    public static let maximumLength = 4096

    private var collected = ByteBuffer()
    private var violation: ProxyViolation?

    /// Creates a reader for a new connection.
    public init() {}

    /// Takes the next bytes.
    ///
    /// - Returns: The header and the bytes after it, or `nil` while the header is incomplete.
    /// - Throws: The first violation, again on each later call.
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
        if start.first == ProxyHeaderV2.signature.first { return try ProxyHeaderV2.read(start) }
        return try ProxyHeaderV1.read(start[...])
    }
}
