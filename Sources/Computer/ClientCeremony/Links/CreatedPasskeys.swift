// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Glibc
internal import HybridCBOR
package import HybridCTAP
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram

/// The public keys of the passkeys that phones have created through this computer, in a file beside the links.
///
/// A later signature with such a key can be verified without the website. The file is a canonical CBOR map: 0: version, 1:
/// array of passkeys, oldest first, each an array of the SHA-256 of relying party ID and credential ID, and the public key
/// (65 bytes). Nothing in it names a website. A failure is a warning, and never ends a ceremony.
package struct CreatedPasskeys: Sendable {
    /// Maximum number of passkeys; the oldest is dropped first.
    package static let maximumCount = 256
    /// The name of the file, without the suffix of links.
    static let fileName = "created-passkeys"
    private static let maximumFileSize = 64 * 1024
    private static let version: CBORValue = 1

    private let path: String
    private let warn: @Sendable (String) -> Void

    /// Creates the store in the folder of links, which is created with the first passkey.
    ///
    /// - Parameters:
    ///   - path: The absolute path of the folder.
    ///   - warn: Called with a sentence if the file can't be read or written.
    init(path: String, warn: @escaping @Sendable (String) -> Void) {
        self.path = path
        self.warn = warn
    }

    /// The keys of passkeys in the order of their creation.
    package struct Keys: Sendable {
        private struct Entry {
            let digest: [UInt8]
            let publicKey: P256.Signing.PublicKey
        }

        private var entries: [Entry] = []

        init() {}

        /// Returns the public key of a passkey; `nil` if the passkey was not created through this computer.
        @Sendable package func key(_ id: CredentialID, of relyingParty: RelyingPartyID) -> COSEKey? {
            let digest = Self.digest(id, relyingParty)
            return entries.first { $0.digest == digest }.map { COSEKey($0.publicKey) }
        }

        /// Returns true if the response was signed by the passkey that it names; `nil` if the passkey was not created
        /// through this computer.
        package func verifies(_ response: CTAPResponse, to request: GetAssertionRequest) -> Bool? {
            guard let assertion = try? GetAssertionResponse(parsing: response.body) else { return false }
            let listed = request.allowList.count == 1 ? request.allowList[0].id : nil
            guard let id = assertion.credential?.id ?? listed, request.allowList.contains(where: { $0.id == id }) else {
                return false
            }
            guard let key = key(id, of: request.relyingPartyID)?.p256 else { return nil }
            let data = assertion.authenticatorData.encoded + request.clientDataHash.bytes
            guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: assertion.signature) else {
                return false
            }
            return key.isValidSignature(signature, for: data)
        }

        /// Adds a passkey in place of an older one with the same ID; drops the oldest if there are too many.
        fileprivate mutating func add(_ id: CredentialID, of site: RelyingPartyID, _ key: P256.Signing.PublicKey) {
            let digest = Self.digest(id, site)
            entries.removeAll { $0.digest == digest }
            entries.append(Entry(digest: digest, publicKey: key))
            entries = entries.suffix(CreatedPasskeys.maximumCount)
        }

        /// Creates the keys of a file; `nil` if it is malformed.
        init?(file bytes: [UInt8]) {
            guard let map = (try? CBORDecoder.decode(bytes, mode: .strict))?.map, map.count == 2,
                map[0] == CreatedPasskeys.version, let list = map[1]?.array,
                list.count <= CreatedPasskeys.maximumCount
            else { return nil }
            for value in list {
                guard let fields = value.array, fields.count == 2, let digest = fields[0].bytes, digest.count == 32,
                    let point = fields[1].bytes, point.count == 65,
                    let key = try? P256.Signing.PublicKey(x963Representation: point)
                else { return nil }
                entries.append(Entry(digest: digest, publicKey: key))
            }
        }

        /// The contents of the file.
        var file: [UInt8] {
            let list = entries.map { entry in
                CBORValue.array([.bytes(entry.digest), .bytes(Array(entry.publicKey.x963Representation))])
            }
            let map: CBORMap = [0: CreatedPasskeys.version, 1: .array(list)]
            return CBOREncoder.encode(map)
        }

        /// Returns the SHA-256 of the relying party ID's hash (32 bytes) and the credential ID.
        private static func digest(_ id: CredentialID, _ relyingParty: RelyingPartyID) -> [UInt8] {
            Array(SHA256.hash(data: relyingParty.hash.bytes + id.bytes))
        }
    }

    /// Returns the stored keys: none if there is no file, or after a warning if it can't be read.
    package func keys() -> Keys {
        guard access(path, F_OK) == 0 else { return Keys() }
        do throws(CommandFailure) {
            return try read(StateFolder(path: path))
        } catch {
            warn(error.sentence)
            return Keys()
        }
    }

    /// Returns the passkey in the response to a registration.
    ///
    /// - Returns: `nil` for a sign-in, and for a response that creates no passkey for the request's relying party.
    package static func passkey(in response: CTAPResponse, to request: CTAPRequest) -> AttestedCredential? {
        guard case .makeCredential(let request) = request, response.status == .success,
            let data = (try? MakeCredentialResponse(parsing: response.body))?.authenticatorData,
            data.relyingPartyIDHash == request.relyingParty.id.hash
        else { return nil }
        return data.attestedCredential
    }

    /// Adds a passkey of a website with a key on P-256; others are not remembered.
    package func add(_ credential: AttestedCredential, of relyingParty: RelyingPartyID) {
        guard relyingParty.kind == .domain, let key = credential.publicKey.p256 else { return }
        do throws(CommandFailure) {
            let folder = try StateFolder(path: path)
            try folder.whileLocked { () throws(CommandFailure) in
                var keys = try read(folder)
                keys.add(credential.id, of: relyingParty, key)
                try folder.replace(Self.fileName, with: keys.file)
            }
        } catch {
            warn(error.sentence)
        }
    }

    private func read(_ folder: StateFolder) throws(CommandFailure) -> Keys {
        guard let bytes = try folder.read(Self.fileName, atMost: Self.maximumFileSize) else { return Keys() }
        guard let keys = Keys(file: bytes) else {
            throw CommandFailure(
                "\(folder.file(Self.fileName)) is damaged or from a newer version, so no passkey is known; remove it",
                status: .dataError
            )
        }
        return keys
    }
}
