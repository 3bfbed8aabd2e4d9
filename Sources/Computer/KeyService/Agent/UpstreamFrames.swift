// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridSSHAgent

/// The requests of a client whose agent passes some of them on.
///
/// Bytes in, whole messages with their length fields out.
struct UpstreamFrames {
    /// The destination of a request.
    enum Destination: Equatable {
        /// This agent.
        case own
        /// Both agents; the answer lists the keys of both.
        case both
        /// This agent, then the other one, which learns the binding.
        case binding
        /// The other agent.
        case upstream
    }

    /// Maximum length of a message in bytes, as in OpenSSH.
    static let maximumLength = 256 * 1024
    private static let headerLength = 4
    private var buffer: [UInt8] = []

    /// The number of bytes that can be appended now.
    var capacity: Int { Self.headerLength + Self.maximumLength - buffer.count }

    /// Appends received bytes, at most ``capacity``.
    mutating func append(_ bytes: some Collection<UInt8>) { buffer += bytes }

    /// Takes the next message with its length field; returns `nil` if it is incomplete.
    ///
    /// A message of impossible length is returned as its header alone, which the agent's connection refuses.
    mutating func next() -> [UInt8]? {
        guard buffer.count >= Self.headerLength else { return nil }
        let length = buffer.prefix(Self.headerLength).reduce(0) { $0 << 8 | Int($1) }
        let isPossible = (1...Self.maximumLength).contains(length)
        let end = Self.headerLength + (isPossible ? length : 0)
        guard buffer.count >= end else { return nil }
        let message = Array(buffer.prefix(end))
        let rest = Array(buffer.dropFirst(end))
        // A message may contain a passphrase.
        SecretBytes.wipe(&buffer)
        buffer = rest
        return message
    }

    /// Returns the destination of a message.
    ///
    /// - Parameters:
    ///   - message: The message with its length field.
    ///   - isOwn: Returns true for the encoding of a key of this agent.
    static func destination(of message: [UInt8], isOwn: ([UInt8]) -> Bool) -> Destination {
        guard message.count > headerLength else { return .own }
        switch message[headerLength] {
        case 11: return .both
        case 13: return string(in: message).map { isOwn(Array($0)) } ?? true ? .own : .upstream
        // Adding and removing keys, also of smart cards and with constraints.
        case 17, 18, 19, 20, 21, 25, 26: return .upstream
        case 27:
            let isBinding = string(in: message)?.elementsEqual("session-bind@openssh.com".utf8) ?? false
            return isBinding ? .binding : .own
        default: return .own
        }
    }

    /// Returns true if an agent may ask its user before it answers a message: not for a list of keys, an extension, or the
    /// removal of keys.
    static func mayAskUser(_ message: [UInt8]) -> Bool {
        guard message.count > headerLength else { return false }
        return ![11, 18, 19, 21, 27].contains(message[headerLength])
    }

    /// Returns true if the other agent has answered a binding, and this agent or the other one has verified it.
    ///
    /// OpenSSH's agent verifies host keys and signatures that this agent does not know, such as DSA and SHA-1. Then its keys
    /// are used all the same, and only those of this agent are not.
    static func isBound(_ own: [UInt8], _ other: [UInt8]?) -> Bool {
        guard let other else { return false }
        return [own, other].contains { $0.dropFirst(headerLength).first == 6 }
    }

    /// Returns a list of keys with those of both answers, ours first; ours alone if the other one is not a list.
    ///
    /// - Parameters:
    ///   - own: The answer of this agent, with its length field.
    ///   - other: The answer of the other agent, with its length field.
    static func merged(_ own: [UInt8], _ other: [UInt8]?) -> [UInt8] {
        let entries = headerLength + 5
        guard let other, own.count >= entries, other.count >= entries, own[headerLength] == 12,
            other[headerLength] == 12, own.count + other.count - entries <= Self.maximumLength, isList(other)
        else { return own }
        let counts = [own, other].map { count(in: $0) }
        func number(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
        let body = [12] + number(counts[0] + counts[1]) + own[entries...] + other[entries...]
        return number(body.count) + body
    }

    private static func count(in list: [UInt8]) -> Int {
        list[(headerLength + 1)..<(headerLength + 5)].reduce(0) { $0 << 8 | Int($1) }
    }

    /// Returns true if a list has as many keys as it states, each with its comment, because clients would refuse the whole
    /// answer otherwise.
    private static func isList(_ message: [UInt8]) -> Bool {
        var reader = SSHReader(message[(headerLength + 5)...])
        do throws(SSHFormatError) {
            // Each takes eight bytes or more.
            guard count(in: message) <= message.count / 8 else { return false }
            for _ in 0..<2 * count(in: message) { _ = try reader.string() }
            try reader.finish()
            return true
        } catch {
            return false
        }
    }

    /// Returns the string behind the type of a message; `nil` if it is incomplete.
    private static func string(in message: [UInt8]) -> ArraySlice<UInt8>? {
        let contents = message.dropFirst(headerLength + 1)
        guard contents.count >= 4 else { return nil }
        let length = contents.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard contents.count - 4 >= length else { return nil }
        return contents.dropFirst(4).prefix(length)
    }
}
