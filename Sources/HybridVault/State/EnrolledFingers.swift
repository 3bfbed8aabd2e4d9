// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The fingers that were enrolled when the user allowed fingerprints, by fprintd's names; no key is derived from them.
///
/// File: magic (8) ‖ nonce (12) ‖ ciphertext ‖ tag (16). It is sealed with AES-256-GCM under HKDF(vault key, salt =
/// vault ID, info = `fingers v1`), so that a person at an unlocked session cannot add a finger. The associated data is
/// `fingers v1` ‖ format ‖ vault ID ‖ test. The plaintext contains for each name, in ascending order: length (1) ‖ UTF-8.
struct EnrolledFingers: Equatable {
    /// File name in the local state.
    static let fileName = "fingers"
    /// Maximum length, in bytes.
    static let maximumLength = 8192

    private static let magic = Array("HYBFINGR".utf8)
    private static let label = Array("fingers v1".utf8)

    /// The names, each of 1 to 255 bytes.
    let names: [String]

    /// Creates a record; `nil` if a name is empty or longer than 255 bytes.
    init?(names: [String]) {
        guard names.allSatisfy({ (1...255).contains($0.utf8.count) }) else { return nil }
        self.names = names.sorted()
    }

    /// Decrypts the file; `nil` if it is not authentic.
    init?(bytes: [UInt8], key: SymmetricKey, identity: VaultIdentity) {
        guard bytes.starts(with: Self.magic) else { return nil }
        let opened = try? Sealing.open(
            bytes.dropFirst(Self.magic.count),
            key: Sealing.derive(key, identity: identity, info: Self.label),
            associatedData: Self.label + identity.associatedData
        ) { Self.read($0) }
        guard let names = opened ?? nil else { return nil }
        self.init(names: names)
    }

    /// Returns the contents of the file.
    func bytes(key: SymmetricKey, identity: VaultIdentity) throws -> [UInt8] {
        let plaintext = names.flatMap { [UInt8(truncatingIfNeeded: $0.utf8.count)] + Array($0.utf8) }
        let sealed = try Sealing.seal(
            plaintext,
            key: Sealing.derive(key, identity: identity, info: Self.label),
            associatedData: Self.label + identity.associatedData
        )
        return Self.magic + sealed
    }

    private static func read(_ plaintext: UnsafeRawBufferPointer) -> [String]? {
        var reader = FieldReader(plaintext)
        var names: [String] = []
        while !reader.rest.isEmpty {
            guard let length = reader.take(UInt8.self), let bytes = reader.take(Int(length)),
                let name = String(validating: bytes, as: UTF8.self)
            else { return nil }
            names.append(name)
        }
        return names
    }
}
