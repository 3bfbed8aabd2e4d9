// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import TestSupport

@testable import HybridSSHAgent

/// The key of the recorded conversations, which the seeds contain.
enum FuzzedKey {
    static let point =
        "0474588741468ef70eef5fb05f3dc276bca2e1c20b830eef49e93e4e37ae4a0ea0"
        + "097c8d7e321b33ea73007ba1cb9e945507d87e9455b765f026e936fa431a53e1"

    static func key() throws -> SSHPublicKey {
        let point = try present(Hex.decode(point, length: 65), "the point is hexadecimal")
        let application = try present(SSHApplication("ssh.example.org"), "the application is valid")
        return try SSHPublicKey(x963Representation: point, application: application)
    }

    static func agentKey(_ options: UInt8) throws -> AgentKey {
        let comment = try present(SSHKeyComment("phone"), "the comment is valid")
        return AgentKey(try key(), comment: comment, allowsForwardedMessages: options & 1 == 1)
    }
}

/// A writer of SSH strings, independent of the code under test.
func sshStrings(_ strings: [some Collection<UInt8>]) -> [UInt8] {
    strings.flatMap { one -> [UInt8] in
        let count = UInt32(one.count).bigEndian
        return withUnsafeBytes(of: count) { Array($0) } + one
    }
}
