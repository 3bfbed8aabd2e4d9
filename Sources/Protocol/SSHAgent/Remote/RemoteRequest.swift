// SPDX-License-Identifier: Apache-2.0

/// The hosts from which a request came.
public enum RemoteOrigin: Hashable, Sendable {
    /// Hosts that have proved their keys, nearest first; the last one asks. There is at least one.
    case hosts([HostKey])
    /// A socket of its own, for example for a container, by the name that the user gave it.
    case socket(String)
}

/// A message about a website on another host, on one connection.
public struct RemoteRequest: Hashable, Sendable {
    /// The identifier, unique on its connection.
    public let id: SignRequest.ID
    /// The hosts from which it came.
    public let origin: RemoteOrigin
    /// The message, which is not parsed yet.
    public let message: [UInt8]
}

extension SessionBindings {
    /// Returns the hosts that may ask for a website on this connection.
    ///
    /// Each hop must be proved, and the agent be forwarded through each: a request of this computer has none, and a session
    /// that authenticates the user belongs to a client that only logs in.
    ///
    /// - Parameter socketName: The name of a socket of its own; `nil` for all others.
    func remoteOrigin(_ socketName: String?) throws(AgentRefusal) -> RemoteOrigin {
        guard !hasFailed else { throw .bindingFailed }
        guard list.allSatisfy(\.isForwarded) else { throw .notForwarded }
        // A host behind such a socket passes for all others behind it.
        if let socketName { return .socket(socketName) }
        guard !list.isEmpty else { throw .unprovedHost }
        return .hosts(list.map(\.hostKey))
    }
}

extension AgentRefusal {
    /// A request of a website on a connection that no host has proved.
    public static let unprovedHost = AgentRefusal(
        "unprovedHost",
        "the host that asks for a website did not prove its key; forward the agent with ssh -A, from OpenSSH 8.9 or newer"
    )
    /// A request of a website in a session that authenticates the user.
    public static let notForwarded = AgentRefusal(
        "notForwarded",
        "the request for a website came from a session through which the agent is not forwarded"
    )
}

extension AgentReply {
    /// Returns the answer to a ``RemoteMessage``.
    static func remote(_ answer: RemoteAnswer, refusal: AgentRefusal? = nil) -> AgentReply {
        let known = answer.encoded
        // A longer one would end the connection of the host.
        let fits = known.count <= RemoteMessage.maximumLength
        var writer = SSHWriter()
        writer.string(RemoteMessage.extensionName)
        writer.string(fits ? known : RemoteAnswer.failure(.init(.failed)).encoded)
        return AgentReply(29, writer.bytes, refusal: refusal)
    }
}
