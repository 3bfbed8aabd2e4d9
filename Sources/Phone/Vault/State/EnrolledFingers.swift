// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The fingers that were enrolled when the user allowed fingerprints, by fprintd's names; no key is derived from them.
///
/// It is a ``SealedFile`` with the label `fingers v1`, so that a person at an unlocked session cannot add a finger. The
/// plaintext contains for each name, in ascending order: length (1) ‖ UTF-8.
struct EnrolledFingers: Equatable {
    /// File name in the local state.
    static let fileName = "fingers"
    /// Maximum length, in bytes.
    static let maximumLength = 8192

    private static let file = SealedFile(magic: "HYBFINGR", label: "fingers v1")

    /// The names, each of 1 to 255 bytes.
    let names: [String]

    /// Creates a record; `nil` if a name is empty or longer than 255 bytes.
    init?(names: [String]) {
        guard names.allSatisfy({ (1...255).contains($0.utf8.count) }) else { return nil }
        self.names = names.sorted()
    }

    /// Decrypts the file; `nil` if it is not authentic.
    init?(bytes: [UInt8], key: SymmetricKey, identity: VaultIdentity) {
        guard let names = Self.file.open(bytes, key: key, identity: identity, Self.read) else { return nil }
        self.init(names: names)
    }

    /// Returns the contents of the file.
    func bytes(key: SymmetricKey, identity: VaultIdentity) throws -> [UInt8] {
        let plaintext = names.flatMap { [UInt8(truncatingIfNeeded: $0.utf8.count)] + Array($0.utf8) }
        return try Self.file.seal(plaintext, key: key, identity: identity)
    }

    private static func read(_ plaintext: UnsafeRawBufferPointer) -> [String]? {
        var reader = BinaryFieldReader(plaintext)
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
