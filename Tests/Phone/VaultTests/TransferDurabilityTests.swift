// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Glibc
import HybridAuthenticator
import HybridPrimitives
import Synchronization
import TestSupport
import Testing

@testable import HybridVault

/// The writes of both sides of a transfer are recorded, and every prefix is replayed: completely, as after `kill -9`, and
/// only the synced part, as after a power cut of both devices.
@Suite("Power cuts during a transfer", .serialized)
struct TransferDurabilityTests {
    private static let users = ["ada", "bob", "cy"]

    @Test(
        "At every step, both vaults together have every passkey, none twice in one, and a second transfer completes it",
        arguments: [false, true]
    )
    func transfer(isMove: Bool) async throws {
        let pair = try VaultPair()
        let giver = try pair.giver.unlock()
        for user in Self.users { try await giver.add(.fresh(user: user)) }
        try await pair.receiver.unlock().add(.fresh(user: "dan"))
        let before = try Before(pair)
        let steps = Mutex<[FileStep]>([])
        try FileStep.$recorder.withValue(
            { step in steps.withLock { $0.append(step) } },
            operation: { try pair.give(moving: isMove, size: 2) }
        )
        var random = SeededGenerator()
        let all = steps.withLock { $0 }
        #expect(all.count > 60)
        let lengths = Self.lengths(all.count, &random)
        for length in lengths {
            for loss in Loss.allCases {
                let disk = Disk(Array(all.prefix(length)), loss, &random)
                let place = try before.restored(with: disk, from: pair)
                let comment: Comment = "after \(length) of \(all.count) steps, \(loss), \(random)"
                try await Self.check(place, isMove, isDone: length == all.count, comment)
            }
        }
        print("replayed \(all.count) steps of both sides, \(lengths.count * Loss.allCases.count) times")
    }

    @Test("Joining with a key from another device: the PIN opens the vault, or there is none yet")
    func joining() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        for user in Self.users { try await unlocked.add(.fresh(user: user)) }
        let material = try await unlocked.keyMaterial()
        let other = try VaultFixture(key: fixture.key)
        let steps = Mutex<[FileStep]>([])
        let pin = try PIN.typed("654321")
        try FileStep.$recorder.withValue(
            { step in steps.withLock { $0.append(step) } },
            operation: { try Vault.joinNow(with: material, at: other.location, pin: pin) }
        )
        var random = SeededGenerator()
        let all = steps.withLock { $0 }
        for length in Self.lengths(all.count, &random) {
            for loss in Loss.allCases {
                let disk = Disk(Array(all.prefix(length)), loss, &random)
                let place = try VaultFixture(key: fixture.key)
                try disk.write(from: other.root, to: place.root)
                let comment: Comment = "after \(length) of \(all.count) steps, \(loss), \(random)"
                // The sync brings the files afterwards.
                rmdir(place.vault)
                try FileManager.default.copyItem(atPath: fixture.vault, toPath: place.vault)
                if (try? Vault.status(at: place.location).hasPIN) != true {
                    #expect(length < all.count, comment)
                    try Vault.joinNow(with: material, at: place.location, pin: pin)
                }
                // Deriving the key is slow.
                guard loss == .everythingUnsynced else { continue }
                #expect(try await VaultFixture.names(place.open(pin: "654321")) == Self.users, comment)
            }
        }
    }

    /// Returns the numbers of steps after which the vaults are opened; repeated runs cover all.
    private static func lengths(_ count: Int, _ random: inout SeededGenerator) -> [Int] {
        let stride = Thoroughness.isFull ? 1 : 4
        let lengths = Array(Swift.stride(from: random.number(0...(stride - 1)), through: count, by: stride))
        return lengths.last == count ? lengths : lengths + [count]
    }

    /// The files of both devices before a transfer.
    private struct Before {
        let giver: VaultFixture
        let receiver: VaultFixture

        init(_ pair: VaultPair) throws {
            giver = try VaultFixture(key: pair.giver.key)
            receiver = try VaultFixture(key: pair.receiver.key)
            for (from, to) in [(pair.giver, giver), (pair.receiver, receiver)] {
                try Self.copy(from, to)
            }
        }

        private static func copy(_ from: VaultFixture, _ to: VaultFixture) throws {
            try FileManager.default.copyItem(atPath: from.vault, toPath: to.vault)
            try FileManager.default.copyItem(atPath: from.state, toPath: to.state)
        }

        func restored(with disk: Disk, from pair: VaultPair) throws -> VaultPair {
            let place = VaultPair(
                giver: try VaultFixture(key: giver.key),
                receiver: try VaultFixture(key: receiver.key)
            )
            for (old, before, new) in [
                (pair.giver, giver, place.giver), (pair.receiver, receiver, place.receiver),
            ] {
                try Self.copy(before, new)
                try disk.write(from: old.root, to: new.root)
            }
            return place
        }
    }

    private static func check(_ place: VaultPair, _ isMove: Bool, isDone: Bool, _ comment: Comment) async throws {
        let (giver, receiver) = (try place.giver.unlock(), try place.receiver.unlock())
        let (there, here) = (try await VaultFixture.names(giver), try await VaultFixture.names(receiver))
        #expect(Set(there).union(here) == Set(users + ["dan"]), "\(there) \(here) \(comment)")
        #expect(Set(there).count == there.count && Set(here).count == here.count, "\(there) \(here) \(comment)")
        if isDone { #expect(here == users + ["dan"] && there == (isMove ? [] : users), comment) }
        try place.give(moving: isMove)
        #expect(try await VaultFixture.names(receiver) == users + ["dan"], comment)
        #expect(try await VaultFixture.names(giver) == (isMove ? [] : users), comment)
        let warnings = try place.giver.unlock().warnings + place.receiver.unlock().warnings
        #expect(warnings.isEmpty, "\(warnings) \(comment)")
    }
}
