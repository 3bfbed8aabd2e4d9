// SPDX-License-Identifier: Apache-2.0

package import Crypto
internal import Foundation
internal import HybridPrimitives
internal import TestSupport

/// Documents of the Credential Exchange Format for tests.
package enum Exchange {
    /// A document as another password manager might write it, made by hand from the published structure.
    package static func otherManager() throws -> [UInt8] { try file("other-manager.json") }

    /// Returns a file of another program.
    package static func file(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")))
    }

    /// Public keys of a file's passkeys, computed with Python, by credential ID.
    package static func publicKeys(of name: String = "other-manager") throws -> [String: String] {
        try JSONDecoder().decode([String: String].self, from: Data(file(name + ".public.json")))
    }

    private static let folder = PackageFolder.path + "/Tests/Phone/CredentialExchange"

    /// Returns a document with one item that has these credentials.
    package static func document(
        credentials: String,
        item: String = "",
        version: String = #"{"major":1,"minor":0}"#
    ) -> [UInt8] {
        let items = #"[{"id":"AA","title":"",\#(item)"credentials":[\#(credentials)]}]"#
        let account = #"{"id":"AA","username":"","email":"","collections":[],"items":\#(items)}"#
        let header = #""exporterRpId":"a.example","exporterDisplayName":"A","timestamp":1"#
        return Array(#"{"version":\#(version),\#(header),"accounts":[\#(account)]}"#.utf8)
    }

    /// Returns a passkey in JSON, with some members replaced or added and one left out.
    package static func passkey(
        _ changes: [String: String] = [:],
        leaving out: String? = nil,
        key: P256.Signing.PrivateKey = P256.Signing.PrivateKey()
    ) -> String {
        var members: [(String, String)] = [
            ("type", #""passkey""#), ("credentialId", #""AQID""#), ("rpId", #""example.com""#),
            ("username", #""ada""#), ("userDisplayName", #""Ada""#), ("userHandle", #""_wA""#),
            ("key", "\"\(Base64URL.encode(key.derRepresentation))\""),
        ]
        for (name, value) in changes {
            members.removeAll { $0.0 == name }
            members.append((name, value))
        }
        return "{" + members.filter { $0.0 != out }.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }
}
