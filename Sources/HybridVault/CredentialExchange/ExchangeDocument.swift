// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridCBOR
internal import HybridCTAP

/// Writer for documents of the Credential Exchange Format.
enum ExchangeDocument {
    /// Writes a document with one account and returns the number of passkeys in it.
    static func write(
        _ passkeys: [(id: RecordID, body: PasskeyBody)],
        account: [UInt8],
        time: UInt64,
        to writer: inout JSONWriter
    ) -> Int {
        let items = passkeys.compactMap { id, body in
            body.passkey.map { ExchangedItem(record: id, body: body, passkey: $0) }
        }
        writer.object { document in
            document.member("version") { version in
                version.object {
                    $0.member("major", number: UInt64(ExchangeFormat.major))
                    $0.member("minor", number: 0)
                }
            }
            document.member("exporterRpId", text: ExchangeFormat.exporter)
            document.member("exporterDisplayName", text: "hybrid-auth")
            document.member("timestamp", number: time)
            document.member("accounts") { accounts in
                accounts.array { $0.element { write(items, account, to: &$0) } }
            }
        }
        writer.append(plain: "\n")
        return items.count
    }

    private static func write(_ items: [ExchangedItem], _ account: [UInt8], to writer: inout JSONWriter) {
        writer.object { object in
            object.member("id", bytes: account)
            // The vault does not know the user's name.
            object.member("username", text: "")
            object.member("email", text: "")
            object.member("collections") { $0.array { _ in } }
            object.member("items") { member in
                member.array { list in
                    for item in items { list.element { item.write(to: &$0) } }
                }
            }
        }
    }
}

/// One passkey as an item of a document.
private struct ExchangedItem {
    private let record: RecordID
    private let body: PasskeyBody
    private let passkey: Passkey
    private let foreign: ForeignExtensions?

    init(record: RecordID, body: PasskeyBody, passkey: Passkey) {
        self.record = record
        self.body = body
        self.passkey = passkey
        foreign = ForeignExtensions(body.members[PasskeyBody.foreignExtensions])
    }

    func write(to writer: inout JSONWriter) {
        writer.object { item in
            item.member("id", bytes: record.bytes)
            if case .unsigned(let created)? = body.members["created"] { item.member("creationAt", number: created) }
            item.member("title", text: passkey.relyingParty.text)
            item.member("scope") { writeScope(to: &$0) }
            item.member("credentials") { credentials in
                credentials.array { $0.element { writeCredential(to: &$0) } }
            }
            item.member("extensions") { extensions in
                extensions.array { $0.element { writeExtension(to: &$0) } }
            }
        }
    }

    private func writeScope(to writer: inout JSONWriter) {
        writer.object { scope in
            scope.member("urls") { urls in
                urls.array { $0.element { $0.append(quoting: "https://\(passkey.relyingParty)") } }
            }
            scope.member("androidApps") { $0.array { _ in } }
        }
    }

    private func writeCredential(to writer: inout JSONWriter) {
        writer.object { credential in
            credential.member("type", text: ExchangeFormat.passkeyType)
            credential.member("credentialId", bytes: passkey.id.bytes)
            credential.member("rpId", text: passkey.relyingParty.text)
            credential.member("username", text: passkey.user.name)
            credential.member("userDisplayName", text: passkey.user.displayName)
            credential.member("userHandle", bytes: passkey.user.id.bytes)
            credential.member("key", bytes: passkey.privateKey.derRepresentation)
            guard passkey.prfSecret != nil || foreign?.isEmpty == false else { return }
            credential.member("fido2Extensions") { writeFIDO2Extensions(to: &$0) }
        }
    }

    private func writeFIDO2Extensions(to writer: inout JSONWriter) {
        writer.object { extensions in
            if let secret = passkey.prfSecret {
                extensions.member("hmacCredentials") { writeSecrets(secret.withUnsafeBytes { Array($0) }, to: &$0) }
            }
            if let blob = foreign?.blob { extensions.member("credBlob", bytes: blob) }
            if let large = foreign?.largeBlob {
                extensions.member("largeBlob") { member in
                    member.object {
                        $0.member("uncompressedSize", number: large.size)
                        $0.member("data", bytes: large.data)
                    }
                }
            }
            if let payments = foreign?.payments { extensions.member("payments", boolean: payments) }
        }
    }

    private func writeSecrets(_ secret: [UInt8], to writer: inout JSONWriter) {
        let kept = body.members[PasskeyBody.otherSecret]?.bytes.flatMap { $0.count == secret.count ? $0 : nil }
        writer.object {
            $0.member("algorithm", text: ExchangeFormat.hmacAlgorithm)
            $0.member("credWithUV", bytes: secret)
            $0.member("credWithoutUV", bytes: kept ?? PasskeyBody.otherSecret(of: secret, credential: passkey.id))
        }
    }

    /// Writes the members that the format lacks; programs that do not know the extension ignore it.
    private func writeExtension(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("name", text: ExchangeFormat.extensionName)
            object.member("backupEligible", boolean: passkey.isBackupEligible)
            object.member("discoverable", boolean: passkey.isDiscoverable)
            let rest = body.rest(besides: foreign)
            if !rest.isEmpty { object.member("rest", bytes: CBOREncoder.encode(.map(rest))) }
        }
    }
}
