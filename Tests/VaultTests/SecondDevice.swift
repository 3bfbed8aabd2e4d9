// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import Testing

@testable import HybridVault

extension Passphrase {
    /// A passphrase that is strong enough.
    static let strongText = "correct horse battery staple orbit"

    /// A passphrase from a literal.
    static func typed(_ text: String = strongText) throws -> Passphrase {
        try #require(Array(text.utf8).withUnsafeBytes { Passphrase(utf8: $0) })
    }
}

extension RecoveryCode {
    /// What a person typed.
    static func read(_ text: String) throws -> RecoveryCode {
        try Array(text.utf8).withUnsafeBytes { try RecoveryCode(reading: $0) }
    }
}

extension Workbench {
    /// Another device: a copy of this one's directory, and a state of its own.
    func copy(withState: Bool = false) async throws -> Workbench {
        let other = try Workbench(key: key)
        try await FileSystem.run("cp", "-a", vault, other.root)
        if withState { try await FileSystem.run("cp", "-a", state, other.root) }
        return other
    }

    /// Gives the vault a PIN here.
    @discardableResult
    func join(_ secret: PortableSecret, pin: String = "654321") async throws -> Vault {
        try await Vault.join(
            directory: vault,
            stateDirectory: state,
            secret: secret,
            pin: .typed(pin),
            scrypt: Self.scrypt,
            clock: clock
        )
    }

    /// Gives the vault a state here, as joining does, but without stretching anything.
    @discardableResult
    func joinWithoutPIN() throws -> UnlockedVault {
        let path = AbsolutePath.make(vault)
        let (directory, identity) = try VaultDirectory.open(path: path, stateDirectory: state)
        let local = try LocalState(joining: state, identity: identity)
        let device = try local.deviceOrNew()
        try local.write(SeenRevisions(), key: key)
        try local.write(AttemptCounter())
        var slot = Array(Vectors.slot.dropLast(32))
        slot.replaceSubrange(11..<36, with: identity.id + [identity.test ? 1 : 0] + device.id.bytes)
        try local.write(try #require(PINSlot(bytes: slot + Sealing.checksum(slot))))
        try KnownPaths(stateDirectory: state).remember(identity, at: directory.path)
        return try unlock()
    }

    /// Opens the vault with a PIN.
    func open(pin: String) async throws -> UnlockedVault {
        try await open().open(with: .typed(pin))
    }

    /// Names of the accounts, sorted.
    static func names(_ unlocked: UnlockedVault) async throws -> [String] {
        try await unlocked.entries().map { $0.user?.name ?? "" }.sorted()
    }

    /// Does something and gives the vault's refusal; `nil` when there was none.
    static func refusal(_ body: () async throws -> Void) async -> VaultError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? VaultError
        }
    }
}
