// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram

/// A JSON file with the lab's passkeys, including their unencrypted private keys, for tests only.
struct PasskeyFile: Sendable {
    let path: String

    private static let maximumLength = 16 << 20

    private var file: PrivateFile { PrivateFile(path: path) }

    /// Locks the file and reads its passkeys; creates an empty file if there is none.
    func open() throws -> (lock: PrivateFile.Lock, passkeys: [Passkey]) {
        let lock = try file.lock()
        let bytes = try file.read(lock, atMost: Self.maximumLength)
        guard !bytes.isEmpty else { return (lock, []) }
        do {
            let document = try JSONText(parsing: bytes, maximumValues: Self.maximumLength / 16)
            return (lock, try JSONCursor(document, named: path).elements.map(passkey))
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure(
                "\(path) is not a passkey file of hybrid-lab; use a different file",
                status: .dataError
            )
        }
    }

    /// Replaces the file's content atomically.
    ///
    /// - Returns: The lock of the new file.
    func write(_ passkeys: [Passkey]) throws(StoreFailure) -> PrivateFile.Lock {
        let entries = passkeys.map { passkey in
            var members: [(String, JSONText)] = [
                ("displayName", .string(passkey.user.displayName)),
                ("id", Self.base64(passkey.id.bytes)),
                ("isDiscoverable", .boolean(passkey.isDiscoverable)),
                ("name", .string(passkey.user.name)),
                ("privateKey", Self.base64(Array(passkey.privateKey.rawRepresentation))),
                ("relyingParty", .string(passkey.relyingParty.text)),
                ("user", Self.base64(passkey.user.id.bytes)),
            ]
            if let secret = passkey.prfSecret {
                members.append(("prfSecret", secret.withUnsafeBytes { Self.base64(Array($0)) }))
            }
            if let kind = passkey.signedDataKind { members.append(("signs", .string(kind.rawValue))) }
            return JSONText.object(members).description
        }
        let text = "[\n" + entries.joined(separator: ",\n") + "\n]\n"
        do throws(CommandFailure) {
            return try file.replace(with: Array(text.utf8))
        } catch {
            throw .notWritten(error.sentence)
        }
    }

    private func passkey(_ entry: JSONCursor) throws -> Passkey {
        let site = try entry.member("relyingParty").text
        guard let id = CredentialID(bytes: try Self.bytes(entry.member("id"))),
            let relyingParty = RelyingPartyID(site, accepting: Set(RelyingPartyID.Kind.allCases)),
            let user = UserHandle(bytes: try Self.bytes(entry.member("user"))),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: try Self.bytes(entry.member("privateKey")))
        else { throw CommandFailure("\(path): it contains an invalid passkey", status: .dataError) }
        let (name, displayName) = (try entry.member("name").text, try entry.member("displayName").text)
        return Passkey(
            id: id,
            relyingParty: relyingParty,
            user: UserEntity(id: user, name: name, displayName: displayName),
            privateKey: key,
            isBackupEligible: true,
            isDiscoverable: try entry.member("isDiscoverable").boolean,
            signedDataKind: try entry.memberIfPresent("signs").flatMap { SignedDataKind(rawValue: try $0.text) },
            prfSecret: try entry.memberIfPresent("prfSecret").flatMap { PRFSecret(bytes: try Self.bytes($0)) }
        )
    }

    private static func base64(_ bytes: [UInt8]) -> JSONText {
        .string(String(decoding: Base64.encode(bytes), as: UTF8.self))
    }

    /// Returns the bytes of a member in base64; no bytes if it is malformed.
    private static func bytes(_ json: JSONCursor) throws -> [UInt8] {
        let text = String(try json.text.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
        return Base64URL.decodePadded(text, maximumLength: CredentialID.maximumLength) ?? []
    }
}
