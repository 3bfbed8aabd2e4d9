// SPDX-License-Identifier: Apache-2.0

import Crypto
import ExchangeTestSupport
import FoundationEssentials
import Glibc
import HybridAuthenticator
import HybridCTAP
import HybridCredentialExchange
import HybridPrimitives
import HybridTPM
import Synchronization
import TestSupport
import Testing

@testable import HybridVault

/// All writes are recorded, and every prefix is replayed on an empty disk: completely, as after `kill -9`, and only the
/// synced part, as after a power cut.
@Suite("Power cuts", .serialized)
struct DurabilityTests {
    private let site: RelyingPartyID

    init() throws { site = try #require(RelyingPartyID("example.com")) }

    @Test("Creating, adding, renaming, deleting, recording a use: everything confirmed persists")
    func records() async throws {
        let fixture = try VaultFixture()
        let recording = Recording(fixture)
        _ = try recording.perform { try fixture.createWithoutPIN() }
        let files = try fixture.open().files
        recording.confirm { $0.vaultExists = true }
        for user in ["ada", "bob", "cy"] {
            let body = PasskeyBody(try .fresh(user: user), order: 1, created: 1)
            recording.begin { $0.undecided.insert(user) }
            try recording.perform {
                try files.write(key: fixture.key) { _ in
                    (.random(), RecordBody(kind: RecordBody.passkey, members: body.members))
                }
            }
            recording.confirm {
                $0.accounts.insert(user)
                $0.undecided = []
            }
        }
        let records = try files.records(key: fixture.key)
        let all = records.passkeys
        let bob = try #require(all.first { $0.body.user?.name == "bob" })
        var renamed = try #require(records.reveal(bob.id))
        renamed.rename(name: "robert", displayName: "")
        recording.begin { $0.undecided.formUnion(["bob", "robert"]) }
        try recording.perform {
            try files.write(key: fixture.key) { _ in
                (bob.id, RecordBody(kind: RecordBody.passkey, members: renamed.members))
            }
        }
        recording.confirm {
            $0.accounts.remove("bob")
            $0.accounts.insert("robert")
            $0.undecided = []
        }
        let cy = try #require(all.first { $0.body.user?.name == "cy" })
        recording.begin { $0.undecided.insert("cy") }
        try recording.perform { try files.write(key: fixture.key) { _ in (cy.id, .deletion) } }
        recording.confirm {
            $0.accounts.remove("cy")
            $0.undecided = []
        }
        let use = PasskeyUse(time: 1, relyingParty: site, operation: .signIn, outcome: .done, record: nil)
        for _ in 0..<3 {
            try recording.perform { try files.append(use, key: fixture.key) }
            recording.confirm { $0.uses += 1 }
        }
        try await recording.replay()
    }

    @Test("Importing: each passkey exists or not, the vault opens at every step, and a second import continues")
    func importing() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh(user: "ada"))
        let files = unlocked.files
        let recording = try await Recording(fixture, onTopOf: true)
        recording.confirm {
            $0.vaultExists = true
            $0.accounts = ["ada"]
        }
        let new = ["bob0", "cy00", "dan0"]
        let credentials = new.map { Exchange.passkey(["credentialId": "\"\($0)\"", "username": "\"\($0)\""]) }
        let file = try ExchangeFile(json: Exchange.document(credentials: credentials.joined(separator: ",")))
        recording.begin { $0.undecided = Set(new) }
        try recording.perform { _ = try files.add(file.passkeys, key: fixture.key) }
        recording.confirm {
            $0.accounts.formUnion(new)
            $0.undecided = []
        }
        try recording.perform { _ = try files.add(file.passkeys, key: fixture.key) }
        try await recording.replay()
    }

    @Test("Signals: the vault opens at every step with all passkeys, and a second call makes the rest")
    func signals() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        let users = ["ada", "bob", "cy"]
        for user in users { try await unlocked.add(.fresh(user: user)) }
        let files = unlocked.files
        let recording = try await Recording(fixture, onTopOf: true)
        recording.confirm {
            $0.vaultExists = true
            $0.accounts = Set(users)
        }
        let signals = try users.map { user -> PasskeySignal in
            .allAcceptedCredentials(site, try #require(UserHandle(bytes: Array(user.utf8))), [])
        }
        let changes = try await unlocked.changes(for: signals)
        #expect(changes.count == 3)
        #expect(try recording.perform { try files.make(changes, key: fixture.key) } == 3)
        try await recording.replay()
    }

    @Test("A slot, a backup and a rekey: the vault opens at every step, with one key or the other")
    func rekeying() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let unlocked = try fixture.unlock()
        for user in ["ada", "bob", "gone"] { try await unlocked.add(.fresh(user: user)) }
        try await unlocked.delete(try #require(try await unlocked.summaries().first).record)
        try await unlocked.recordUse(for: site, .signIn, .done)
        try await unlocked.addPassphrase(.typed(), replacing: false)
        let files = try fixture.open().files
        let recording = try await Recording(fixture, onTopOf: true)
        recording.confirm {
            $0.vaultExists = true
            $0.accounts = ["ada", "bob"]
            $0.uses = 1
            $0.pin = "123456"
        }
        let pin = try PIN.typed("123456")
        let next = try PortableSecret.passphrase(.typed("glider museum ochre tactful banjo"))
        let key = try recording.perform {
            try files.rekey(key: fixture.key, pin: pin, secrets: [next])
        }
        try recording.perform { try files.changePIN(key: key, to: pin) }
        try recording.perform { _ = try files.accept(key: key) }
        try await recording.replay()
    }

    @Test("Enabling the TPM, changing the PIN, a rekey and disabling the TPM: the PIN opens the vault at every step")
    func tpm() async throws {
        try await TestFolder.with { folder in
            let tpm = try await SoftwareTPM(in: folder.path)
            let device = try #require(TPMAddress(configuration: tpm.configuration))
            let fixture = try VaultFixture(tpm: device)
            _ = try await fixture.create()
            let unlocked = try fixture.unlock()
            try await unlocked.add(.fresh(user: "ada"))
            try await unlocked.addPassphrase(.typed(), replacing: false)
            let files = try fixture.open().files
            let recording = try await Recording(fixture, onTopOf: true)
            recording.confirm {
                $0.vaultExists = true
                $0.accounts = ["ada"]
                $0.pin = "123456"
            }
            let pin = try PIN.typed("123456")
            let next = try PortableSecret.passphrase(.typed("glider museum ochre tactful banjo"))
            func replaceSlot(_ key: SymmetricKey, usingTPM: Bool) throws {
                try recording.perform {
                    let scrypt = Scrypt.lowest
                    try files.replaceSlot(wrapping: key, pin: pin, scrypt: scrypt, usingTPM: usingTPM)
                }
            }
            try replaceSlot(fixture.key, usingTPM: true)
            try recording.perform { try files.changePIN(key: fixture.key, to: pin) }
            #expect(files.state.protection == .tpm)
            let key = try recording.perform { try files.rekey(key: fixture.key, pin: pin, secrets: [next]) }
            #expect(files.state.protection == .tpm)
            try replaceSlot(key, usingTPM: false)
            try await recording.replay()
            #expect(try await tpm.leftovers() == "")
        }
    }
}

