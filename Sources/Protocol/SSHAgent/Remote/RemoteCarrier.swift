// SPDX-License-Identifier: Apache-2.0

/// The messages of the agent protocol between a host with a browser and the agent that is forwarded to it.
///
///     request   uint32 length ‖ byte 27 ‖ string name of the extension ‖ string RemoteMessage
///     answer    uint32 length ‖ byte 29 ‖ string name of the extension ‖ string RemoteAnswer
///               uint32 1 ‖ byte 28: the agent can't serve it now       uint32 1 ‖ byte 5: the agent does not know it
public enum RemoteCarrier {
    /// Length of the field before a message in bytes.
    public static let headerLength = 4

    /// The request for the list of extensions.
    public static var query: [UInt8] {
        var writer = SSHWriter()
        writer.string(AgentRequest.query)
        return framed([27] + writer.bytes)
    }

    /// Returns the request with a message.
    public static func request(_ message: [UInt8]) -> [UInt8] {
        var writer = SSHWriter()
        writer.string(RemoteMessage.extensionName)
        writer.string(message)
        return framed([27] + writer.bytes)
    }

    /// Returns the length of a message from the field before it; `nil` if it is out of range.
    public static func length(header: [UInt8]) -> Int? {
        guard header.count == headerLength else { return nil }
        let length = header.reduce(0) { $0 << 8 | Int($1) }
        return (1...AgentMessageReader.maximumLength).contains(length) ? length : nil
    }

    /// An answer of an agent.
    public enum Answer: Sendable {
        /// The answer to a message.
        case answer(RemoteAnswer)
        /// The agent knows the extension, but can't serve it now.
        case unavailable
        /// The agent does not know the extension.
        case unknown
    }

    /// Returns the answer to ``request(_:)``; `nil` if it is malformed.
    public static func answer(in message: [UInt8]) -> Answer? {
        switch message.first {
        case 5 where message.count == 1: return .unknown
        case 28 where message.count == 1: return .unavailable
        case 29:
            var reader = SSHReader(message[1...])
            guard let name = try? reader.string(), name.elementsEqual(RemoteMessage.extensionName.utf8),
                let contents = try? reader.string(), (try? reader.finish()) != nil
            else { return nil }
            return RemoteAnswer(parsing: Array(contents)).map(Answer.answer)
        default: return nil
        }
    }

    /// Returns true if the answer to ``query`` lists the extension.
    public static func isListed(in message: [UInt8]) -> Bool {
        guard message.first == 29 else { return false }
        var reader = SSHReader(message[1...])
        guard let name = try? reader.string(), name.elementsEqual(AgentRequest.query.utf8) else { return false }
        while let name = try? reader.string() {
            if name.elementsEqual(RemoteMessage.extensionName.utf8) { return true }
        }
        return false
    }

    private static func framed(_ contents: [UInt8]) -> [UInt8] {
        var writer = SSHWriter()
        writer.string(contents)
        return writer.bytes
    }
}
