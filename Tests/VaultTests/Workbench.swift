// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Glibc
import HybridAuthenticator
import HybridCTAP
import HybridPrimitives
import Synchronization
import TestSupport
import Testing

@testable import HybridVault

/// A temporary directory with a place for a vault and one for its local state.
final class Workbench: Sendable {
    /// The cheapest scrypt that is read, so that tests are quick.
    static let scrypt = Scrypt(logN: 15, r: 8, p: 1) ?? .standard

    let root: String
    /// The vault key, so that only tests of the PIN need to stretch it.
    let key: SymmetricKey
    let seconds = Mutex<UInt64>(1_700_000_000)

    var vault: String { root + "/vault" }
    var state: String { root + "/state" }
    var clock: WallClock { WallClock { [self] in seconds.withLock { $0 } } }

    init(key: SymmetricKey = SymmetricKey(size: .bits256)) throws {
        self.key = key
        var template = Array("/tmp/vault-test-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { buffer -> String? in
            guard let base = buffer.baseAddress, mkdtemp(base) != nil else { return nil }
            return String(cString: base)
        }
        root = try #require(made)
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    /// Makes the vault.
    func create(pin: String = "123456", test: Bool = false) async throws -> Vault {
        try await Vault.create(
            directory: vault,
            stateDirectory: state,
            pin: try .typed(pin),
            test: test,
            scrypt: Self.scrypt,
            clock: clock,
            key: key
        )
    }

    /// Makes the vault as ``create(pin:test:)`` does, but with a slot that no PIN opens, because stretching one
    /// for every test would take all processors from everybody.
    @discardableResult
    func createWithoutPIN() throws -> Vault {
        let identity = VaultIdentity.random(test: false)
        let device = try #require(Device.random())
        let local = try LocalState(creatingIn: state, identity: identity, device: device)
        try local.write(SeenRevisions(), key: key)
        var slot = Array(Vectors.slot.dropLast(32))
        slot.replaceSubrange(11..<36, with: identity.id + [0] + device.id.bytes)
        try local.write(try #require(PINSlot(bytes: slot + Sealing.checksum(slot))))
        let directory = try Directory.make(path: vault)
        try directory.write(VaultIdentity.fileName, Array(identity.text.utf8), replacing: false)
        _ = try directory.makeSubdirectory(VaultDirectory.recordsName)
        _ = try directory.makeSubdirectory(VaultDirectory.slotsName)
        try KnownPaths(stateDirectory: state).remember(identity, at: vault)
        return try open()
    }

    /// Opens the directory of the vault.
    func open(virtualRadio: Bool = false) throws(VaultError) -> Vault {
        try Vault.open(directory: vault, stateDirectory: state, virtualRadio: virtualRadio, clock: clock)
    }

    /// Opens the vault itself as the right PIN does, but without stretching it.
    func unlock() throws(VaultError) -> UnlockedVault {
        let files = try open().files
        let records = try files.load(key: key)
        return UnlockedVault(files: files, key: key, notes: records.notes + records.unusable, failure: FailureBox())
    }

    /// Why the vault does not open although the PIN is right.
    func unlockError() -> VaultError? {
        do {
            _ = try unlock()
            return nil
        } catch {
            return error
        }
    }

    /// The refusal of opening the directory.
    func refusal(virtualRadio: Bool = false) -> VaultError? {
        do {
            _ = try open(virtualRadio: virtualRadio)
            return nil
        } catch {
            return error
        }
    }

    /// What became of unlocking: `nil` when it worked.
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

    /// Lets time pass.
    func wait(_ amount: UInt64) { seconds.withLock { $0 += amount } }

    /// Sets the clock back.
    func setBack(_ amount: UInt64) { seconds.withLock { $0 -= amount } }

    /// The state directory of the vault.
    func stateOfVault() throws -> String { try state + "/" + open().id }

    /// Every record file, as paths.
    func recordFiles() throws -> [String] {
        try FileSystem.names(vault + "/records").flatMap { record in
            try FileSystem.names(vault + "/records/" + record).map { "\(vault)/records/\(record)/\($0)" }
        }
    }

    /// Every file of the vault with its content, to see that nothing was changed.
    func snapshot() throws -> [String: [UInt8]] {
        var snapshot = ["vault.json": try FileSystem.read(vault + "/vault.json")]
        for path in try recordFiles() { snapshot[path] = try FileSystem.read(path) }
        return snapshot
    }
}

extension PIN {
    /// A PIN from a literal.
    static func typed(_ text: String) throws -> PIN {
        try #require(Array(text.utf8).withUnsafeBytes { PIN(utf8: $0) })
    }
}

extension Passkey {
    /// A passkey with a fresh key.
    static func fresh(rp: String = "example.com", user: String = "ada", isBackupEligible: Bool = true) throws -> Passkey
    {
        Passkey(
            id: try #require(CredentialID(bytes: RandomBytes.make(16))),
            relyingParty: try #require(RelyingPartyID(rp)),
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

/// What tests do to files behind the vault's back.
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

    /// Flips bits of one byte of a file while `body` runs, and puts the file back.
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
