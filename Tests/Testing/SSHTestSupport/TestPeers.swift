// SPDX-License-Identifier: Apache-2.0

package import Crypto
package import HybridSSHAgent
internal import TestSupport

/// A writer of SSH strings for tests: texts and bytes in any order.
package enum Wire {
    package static func string(_ bytes: [UInt8]) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: bytes.count >> $0) } + bytes
    }

    package static func string(_ text: String) -> [UInt8] { string(Array(text.utf8)) }

    /// Returns the strings in a message.
    package static func strings(_ bytes: ArraySlice<UInt8>, count: Int) throws -> [[UInt8]] {
        var reader = SSHReader(bytes)
        return try (0..<count).map { _ in Array(try reader.string()) }
    }
}

/// A server with an Ed25519 key, which can make bindings of any session.
package struct TestServer {
    package let key = Curve25519.Signing.PrivateKey()

    package init() {}

    package var blob: [UInt8] { Wire.string("ssh-ed25519") + Wire.string(Array(key.publicKey.rawRepresentation)) }
    package var hostKey: HostKey { get throws { try HostKey(parsing: blob) } }

    /// Returns a binding message.
    package func bind(_ session: [UInt8], isForwarded: Bool = false, signing other: [UInt8]? = nil) throws -> [UInt8] {
        let signature = Wire.string("ssh-ed25519") + Wire.string(Array(try key.signature(for: other ?? session)))
        let parts = [Array("session-bind@openssh.com".utf8), blob, session, signature]
        let contents: [UInt8] = parts.flatMap { Wire.string($0) }
        return [27] + contents + [isForwarded ? 1 : 0]
    }

    /// Returns the identifier of a session, 32 bytes.
    package static func session(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }
}

/// A passkey for SSH on a phone.
package struct TestPasskey {
    package let key = P256.Signing.PrivateKey()
    package let application: SSHApplication

    package init(_ application: String = "key.example.org") throws {
        self.application = try present(SSHApplication(application), "an application")
    }

    package var publicKey: SSHPublicKey {
        get throws {
            try SSHPublicKey(
                x963Representation: Array(key.publicKey.x963Representation),
                application: application
            )
        }
    }

    package func agentKey(
        allowsForwardedMessages: Bool = false,
        destinations: [PermittedDestination]? = nil
    ) throws -> AgentKey {
        AgentKey(
            try publicKey,
            comment: try present(SSHKeyComment("phone"), "a comment"),
            allowsForwardedMessages: allowsForwardedMessages,
            destinations: destinations
        )
    }

    /// Returns authenticator data and a DER signature over it and the hash of the data.
    package func assertion(
        _ data: [UInt8],
        flags: UInt8 = 0x05,
        application: SSHApplication? = nil,
        appending tail: [UInt8] = []
    ) throws -> (authenticatorData: [UInt8], der: [UInt8]) {
        let hash = Array(SHA256.hash(data: Array((application ?? self.application).description.utf8)))
        let authenticatorData = hash + [flags, 0, 0, 0, 7] + tail
        let signed = authenticatorData + Array(SHA256.hash(data: data))
        return (authenticatorData, Array(try key.signature(for: signed).derRepresentation))
    }

    /// Returns a sign request for data.
    package func sign(_ data: [UInt8], flags: UInt8 = 0) throws -> [UInt8] {
        [13] + Wire.string(try publicKey.encoded) + Wire.string(data) + [0, 0, 0, flags]
    }

    /// Returns the data of a login; `hostKey` selects the method that names the server.
    package func login(_ session: [UInt8], user: String = "ada", hostKey: [UInt8]? = nil) throws -> [UInt8] {
        let method = hostKey == nil ? "publickey" : "publickey-hostbound-v00@openssh.com"
        return LoginFields(session: session, user: Array(user.utf8), method: method, key: try publicKey.encoded)
            .bytes + (hostKey.map { Wire.string($0) } ?? [])
    }
}

/// The fields of login data that both methods have.
package struct LoginFields {
    package var session: [UInt8]
    package var type: UInt8 = 50
    package var user: [UInt8]
    package var service = "ssh-connection"
    package var method: String
    package var hasSignature: UInt8 = 1
    package var algorithm = "sk-ecdsa-sha2-nistp256@openssh.com"
    package var key: [UInt8]

    package init(session: [UInt8], user: [UInt8], method: String, key: [UInt8]) {
        self.session = session
        self.user = user
        self.method = method
        self.key = key
    }

    package var bytes: [UInt8] {
        Wire.string(session) + [type] + Wire.string(user) + Wire.string(service) + Wire.string(method)
            + [hasSignature] + Wire.string(algorithm) + Wire.string(key)
    }
}

/// The data of a message for `ssh-keygen -Y verify`.
package func messageData(
    namespace: String = "git",
    reserved: String = "",
    algorithm: String = "sha512",
    length: Int = 64
)
    -> [UInt8]
{
    Array("SSHSIG".utf8) + Wire.string(namespace) + Wire.string(reserved) + Wire.string(algorithm)
        + Wire.string([UInt8](repeating: 9, count: length))
}

/// A client of the agent, which sends whole messages.
package struct TestClient {
    package var connection: AgentConnection
    package let now = ContinuousClock.now

    package init(isRestricted: Bool = false) { connection = AgentConnection(isRestricted: isRestricted) }

    /// Sends messages and returns the last action.
    package mutating func send(_ messages: [UInt8]..., to state: inout AgentState) throws -> AgentConnection.Action {
        var last: AgentConnection.Action?
        for message in messages {
            try connection.receive(Wire.string(message))
            last = try connection.next(&state, at: now)
        }
        return try present(last, "an action")
    }
}

extension AgentConnection.Action {
    /// The answer; `nil` for a sign request.
    package var reply: AgentReply? { if case .reply(let reply) = self { reply } else { nil } }
    /// The sign request; `nil` for an answer.
    package var request: SignRequest? { if case .sign(let request) = self { request } else { nil } }
    /// The type of the answer.
    package var type: UInt8? { reply?.bytes[4] }
    /// The cause of a refusal.
    package var refusal: AgentRefusal? { reply?.refusal }
}
