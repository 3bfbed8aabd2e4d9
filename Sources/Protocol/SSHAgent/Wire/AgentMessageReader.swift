// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// A reader that splits the bytes of a connection into agent messages.
///
/// It holds at most one message of maximum length; the connection's owner reads no more than ``capacity`` from the
/// socket.
struct AgentMessageReader {
    /// Maximum length of a message in bytes, without the length field, as in OpenSSH.
    static let maximumLength = 256 * 1024
    private static let headerLength = 4

    /// Received bytes; those before `start` are consumed and wiped.
    private var buffer: [UInt8] = []
    private var start = 0

    /// The number of bytes that can be appended now.
    var capacity: Int { Self.headerLength + Self.maximumLength - (buffer.count - start) }

    /// Appends received bytes in pieces of any length.
    mutating func append(_ bytes: some Collection<UInt8>) throws(AgentProtocolError) {
        guard bytes.count <= capacity else { throw .tooMuchData }
        buffer += bytes
        _ = try nextLength()
    }

    /// Takes the next message, without its length field; returns `nil` if it is incomplete.
    mutating func next() throws(AgentProtocolError) -> [UInt8]? {
        guard let length = try nextLength(), buffer.count - start >= Self.headerLength + length else { return nil }
        let contents = start + Self.headerLength
        let end = contents + length
        let message = Array(buffer[contents..<end])
        // A message may contain a passphrase.
        buffer.withUnsafeMutableBytes { SecretBytes.wipe(.init(rebasing: $0[start..<end])) }
        start = end
        if start == buffer.count {
            (buffer, start) = ([], 0)
        } else if start > Self.maximumLength / 2 {
            buffer.removeFirst(start)
            start = 0
        }
        return message
    }

    /// Returns the length of the next message, or `nil` if its length field is incomplete.
    private func nextLength() throws(AgentProtocolError) -> Int? {
        guard buffer.count - start >= Self.headerLength else { return nil }
        let length = buffer[start..<(start + Self.headerLength)].reduce(0) { $0 << 8 | Int($1) }
        guard length > 0 else { throw .emptyMessage }
        guard length <= Self.maximumLength else { throw .messageTooLong }
        return length
    }
}

/// A violation of the agent protocol after which the connection must be closed without an answer.
public struct AgentProtocolError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A message without a type.
    public static let emptyMessage = AgentProtocolError("emptyMessage")
    /// A message longer than 256 KiB.
    public static let messageTooLong = AgentProtocolError("messageTooLong")
    /// More bytes than ``AgentConnection/capacity``.
    public static let tooMuchData = AgentProtocolError("tooMuchData")

    /// The error's name.
    public let description: String

    private init(_ description: String) { self.description = description }
}
