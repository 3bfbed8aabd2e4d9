// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// The purpose of a signature, for the prompt.
///
/// All values come from signed data and verified bindings.
public enum SigningPurpose: Hashable, Sendable {
    /// A login as `user`.
    ///
    /// `host` is `nil` if the connection is not bound: then the server is unknown, and the request may come from a host
    /// to which the agent is forwarded. `via` lists the servers through which the agent is forwarded, nearest first.
    case login(user: SSHUserName, host: HostKey?, via: [HostKey])
    /// A message, such as a git commit. `via` lists the servers through which the request came.
    case message(namespace: SignatureNamespace, via: [HostKey])

    /// The servers through which the request came, nearest first.
    public var via: [HostKey] {
        switch self {
        case .login(_, _, let via), .message(_, let via): via
        }
    }
}

/// A signature that the user is asked for.
public struct SignRequest: Hashable, Sendable {
    /// The identifier of a request, unique on its connection.
    public struct ID: Hashable, Sendable {
        let number: UInt64
    }

    /// The identifier.
    public let id: ID
    /// The key that is to sign.
    public let key: AgentKey
    /// The data to sign.
    public let data: SignedData
    /// The purpose of the signature.
    public let purpose: SigningPurpose
    /// True if the request came through another host, or through the restricted socket.
    public let isForwarded: Bool

    /// The name of the key, as a prompt may show it.
    public var shownKeyName: SafeText { SafeText(quoting: key.comment.description) }

    /// The certificate with which the user logs in; `nil` without one, and for a message.
    public var certificate: SSHUserCertificate? {
        if case .login(let login) = data.content { login.certificate } else { nil }
    }

    /// The user of a login or the namespace of a message, as a prompt may show it.
    public var shownSubject: SafeText {
        switch purpose {
        case .login(let user, _, _): SafeText(quoting: user.description)
        case .message(let namespace, _): SafeText(quoting: namespace.description)
        }
    }
}
