// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// The secret of a request for passkeys by file, which opens the answer.
package struct RequestSecret: SecretMaterial, Sendable {
    /// Length in bytes.
    package static let length = 64

    private let key: SymmetricKey

    /// Creates a secret from exactly 64 bytes; `nil` for any other length.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.length else { return nil }
        key = SymmetricKey(data: bytes)
    }

    /// Calls `body` with the bytes, which must not be copied to memory that is not wiped.
    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try key.withUnsafeBytes(body)
    }
}

/// The secrets of the files with which this device has asked others for passkeys.
///
/// It is a ``SealedFile`` with the label `requests v1`. The plaintext contains for each request, the latest last: time (8)
/// ‖ ID of the request (32) ‖ secret (64).
struct RequestKeys {
    /// File name in the local state.
    static let fileName = "requests"
    /// Maximum number of requests; an older one is forgotten.
    static let maximumCount = 8
    /// Maximum length of the file, in bytes.
    static let maximumLength = 8 + 12 + maximumCount * entryLength + 16
    /// Length of a request's ID in bytes.
    static let idLength = 32

    private static let entryLength = 8 + idLength + RequestSecret.length
    private static let file = SealedFile(magic: "HYBREQST", label: "requests v1")
    /// Time after which a request is forgotten, in seconds.
    private static let lifetime: UInt64 = 30 * 24 * 3600

    private struct Entry {
        let time: UInt64
        let id: [UInt8]
        let secret: RequestSecret

        func isForgotten(at now: UInt64) -> Bool { now > time && now - time > RequestKeys.lifetime }
    }

    private var entries: [Entry] = []

    /// Creates an empty list.
    init() {}

    /// Decrypts the file; `nil` if it is not authentic.
    init?(bytes: [UInt8], key: SymmetricKey, identity: VaultIdentity) {
        guard let entries = Self.file.open(bytes, key: key, identity: identity, Self.read) else { return nil }
        self.entries = entries
    }

    /// Adds a request and forgets old ones.
    mutating func insert(_ secret: RequestSecret, id: [UInt8], now: UInt64) {
        entries.removeAll { $0.id == id || $0.isForgotten(at: now) }
        entries = (entries + [Entry(time: now, id: id, secret: secret)]).suffix(Self.maximumCount)
    }

    /// Returns the secret of a request that is not too old.
    func secret(of id: [UInt8], now: UInt64) -> RequestSecret? {
        entries.first { $0.id == id && !$0.isForgotten(at: now) }?.secret
    }

    /// Returns the contents of the file.
    func bytes(key: SymmetricKey, identity: VaultIdentity) throws -> [UInt8] {
        var plaintext: [UInt8] = []
        plaintext.reserveCapacity(entries.count * Self.entryLength)
        defer { SecretBytes.wipe(&plaintext) }
        for entry in entries {
            plaintext.append(bigEndian: entry.time)
            plaintext += entry.id
            entry.secret.withUnsafeBytes { plaintext += $0 }
        }
        return try Self.file.seal(plaintext, key: key, identity: identity)
    }

    private static func read(_ plaintext: UnsafeRawBufferPointer) -> [Entry]? {
        guard plaintext.count.isMultiple(of: entryLength), plaintext.count <= maximumCount * entryLength else {
            return nil
        }
        return stride(from: 0, to: plaintext.count, by: entryLength).compactMap { start in
            let entry = UnsafeRawBufferPointer(rebasing: plaintext[start..<(start + entryLength)])
            let time = entry[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let id = Array(entry[8..<(8 + idLength)])
            return RequestSecret(bytes: UnsafeRawBufferPointer(rebasing: entry[(8 + idLength)...]))
                .map { Entry(time: time, id: id, secret: $0) }
        }
    }
}

extension UnlockedVault {
    /// Keeps the secret of a request durably in this device's local state, until others answer it.
    ///
    /// - Parameters:
    ///   - secret: The secret.
    ///   - id: ID of the request, 32 bytes.
    /// - Throws: ``VaultError``.
    package func keep(_ secret: RequestSecret, forRequest id: [UInt8]) async throws(VaultError) {
        try await perform { key, files throws(VaultError) in
            guard id.count == RequestKeys.idLength else { throw .cannotWrite("the ID of a request") }
            let ring = try files.checkKeyIsCurrent(key)
            // A damaged list is replaced: its requests can be made again.
            var requests = (try? files.state.requests(ring)) ?? RequestKeys()
            requests.insert(secret, id: id, now: files.location.clock.now())
            try files.state.write(requests, key: key)
        }
    }

    /// Returns the secret of a request that this device has made; `nil` if there is none.
    ///
    /// - Throws: ``VaultError``.
    package func secret(ofRequest id: [UInt8]) async throws(VaultError) -> RequestSecret? {
        try await perform { key, files throws(VaultError) in
            try files.state.requests(try files.ring(key)).secret(of: id, now: files.location.clock.now())
        }
    }
}
