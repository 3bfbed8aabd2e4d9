// SPDX-License-Identifier: Apache-2.0

internal import Authenticator
internal import CBOR
internal import CTAP
internal import Crypto

/// What went into an export.
public struct PasskeyExport: Equatable, Sendable {
    /// How many passkeys are in the file.
    public let exported: Int
    /// How many were left out, because this version can't use them.
    public let unusable: Int
}

extension UnlockedVault {
    /// Writes every usable passkey with its key **in the clear** to one new file, 0600, in the Credential Exchange
    /// Format; it is durable when this returns.
    ///
    /// - Throws: ``VaultError``; ``VaultError/fileExists(path:)``, ``VaultError/cannotWriteExport(_:)``.
    public func exportPasskeys(to path: String) async throws(VaultError) -> PasskeyExport {
        try await perform { key, files throws(VaultError) in try files.export(to: path, key: key) }
    }
}

extension VaultFiles {
    fileprivate func export(to path: String, key: SymmetricKey) throws(VaultError) -> PasskeyExport {
        // The first made comes first, so that whoever imports the file keeps the order.
        let passkeys = Array(try load(key: key).passkeys.reversed())
        var writer = JSONWriter()
        defer { writer.wipe() }
        let exported = ExchangeDocument.write(passkeys, account: identity.id, time: clock.now(), to: &writer)
        guard writer.bytes.count <= ExchangeFormat.maximumLength else {
            throw .cannotWriteExport("it would be longer than 16 MiB, which nobody reads")
        }
        let (folder, name) = try VaultBackup.split(path)
        do {
            try Directory.open(path: folder).write(name, writer.bytes, replacing: false)
        } catch .exists {
            throw .fileExists(path: path)
        } catch {
            throw .cannotWriteExport("\(path): \(error.words)")
        }
        return PasskeyExport(exported: exported, unusable: passkeys.count - exported)
    }
}

/// A document of the Credential Exchange Format on its way out.
enum ExchangeDocument {
    /// Writes a document; gives how many passkeys are in it.
    static func write(
        _ passkeys: [(id: RecordID, body: PasskeyBody)],
        account: [UInt8],
        time: UInt64,
        to writer: inout JSONWriter
    ) -> Int {
        var count = 0
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
                accounts.array { list in
                    list.element { element in
                        element.object { object in
                            object.member("id", bytes: account)
                            object.member("username", text: "")
                            object.member("email", text: "")
                            object.member("collections") { $0.array { _ in } }
                            object.member("items") { items in
                                items.array { list in
                                    for (id, body) in passkeys {
                                        guard let passkey = body.passkey else { continue }
                                        list.element { write(body, passkey, id, to: &$0) }
                                        count += 1
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        writer.append(plain: "\n")
        return count
    }

    private static func write(
        _ body: PasskeyBody,
        _ passkey: Passkey,
        _ record: RecordID,
        to writer: inout JSONWriter
    ) {
        let blobs = ForeignExtensions(body.members[PasskeyBody.foreignExtensions])
        writer.object { item in
            item.member("id", bytes: record.bytes)
            if case .unsigned(let created)? = body.members["created"] { item.member("creationAt", number: created) }
            item.member("title", text: passkey.relyingParty.text)
            item.member("scope") { scope in
                scope.object { object in
                    object.member("urls") { urls in
                        urls.array { $0.element { $0.append(quoting: "https://\(passkey.relyingParty)") } }
                    }
                    object.member("androidApps") { $0.array { _ in } }
                }
            }
            item.member("credentials") { credentials in
                credentials.array { $0.element { write(passkey, body, blobs, to: &$0) } }
            }
            item.member("extensions") { extensions in
                extensions.array { list in
                    list.element { element in
                        element.object { object in
                            object.member("name", text: ExchangeFormat.extensionName)
                            object.member("backupEligible", boolean: passkey.isBackupEligible)
                            object.member("discoverable", boolean: passkey.isDiscoverable)
                            let rest = body.rest(besides: blobs)
                            if !rest.isEmpty { object.member("rest", bytes: CBOREncoder.encode(rest)) }
                        }
                    }
                }
            }
        }
    }

    private static func write(
        _ passkey: Passkey,
        _ body: PasskeyBody,
        _ blobs: ForeignExtensions?,
        to writer: inout JSONWriter
    ) {
        writer.object { credential in
            credential.member("type", text: ExchangeFormat.passkeyType)
            credential.member("credentialId", bytes: passkey.id.bytes)
            credential.member("rpId", text: passkey.relyingParty.text)
            credential.member("username", text: passkey.user.name)
            credential.member("userDisplayName", text: passkey.user.displayName)
            credential.member("userHandle", bytes: passkey.user.id.bytes)
            credential.member("key", bytes: passkey.privateKey.derRepresentation)
            guard passkey.prfSecret != nil || blobs?.isEmpty == false else { return }
            credential.member("fido2Extensions") { extensions in
                extensions.object { object in
                    if let secret = passkey.prfSecret {
                        let withUV = secret.withUnsafeBytes { Array($0) }
                        let kept = body.members[PasskeyBody.otherSecret]?.bytes.flatMap { $0.count == 32 ? $0 : nil }
                        object.member("hmacCredentials") { credentials in
                            credentials.object {
                                $0.member("algorithm", text: ExchangeFormat.hmacAlgorithm)
                                $0.member("credWithUV", bytes: withUV)
                                $0.member(
                                    "credWithoutUV",
                                    bytes: kept ?? PasskeyBody.otherSecret(of: withUV, credential: passkey.id)
                                )
                            }
                        }
                    }
                    if let blob = blobs?.blob { object.member("credBlob", bytes: blob) }
                    if let large = blobs?.largeBlob {
                        object.member("largeBlob") { member in
                            member.object {
                                $0.member("uncompressedSize", number: large.size)
                                $0.member("data", bytes: large.data)
                            }
                        }
                    }
                    if let payments = blobs?.payments { object.member("payments", boolean: payments) }
                }
            }
        }
    }
}
