// SPDX-License-Identifier: Apache-2.0

/// The identifier of an SSH session: the hash of its first key exchange (RFC 4253 §7.2), 20 to 64 bytes.
public struct SessionID: Hashable, Sendable {
    /// The bytes.
    public let bytes: [UInt8]

    /// Creates a session identifier.
    ///
    /// - Throws: ``SSHFormatError/sessionID`` unless there are 20 (SHA-1) to 64 bytes (SHA-512).
    public init(bytes: some Collection<UInt8>) throws(SSHFormatError) {
        guard (20...64).contains(bytes.count) else { throw .sessionID }
        self.bytes = Array(bytes)
    }
}
