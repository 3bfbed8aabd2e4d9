// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram

/// A JSON file with the lab's passkeys, including their unencrypted private keys, for tests only.
struct PasskeyFile: Sendable {
    let path: String

    private static let maximumLength = 16 << 20

    private struct Entry: Codable {
        let id: Data
        let relyingParty: String
        let user: Data
        let name: String
        let displayName: String
        let privateKey: Data
        let isDiscoverable: Bool
        let prfSecret: Data?
        let signs: String?
    }

    private var file: PrivateFile { PrivateFile(path: path) }

    /// Locks the file and reads its passkeys; creates an empty file if there is none.
    func open() throws -> (lock: PrivateFile.Lock, passkeys: [Passkey]) {
        let lock = try file.lock()
        let bytes = try file.read(lock, atMost: Self.maximumLength)
        guard !bytes.isEmpty else { return (lock, []) }
        guard let entries = try? JSONDecoder().decode([Entry].self, from: Data(bytes)) else {
            throw CommandFailure("\(path) is not a passkey file of hybrid-lab; name another", status: .dataError)
        }
        return (lock, try entries.map(passkey))
    }

    /// Replaces the file's content atomically.
    ///
    /// - Returns: The lock of the new file.
    func write(_ passkeys: [Passkey]) throws(StoreFailure) -> PrivateFile.Lock {
        let entries = passkeys.map { passkey in
            Entry(
                id: Data(passkey.id.bytes),
                relyingParty: passkey.relyingParty.text,
                user: Data(passkey.user.id.bytes),
                name: passkey.user.name,
                displayName: passkey.user.displayName,
                privateKey: passkey.privateKey.rawRepresentation,
                isDiscoverable: passkey.isDiscoverable,
                prfSecret: passkey.prfSecret.map { $0.withUnsafeBytes { Data($0) } },
                signs: passkey.signedDataKind?.rawValue
            )
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        guard let bytes = try? encoder.encode(entries) else { throw .notWritten("the passkeys cannot be encoded") }
        do throws(CommandFailure) {
            return try file.replace(with: Array(bytes))
        } catch {
            throw .notWritten(error.sentence)
        }
    }

    private func passkey(_ entry: Entry) throws -> Passkey {
        guard let id = CredentialID(bytes: entry.id),
            let site = RelyingPartyID(entry.relyingParty, accepting: Set(RelyingPartyID.Kind.allCases)),
            let user = UserHandle(bytes: entry.user),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: entry.privateKey)
        else { throw CommandFailure("\(path): it contains an invalid passkey", status: .dataError) }
        return Passkey(
            id: id,
            relyingParty: site,
            user: UserEntity(id: user, name: entry.name, displayName: entry.displayName),
            privateKey: key,
            isBackupEligible: true,
            isDiscoverable: entry.isDiscoverable,
            signedDataKind: entry.signs.flatMap(SignedDataKind.init),
            prfSecret: entry.prfSecret.flatMap { PRFSecret(bytes: $0) }
        )
    }
}
