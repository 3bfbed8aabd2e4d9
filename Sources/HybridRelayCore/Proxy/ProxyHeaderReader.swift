// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// A reader of the PROXY header, version 1 or 2, that a load balancer sends first on a connection.
///
/// The header may arrive in pieces of any size. The first bytes distinguish the versions. The configuration, not the
/// input, decides whether a header is required. A violation is reported as soon as it is detected, and does not depend
/// on the pieces.
///
/// Source: The PROXY protocol, versions 1 & 2 (HAProxy's doc/proxy-protocol.txt), §2.
public struct ProxyHeaderReader: Sendable {
    /// Maximum length of a version 2 header with its extensions, in bytes.
    public static let maximumLength = 4096

    private var collected = ByteBuffer()
    private var violation: ProxyViolation?

    /// Creates a reader for a new connection.
    public init() {}

    /// Appends the next bytes.
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
