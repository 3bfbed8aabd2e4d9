// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridCBOR
internal import HybridCTAP

/// A writer for documents in the Credential Exchange Format.
enum ExchangeDocument {
    /// Writes a document with one account and returns the number of passkeys in it.
    static func write(
        _ passkeys: [(id: RecordID, body: PasskeyBody)],
        account: [UInt8],
        time: UInt64,
        to writer: inout JSONWriter
    ) -> Int {
        let items = passkeys.compactMap { id, body in
            body.passkey.map { passkey in
                let foreign = ForeignExtensions(body.members[PasskeyBody.foreignExtensions])
                return ExchangedItem(record: id, body: body, passkey: passkey, foreign: foreign)
            }
        }
        writer.object { document in
            document.object("version") {
                $0.member("major", number: UInt64(ExchangeFormat.major))
                $0.member("minor", number: 0)
            }
            document.member("exporterRpId", text: ExchangeFormat.exporter)
            document.member("exporterDisplayName", text: "hybrid-auth")
            document.member("timestamp", number: time)
            document.array("accounts") { $0.object { write(items, account, to: &$0) } }
        }
        writer.append(plain: "\n")
        return items.count
    }

    private static func write(_ items: [ExchangedItem], _ account: [UInt8], to object: inout JSONWriter) {
        object.member("id", bytes: account)
        // The vault does not know the user's name.
        object.member("username", text: "")
        object.member("email", text: "")
        object.array("collections") { _ in }
        object.array("items") { list in
            for item in items { list.object(item.write) }
        }
    }
}

/// One passkey as an item of a document.
private struct ExchangedItem {
    let record: RecordID
    let body: PasskeyBody
    let passkey: Passkey
    let foreign: ForeignExtensions?

    func write(to item: inout JSONWriter) {
        item.member("id", bytes: record.bytes)
        if case .unsigned(let created)? = body.members["created"] { item.member("creationAt", number: created) }
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
        guard passkey.prfSecret != nil || foreign?.isEmpty == false else { return }
        credential.object("fido2Extensions", writeFIDO2Extensions)
    }

    private func writeFIDO2Extensions(to extensions: inout JSONWriter) {
        if let secret = passkey.prfSecret {
            extensions.object("hmacCredentials") { writeSecrets(secret.withUnsafeBytes { Array($0) }, to: &$0) }
        }
        if let blob = foreign?.blob { extensions.member("credBlob", bytes: blob) }
        if let large = foreign?.largeBlob {
            extensions.object("largeBlob") {
                $0.member("uncompressedSize", number: large.size)
                $0.member("data", bytes: large.data)
            }
        }
        if let payments = foreign?.payments { extensions.member("payments", boolean: payments) }
    }

    private func writeSecrets(_ secret: [UInt8], to object: inout JSONWriter) {
        let kept = body.members[PasskeyBody.otherSecret]?.bytes.flatMap { $0.count == secret.count ? $0 : nil }
        object.member("algorithm", text: ExchangeFormat.hmacAlgorithm)
        object.member("credWithUV", bytes: secret)
        object.member("credWithoutUV", bytes: kept ?? PasskeyBody.otherSecret(of: secret, credential: passkey.id))
    }

    /// Writes the members that the format lacks; programs that do not know the extension ignore it.
    private func writeExtension(to object: inout JSONWriter) {
        object.member("name", text: ExchangeFormat.extensionName)
        object.member("backupEligible", boolean: passkey.isBackupEligible)
        object.member("discoverable", boolean: passkey.isDiscoverable)
        let rest = body.rest(besides: foreign)
        if !rest.isEmpty { object.member("rest", bytes: CBOREncoder.encode(.map(rest))) }
    }
}
