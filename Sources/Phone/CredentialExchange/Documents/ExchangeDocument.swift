// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridCTAP

/// A writer for documents in the Credential Exchange Format.
package enum ExchangeDocument {
    /// Writes a document with one account.
    ///
    /// - Parameters:
    ///   - passkeys: The passkeys, each with the ID of its item.
    ///   - account: The ID of the account.
    ///   - time: The time of the export in seconds since 1970.
    ///   - writer: The writer, whose buffer then contains private keys.
    package static func write(
        _ passkeys: [(item: [UInt8], passkey: ExchangedPasskey)],
        account: [UInt8],
        time: UInt64,
        to writer: inout JSONWriter
    ) {
        writer.object { document in
            document.object("version") {
                $0.member("major", number: UInt64(ExchangeFormat.major))
                $0.member("minor", number: 0)
            }
            document.member("exporterRpId", text: ExchangeFormat.exporter)
            document.member("exporterDisplayName", text: "hybrid-auth")
            document.member("timestamp", number: time)
            document.array("accounts") {
                $0.object { object in
                    object.member("id", bytes: account)
                    // The exporter does not know the user's name.
                    object.member("username", text: "")
                    object.member("email", text: "")
                    object.array("collections") { _ in }
                    object.array("items") { list in
                        for (id, passkey) in passkeys { list.object { passkey.write(to: &$0, id: id) } }
                    }
                }
            }
        }
        writer.append(plain: "\n")
    }
}

extension ExchangedPasskey {
    /// Writes the members of an item.
    fileprivate func write(to item: inout JSONWriter, id: [UInt8]) {
        item.member("id", bytes: id)
        if let created { item.member("creationAt", number: created) }
        item.member("title", text: passkey.relyingParty.text)
        item.object("scope") { scope in
            scope.array("urls") {
                if passkey.relyingParty.kind == .domain { $0.string("https://\(passkey.relyingParty)") }
            }
            scope.array("androidApps") { _ in }
        }
        item.array("credentials") { $0.object(writeCredential) }
        item.array("extensions") { $0.object(writeExtension) }
    }

    private func writeCredential(to credential: inout JSONWriter) {
        credential.member("type", text: ExchangeFormat.passkeyType)
        credential.member("credentialId", bytes: passkey.id.bytes)
        credential.member("rpId", text: passkey.relyingParty.text)
        credential.member("username", text: passkey.user.name)
        credential.member("userDisplayName", text: passkey.user.displayName)
        credential.member("userHandle", bytes: passkey.user.id.bytes)
        credential.member("key", bytes: passkey.privateKey.derRepresentation)
        guard passkey.prfSecret != nil || !foreign.isEmpty else { return }
        credential.object("fido2Extensions", writeFIDO2Extensions)
    }

    private func writeFIDO2Extensions(to extensions: inout JSONWriter) {
        if let secret = passkey.prfSecret {
            extensions.object("hmacCredentials") { writeSecrets(secret.withUnsafeBytes { Array($0) }, to: &$0) }
        }
        if let blob = foreign.blob { extensions.member("credBlob", bytes: blob) }
        if let large = foreign.largeBlob {
            extensions.object("largeBlob") {
                $0.member("uncompressedSize", number: large.size)
                $0.member("data", bytes: large.data)
            }
        }
        if let payments = foreign.payments { extensions.member("payments", boolean: payments) }
    }

    private func writeSecrets(_ secret: [UInt8], to object: inout JSONWriter) {
        object.member("algorithm", text: ExchangeFormat.hmacAlgorithm)
        object.member("credWithUV", bytes: secret)
        object.member("credWithoutUV", bytes: otherSecret ?? Self.otherSecret(of: secret, credential: passkey.id))
    }

    /// Writes the members that the format lacks; programs that do not know the extension ignore it.
    private func writeExtension(to object: inout JSONWriter) {
        object.member("name", text: ExchangeFormat.extensionName)
        object.member("backupEligible", boolean: passkey.isBackupEligible)
        object.member("discoverable", boolean: passkey.isDiscoverable)
        if let rest { object.member("rest", bytes: rest) }
    }
}
