// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// A request to the agent (draft-ietf-sshm-ssh-agent).
enum AgentRequest {
    /// Lists the keys.
    case identities
    /// Signs data with a key; flags select hashes of RSA signatures and are 0 for other keys.
    case sign(key: [UInt8], data: [UInt8], flags: UInt32)
    /// Binds the connection to an SSH session (`session-bind@openssh.com`).
    case bindSession(SessionBindRequest)
    /// A binding that does not parse, or whose host key is not supported.
    case malformedBinding(SessionBindingError)
    /// Lists the extensions (`query`).
    case queryExtensions
    /// A request of a website on another host (``RemoteMessage``).
    case remote([UInt8])
    /// Locks the agent with a passphrase.
    case lock(SecretBytes)
    /// Unlocks the agent with the passphrase.
    case unlock(SecretBytes)
    /// Any other request: adding and removing keys, unknown types and extensions, malformed requests.
    case unsupported

    static let sessionBind = "session-bind@openssh.com"
    static let query = "query"

    /// Creates a request from a message without its length field.
    init(parsing message: [UInt8]) {
        do throws(SSHFormatError) {
            self = try Self.parse(message)
        } catch {
            self = .unsupported
        }
    }

    private static func parse(_ message: [UInt8]) throws(SSHFormatError) -> AgentRequest {
        var reader = SSHReader(message)
        let request: AgentRequest
        switch try reader.byte() {
        case 11: request = .identities
        case 13:
            let key = Array(try reader.string())
            let data = Array(try reader.string())
            request = .sign(key: key, data: data, flags: try reader.uint32())
        case 22: request = .lock(secret(try reader.string()))
        case 23: request = .unlock(secret(try reader.string()))
        case 27:
            let name = String(decoding: try reader.string(), as: UTF8.self)
            if name == sessionBind { return binding(reader.remaining()) }
            switch name {
            case query: request = .queryExtensions
            case RemoteMessage.extensionName: request = .remote(Array(try reader.string()))
            default: return .unsupported
            }
        default: return .unsupported
        }
        try reader.finish()
        return request
    }

    private static func secret(_ bytes: ArraySlice<UInt8>) -> SecretBytes {
        bytes.withUnsafeBytes { SecretBytes(copying: $0) }
    }

    private static func binding(_ contents: ArraySlice<UInt8>) -> AgentRequest {
        do throws(SSHFormatError) {
            return .bindSession(try SessionBindRequest(parsing: contents))
        } catch {
            return .malformedBinding([.publicKey, .keyType].contains(error) ? .hostKey : .malformed)
        }
    }
}

/// An answer of the agent, with its length field.
public struct AgentReply: Hashable, Sendable {
    /// The bytes to send.
    public let bytes: [UInt8]
    /// The time to wait before the answer is sent; no further request of the connection is processed until then.
    public let delay: Duration
    /// The reason for a refused signature or binding; `nil` otherwise.
    public let refusal: AgentRefusal?

    init(_ type: UInt8, _ contents: [UInt8] = [], delay: Duration = .zero, refusal: AgentRefusal? = nil) {
        var writer = SSHWriter()
        writer.string([type] + contents)
        bytes = writer.bytes
        self.delay = delay
        self.refusal = refusal
    }

    static let success = AgentReply(6)
    static let failure = failure()

    static func failure(_ refusal: AgentRefusal? = nil, delay: Duration = .zero) -> AgentReply {
        AgentReply(5, delay: delay, refusal: refusal)
    }

    static func extensionFailure(_ refusal: AgentRefusal) -> AgentReply { AgentReply(28, refusal: refusal) }

    static func identities(_ keys: [AgentKey]) -> AgentReply {
        var writer = SSHWriter()
        writer.uint32(UInt32(keys.count))
        for key in keys {
            writer.string(key.publicKey.encoded)
            writer.string(key.comment.description)
        }
        return AgentReply(12, writer.bytes)
    }

    static func signature(_ signature: SSHSignature) -> AgentReply {
        var writer = SSHWriter()
        writer.string(signature.encoded)
        return AgentReply(14, writer.bytes)
    }

    static let extensions = {
        var writer = SSHWriter()
        writer.string(AgentRequest.query)
        for name in [AgentRequest.query, AgentRequest.sessionBind, RemoteMessage.extensionName] { writer.string(name) }
        return AgentReply(29, writer.bytes)
    }()
}

/// A reason why the agent refuses a request.
public struct AgentRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The agent is locked.
    public static let locked = AgentRefusal("locked", "the agent is locked")
    /// The agent does not have the key.
    public static let unknownKey = AgentRefusal("unknownKey", "the agent does not have the key")
    /// The request has flags, which do not apply to the key.
    public static let signatureFlags = AgentRefusal("signatureFlags", "the request is for a key of a different type")
    /// An earlier attempt to bind the connection failed.
    public static let bindingFailed = AgentRefusal(
        "bindingFailed",
        "the client did not prove an earlier session on this connection"
    )
    /// The login is not in the session to which the connection was bound last.
    public static let otherSession = AgentRefusal("otherSession", "the client proved a session other than the login's")
    /// The login names another host key than the binding.
    public static let otherHostKey = AgentRefusal("otherHostKey", "the client proved a server other than the login's")
    /// The session was bound for forwarding, not for authentication.
    public static let forwardingSession = AgentRefusal(
        "forwardingSession",
        "the agent is forwarded through this session, so this is not a login"
    )
    /// A login on a restricted connection is not bound to a session.
    public static let notBound = AgentRefusal(
        "notBound",
        "a login through the restricted socket needs a proof of its session, from OpenSSH 8.9 or newer"
    )
    /// A login through a forwarded agent does not name the host key.
    public static let notHostBound = AgentRefusal(
        "notHostBound",
        "a login through a forwarded agent must name the server's key, which needs OpenSSH 8.9 or newer on both sides"
    )
    /// The request is to sign a message, but the connection is restricted or bound to a session.
    public static let forwardedMessage = AgentRefusal(
        "forwardedMessage",
        "the key does not sign messages through a forwarded agent"
    )
    /// The key's destinations exclude the login or message.
    public static let destination = AgentRefusal(
        "destination",
        "the key is limited to certain destinations, and this is not a proved login at one of them"
    )
    /// Too many prompts in a short time did not lead to a signature.
    public static let tooManyPrompts = AgentRefusal(
        "tooManyPrompts",
        "too many prompts within a minute did not lead to a signature"
    )
    /// The session of the agent's user is locked.
    public static let sessionLocked = AgentRefusal(
        "sessionLocked",
        "the session is locked, so neither a window nor a phone was used; unlock the screen and try again"
    )
    /// The signature was not made, for example because the user canceled on this computer.
    public static let notSigned = AgentRefusal("notSigned", "no signature was made")

    /// The error's name, with the cause in parentheses.
    public let description: String
    /// The reason in words, for users.
    public let explanation: String

    init(_ description: String, _ explanation: String) {
        self.description = description
        self.explanation = explanation
    }

    /// The user was asked, or should have been, and the phone made no signature.
    ///
    /// - Parameters:
    ///   - code: The name of the cause.
    ///   - explanation: The cause and the remedy in words.
    public static func ceremony(code: String, _ explanation: String) -> AgentRefusal {
        AgentRefusal(code, explanation)
    }

    /// The data is not signable.
    public static func data(_ error: SignedDataError) -> AgentRefusal {
        AgentRefusal("data(\(error))", error.explanation)
    }

    /// The connection was not bound.
    public static func binding(_ error: SessionBindingError) -> AgentRefusal {
        AgentRefusal("binding(\(error))", error.explanation)
    }
}
