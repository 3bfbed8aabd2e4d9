// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPrimitives

/// Passkeys of the lab in a file, as JSON, with their keys in clear: good for tests and for nothing else.
struct PasskeyFile: Sendable {
    let path: String

    private static let mostBytes = 16 << 20

    private struct Entry: Codable {
        let id: Data
        let relyingParty: String
        let user: Data
        let name: String
        let displayName: String
        let privateKey: Data
        let isDiscoverable: Bool
        let prfSecret: Data?
    }

    /// Takes it for this phone; an empty one is made if there is none.
    func claim() throws -> FileOwnership {
        do throws(PrivateFile.Refusal) {
            return try PrivateFile(path: path).claim()
        } catch {
            throw CommandFailure(error.sentence, status: error.status)
        }
    }

    /// What is in it; nothing if it is empty.
    func read() throws -> [Passkey] {
        let bytes: [UInt8]
        do throws(PrivateFile.Refusal) {
            bytes = try PrivateFile(path: path).read(atMost: Self.mostBytes) ?? []
        } catch {
            throw CommandFailure(error.sentence, status: error.status)
        }
        guard !bytes.isEmpty else { return [] }
        guard let entries = try? JSONDecoder().decode([Entry].self, from: Data(bytes)) else {
            throw CommandFailure("\(path) is no file of the lab's passkeys; name another", status: .dataError)
        }
        return try entries.map(passkey)
    }

    /// Puts these in the place of what is there: all of them, or what was there stays.
    ///
    /// - Returns: the new file, which is this phone's as the old one was.
    func write(_ passkeys: [Passkey]) throws(StoreFailure) -> FileOwnership {
        let entries = passkeys.map { passkey in
            Entry(
                id: Data(passkey.id.bytes),
                relyingParty: passkey.relyingParty.text,
                user: Data(passkey.user.id.bytes),
                name: passkey.user.name,
                displayName: passkey.user.displayName,
                privateKey: passkey.privateKey.rawRepresentation,
                isDiscoverable: passkey.isDiscoverable,
                prfSecret: passkey.prfSecret.map { $0.withUnsafeBytes { Data($0) } }
            )
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        guard let bytes = try? encoder.encode(entries) else { throw .notWritten("the passkeys can't be written down") }
        do throws(PrivateFile.Refusal) {
            return try PrivateFile(path: path).replace(with: Array(bytes))
        } catch {
            throw .notWritten(error.sentence)
        }
    }

    private func passkey(_ entry: Entry) throws -> Passkey {
        guard let id = CredentialID(bytes: entry.id), let site = RelyingPartyID(entry.relyingParty),
            let user = UserHandle(bytes: entry.user),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: entry.privateKey)
        else { throw CommandFailure("\(path): a passkey in it can't be used", status: .dataError) }
        return Passkey(
            id: id,
            relyingParty: site,
            user: UserEntity(id: user, name: entry.name, displayName: entry.displayName),
            privateKey: key,
            isBackupEligible: true,
            isDiscoverable: entry.isDiscoverable,
            prfSecret: entry.prfSecret.flatMap { PRFSecret(bytes: $0) }
        )
    }
}
