// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import Testing

@testable import HybridVault

extension Passphrase {
    /// A strong passphrase.
    static let strongText = "correct horse battery staple orbit"

    /// Creates a passphrase from a literal.
    static func typed(_ text: String = strongText) throws -> Passphrase {
        try #require(Array(text.utf8).withUnsafeBytes { Passphrase(utf8: $0) })
    }
}

extension RecoveryCode {
    /// Reads a code as a user typed it.
    static func read(_ text: String) throws -> RecoveryCode {
        try Array(text.utf8).withUnsafeBytes { try RecoveryCode(reading: $0) }
    }
}

extension VaultFixture {
    /// Returns another device: a copy of this one's directory with its own state.
    func copy(withState: Bool = false) async throws -> VaultFixture {
        let other = try VaultFixture(key: key)
        try await FileSystem.run("cp", "-a", vault, other.root)
        if withState { try await FileSystem.run("cp", "-a", state, other.root) }
        return other
    }

    /// Sets a PIN on this device; the user compares the key.
    @discardableResult
    func join(_ secret: PortableSecret, pin: String = "654321") async throws -> Vault {
        try await Self.comparing {
            try await Vault.join(at: location, secret: secret, pin: .typed(pin), comparedAs: $0)
        }
    }

    /// Runs `body` for a user to whom the fingerprint of every key looks right.
    static func comparing<Value: Sendable>(_ body: (VaultKeyFingerprint?) async throws -> Value) async throws -> Value {
        do {
            return try await body(nil)
        } catch VaultError.keyNotCompared(let fingerprint, _) {
            return try await body(fingerprint)
        }
    }

    /// Creates a local state as joining does, but without key derivation.
    @discardableResult
    func joinWithoutPIN() throws -> UnlockedVault {
        let (directory, identity) = try VaultDirectory.open(location)
        let local = try LocalState(joining: state, identity: identity)
        let device = try local.deviceOrNew()
        try local.write(SeenRevisions(), key: key)
        try local.write(AttemptCounter())
        var slot = Array(Vectors.slot.dropLast(32))
        slot.replaceSubrange(11..<36, with: identity.id + [identity.isTest ? 1 : 0] + device.id.bytes)
        try local.write(.pin(try #require(PINSlot(bytes: slot + Sealing.checksum(slot)))))
        try KnownPaths(stateDirectory: state).remember(identity, at: directory.path)
        return try unlock()
    }

    /// Opens the vault with a PIN.
    func open(pin: String) async throws -> UnlockedVault {
        try await open().unlockVault(with: .typed(pin))
    }

    /// Returns the names of the accounts, sorted.
    static func names(_ unlocked: UnlockedVault) async throws -> [String] {
        try await unlocked.summaries().map { $0.user?.name ?? "" }.sorted()
    }

    /// Runs `body` and returns its ``VaultError``, or `nil` if it succeeds.
    static func refusal(_ body: () async throws -> Void) async -> VaultError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? VaultError
        }
    }
}
