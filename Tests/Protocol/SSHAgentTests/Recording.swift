// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import TestSupport
import Testing

@testable import HybridSSHAgent

/// Conversations of OpenSSH's programs with an agent, recorded by Tests/Acceptance/ssh/record.py.
struct Recording {
    let json: JSONValue
    let key: SSHPublicKey

    init() throws {
        json = try VectorFile.load("ssh/openssh-9.2.json")
        key = try SSHPublicKey(parsing: try json.value("key").hex("blob"))
    }

    /// The agent's state with the recorded key.
    func state(allowsForwardedMessages: Bool = false, destinations: [PermittedDestination]? = nil) throws -> AgentState
    {
        let comment = try #require(SSHKeyComment("phone"))
        return AgentState(keys: [
            AgentKey(
                key,
                comment: comment,
                allowsForwardedMessages: allowsForwardedMessages,
                destinations: destinations
            )
        ])
    }

    /// The recorded logins, one for each kind of host key.
    var logins: [Login] { get throws { try json.list("logins").map(Login.init) } }

    /// A login through an agent that is forwarded to a first server.
    var forwardedLogin: Login {
        get throws {
            let value = try json.value("forwardedLogin")
            return try Login(value, requests: value.list("connections").first { try $0.elements.count == 4 })
        }
    }

    /// The requests of ssh-keygen through a forwarded agent.
    var forwardedMessage: [[UInt8]] {
        get throws {
            try Login(json.value("unbound"), requests: json.value("forwardedMessage").list("connections").last).requests
        }
    }
}

/// The requests of one connection.
struct Login: CustomStringConvertible {
    let json: JSONValue
    let requests: [[UInt8]]

    init(_ json: JSONValue) throws { try self.init(json, requests: json["requests"]) }

    init(_ json: JSONValue, requests: JSONValue?) throws {
        self.json = json
        self.requests = try #require(requests).elements.map { try #require(Self.bytes($0)) }
    }

    /// The binding messages.
    var bindings: [[UInt8]] { requests.filter { $0.first == 27 } }
    /// The sign request.
    var sign: [UInt8] { requests.last ?? [] }
    var description: String { (try? json.text("algorithm")) ?? "login" }

    static func bytes(_ value: JSONValue) -> [UInt8]? {
        guard case .text(let digits) = value else { return nil }
        return Hexadecimal.bytes(digits)
    }
}

/// An assertion of the recorded key, and the signature that OpenSSH accepted.
struct Assertion {
    let data, authenticatorData, der, signature: [UInt8]

    init(_ json: JSONValue) throws {
        data = try json.hex("data")
        authenticatorData = try json.hex("authenticatorData")
        der = try json.hex("der")
        signature = try json.hex("signature")
    }
}
