// SPDX-License-Identifier: Apache-2.0

/// A reader of the PROXY header, version 1 or 2, that a load balancer sends first on a connection.
///
/// The first bytes distinguish the versions. The configuration, not the input, decides whether a header is required. A
/// violation is reported as soon as it is detected, and does not depend on the pieces in which the header arrives.
///
/// Source: The PROXY protocol, versions 1 & 2 (HAProxy's doc/proxy-protocol.txt), §2.
public enum ProxyHeaderReader {
    /// Maximum length of a version 2 header with its extensions, in bytes.
    public static let maximumLength = 4096

    /// Reads the header at the start of a connection.
    ///
    /// - Parameter bytes: All bytes received so far.
    /// - Returns: The header and its length, or `nil` while the header is incomplete.
    public static func read(_ bytes: RawSpan) throws(ProxyViolation) -> (header: ProxyHeader, length: Int)? {
        let start = Array(copying: bytes.extracting(0..<min(bytes.byteCount, maximumLength)))
        if start.first == ProxyHeaderV2.signature.first { return try ProxyHeaderV2.read(start) }
        return try ProxyHeaderV1.read(start[...])
    }
}