/// Recorded steps, and the state that was confirmed before each.
private final class Recording: Sendable {
    /// State that was confirmed as durable.
    struct Promise: Sendable {
        var vaultExists = false
        var accounts: Set<String> = []
        /// Accounts that may exist or not, because a change is in progress.
        var undecided: Set<String> = []
        var uses = 0
        /// The PIN; without one, the vault is opened with its key.
        var pin: String?
    }

    private struct Content {
        var steps: [(step: FileStep, promise: Promise)] = []
        var promise = Promise()
    }

    private let fixture: VaultFixture
    private let before: String?
    private let content = Mutex(Content())

    init(_ fixture: VaultFixture) {
        self.fixture = fixture
        before = nil
    }

    /// Starts from the present files.
    init(_ fixture: VaultFixture, onTopOf: Bool) async throws {
        self.fixture = fixture
        let path = fixture.root + "-before"
        try await FileSystem.run("cp", "-a", fixture.root, path)
        before = path
    }

    deinit { if let before { try? FileManager.default.removeItem(atPath: before) } }

    func perform<Value>(_ body: () throws -> Value) throws -> Value {
        try FileStep.$recorder.withValue(
            { [self] step in content.withLock { $0.steps.append((step, $0.promise)) } },
            operation: body
        )
    }

    func begin(_ change: (inout Promise) -> Void) { content.withLock { change(&$0.promise) } }
    func confirm(_ change: (inout Promise) -> Void) { content.withLock { change(&$0.promise) } }

    /// Replays every prefix in four ways and opens the vault each time.
    func replay() async throws {
        var random = SeededGenerator()
        let (steps, last) = content.withLock { ($0.steps, $0.promise) }
        #expect(steps.count > 20)
        var opened = 0
        // Each run begins at another step, so that repeated runs cover all.
        let stride = Thoroughness.isFull ? 1 : last.pin == nil ? 5 : 12
        var lengths = Array(Swift.stride(from: random.number(0...(stride - 1)), through: steps.count, by: stride))
        if lengths.last != steps.count { lengths.append(steps.count) }
        for length in lengths {
            let promise = length < steps.count ? steps[length].promise : last
            for loss in Loss.allCases {
                let disk = Disk(steps.prefix(length).map(\.step), loss, &random)
                let place = try VaultFixture(key: fixture.key, tpm: fixture.tpm)
                if let before { try await FileSystem.run("sh", "-c", "cp -a \(before)/. \(place.root)/") }
                try disk.write(from: fixture.root, to: place.root)
                let comment: Comment = "after \(length) of \(steps.count) steps, \(loss), \(random)"
                try await Self.check(place, promise, comment)
                opened += 1
                // scrypt and copies are slow; with a PIN only the two extremes are replayed.
                if promise.pin != nil, loss == .everythingUnsynced { break }
            }
        }
        print("replayed \(steps.count) steps, \(opened) vaults opened")
    }

    private static func check(_ place: VaultFixture, _ promise: Promise, _ comment: Comment) async throws {
        let unlocked: UnlockedVault
        do {
            if let pin = promise.pin {
                unlocked = try await place.open(pin: pin)
            } else {
                unlocked = try place.unlock()
            }
        } catch {
            // Until the vault was confirmed, there may be none or an incomplete one.
            #expect(!promise.vaultExists, "\(error) \(comment)")
            return
        }
        let accounts = Set(try await unlocked.summaries().map { $0.user?.name ?? "" })
        #expect(promise.accounts.subtracting(promise.undecided).isSubset(of: accounts), comment)
        // No deleted, renamed or unknown account exists either.
        #expect(accounts.isSubset(of: promise.accounts.union(promise.undecided)), "\(accounts) \(comment)")
        let uses = try await unlocked.uses().uses.count
        #expect(uses >= promise.uses, comment)
        #expect(unlocked.warnings.isEmpty, "\(unlocked.warnings) \(comment)")
        // The vault still works.
        if promise.pin == nil { try await unlocked.add(.fresh(user: "afterwards")) }
    }
}
