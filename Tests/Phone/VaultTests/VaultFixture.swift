// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Glibc
import HybridAuthenticator
import HybridCTAP
import HybridPrimitives
import HybridTPM
import Synchronization
import TestSupport
import Testing

@testable import HybridVault

/// A temporary directory for a vault and its local state.
final class VaultFixture: Sendable {
    let root: String
    /// The vault key, so that only tests of the PIN need key derivation.
    let key: SymmetricKey
    /// The TPM of the device.
    let tpm: TPMAddress
    let seconds = Mutex<UInt64>(1_700_000_000)

    var vault: String { root + "/vault" }
    var state: String { root + "/state" }
    var location: VaultLocation {
        var location = VaultLocation(directory: vault, stateDirectory: state, tpm: tpm)
        location.scrypt = .lowest
        location.clock = WallClock { [self] in seconds.withLock { $0 } }
        return location
    }

    init(key: SymmetricKey = SymmetricKey(size: .bits256), tpm: TPMAddress = .standard) throws {
        self.key = key
        self.tpm = tpm
        root = try TestFolder().path
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    /// Creates the vault; a test vault by default, whose PIN is derived much faster.
    func create(pin: String = "123456", isTest: Bool = true) async throws -> Vault {
        try await Vault.create(at: location, pin: .typed(pin), isTest: isTest, key: key)
    }

    /// Creates the vault like ``create(pin:isTest:)``, but with a slot that no PIN opens, because deriving a key in
    /// every test would take too long.
    @discardableResult
    func createWithoutPIN() throws -> Vault {
        let identity = VaultIdentity.random(isTest: false)
        let device = Device()
        let local = try LocalState(creatingIn: state, identity: identity, device: device)
        try local.write(SeenRevisions(), key: key)
        var slot = Array(Vectors.slot.dropLast(32))
        slot.replaceSubrange(11..<36, with: identity.id + [0] + device.id.bytes)
        try local.write(.pin(try #require(PINSlot(bytes: slot + Sealing.checksum(slot)))))
        let directory = try Directory.make(path: vault)
        try directory.write(VaultIdentity.fileName, Array(identity.text.utf8), replacing: false)
        _ = try directory.makeSubdirectory(VaultDirectory.recordsName)
        _ = try directory.makeSubdirectory(VaultDirectory.slotsName)
        try KnownPaths(stateDirectory: state).remember(identity, at: vault)
        return try open()
    }

    /// Opens the vault directory, by default with the kind of radio that the vault needs.
    func open(virtualRadio: Bool? = nil) throws(VaultError) -> Vault {
        guard let virtualRadio else { return try open(virtualRadio: Vault.isTest(at: location)) }
        return try Vault.open(at: location, virtualRadio: virtualRadio)
    }

    /// Unlocks the vault as the right PIN does, but without key derivation.
    func unlock() throws(VaultError) -> UnlockedVault {
        let files = try open().files
        let records = try files.records(key: key)
        return UnlockedVault(files: files, key: key, warnings: records.warnings + records.unusable)
    }

    /// Returns the error of ``unlock()``.
    func unlockError() -> VaultError? {
        do {
            _ = try unlock()
            return nil
        } catch {
            return error
        }
    }

    /// Returns the error of ``open(virtualRadio:)``.
    func refusal(virtualRadio: Bool? = nil) -> VaultError? {
        do {
            _ = try open(virtualRadio: virtualRadio)
            return nil
        } catch {
            return error
        }
    }

    /// Returns the failure of unlocking with a PIN; `nil` on success.
    func unlockFailure(pin: String = "123456") async throws -> UnlockFailure? {
        let vault = try open()
        let pin = try PIN.typed(pin)
        do {
            _ = try await vault.unlock(with: pin)
            return nil
        } catch {
            return error
        }
    }

    /// Advances the clock.
    func wait(_ amount: UInt64) { seconds.withLock { $0 += amount } }

    /// Sets the clock back.
    func setBack(_ amount: UInt64) { seconds.withLock { $0 -= amount } }

    /// Returns the local state directory of the vault.
    func stateOfVault() throws -> String { try state + "/" + open().id }

    /// Returns the paths of all record files.
    ///
    /// - Parameter skipsOthers: True if there are files in place of a record's directory.
    func recordFiles(skippingFiles skipsOthers: Bool = false) throws -> [String] {
        try FileSystem.names(vault + "/records").flatMap { record in
            if skipsOthers, (try? FileSystem.names(vault + "/records/" + record)) == nil { return [String]() }
            return try FileSystem.names(vault + "/records/" + record).map { "\(vault)/records/\(record)/\($0)" }
        }
    }

    /// Returns the contents of all files of the vault, to check that nothing changed.
    func snapshot() throws -> [String: [UInt8]] {
        var snapshot = ["vault.json": try FileSystem.read(vault + "/vault.json")]
        for path in try recordFiles() { snapshot[path] = try FileSystem.read(path) }
        return snapshot
    }
}

extension UnlockedVault {
    /// Adds a use to this device's history.
    func recordUse(
        for relyingParty: RelyingPartyID,
        _ operation: PasskeyUse.Operation,
        _ outcome: UsageEntry.Outcome,
        credential: CredentialID? = nil
    ) async throws(VaultError) {
        let operation: RequestedOperation = operation == .create ? .create(relyingParty) : .signIn(relyingParty)
        let request = UsageEntry(operation, outcome, credential: credential)
        try await perform { key, files throws(VaultError) in try files.append(request, key: key) }
    }
}

extension PIN {
    /// Creates a PIN from a literal.
    static func typed(_ text: String) throws -> PIN {
        try #require(Array(text.utf8).withUnsafeBytes { PIN(utf8: $0) })
    }
}

extension Passkey {
    /// Creates a passkey with a new key.
    static func fresh(rp: String = "example.com", user: String = "ada", isBackupEligible: Bool = true) throws -> Passkey
    {
        Passkey(
            id: try #require(CredentialID(bytes: [UInt8].random(16))),
            relyingParty: try #require(RelyingPartyID(rp, accepting: Set(RelyingPartyID.Kind.allCases))),
            user: UserEntity(
                id: try #require(UserHandle(bytes: Array(user.utf8))),
                name: user,
                displayName: user + " of example"
            ),
            privateKey: P256.Signing.PrivateKey(compactRepresentable: false),
            isBackupEligible: isBackupEligible
        )
    }
}

/// Direct access to files.
enum FileSystem {
    struct Failure: Error {
        let code: Int32
    }

    static func read(_ path: String) throws -> [UInt8] {
        guard let file = fopen(path, "r") else { throw Failure(code: errno) }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes[..<count])
    }

    static func write(_ path: String, _ bytes: [UInt8]) throws {
        guard let file = fopen(path, "w") else { throw Failure(code: errno) }
        defer { fclose(file) }
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw Failure(code: errno) }
    }

    static func names(_ path: String) throws -> [String] {
        try Directory.open(path: path).names(limit: 100_000)
    }

    /// Runs a program and waits for it.
    static func run(_ arguments: String...) async throws {
        let program = try SpawnedProcess(arguments, environment: ProcessInfo.processInfo.environment)
        let status = try await program.end()
        guard status == 0 else { throw Failure(code: status) }
    }

    /// Flips bits of one byte of a file while `body` runs, then restores the file.
    @discardableResult
    static func flipping<Value>(
        _ path: String,
        at index: Int,
        by mask: UInt8,
        _ body: () async throws -> Value
    ) async throws -> Value {
        let before = try read(path)
        var changed = before
        changed[index] ^= mask
        try write(path, changed)
        let value = try await body()
        try write(path, before)
        return value
    }
}
