// SPDX-License-Identifier: Apache-2.0

import Crypto
import ExchangeTestSupport
import Glibc
import HybridAuthenticator
import HybridCBOR
import HybridCTAP
import HybridCredentialExchange
import HybridPrimitives
import Synchronization
import TestSupport
import Testing

@testable import HybridVault

/// Both vaults of a transfer, without what is between them.
struct VaultPair {
    let giver: VaultFixture
    let receiver: VaultFixture

    init() throws {
        giver = try VaultFixture()
        receiver = try VaultFixture()
        try giver.createWithoutPIN()
        try receiver.createWithoutPIN()
    }

    init(giver: VaultFixture, receiver: VaultFixture) { (self.giver, self.receiver) = (giver, receiver) }

    /// Gives all passkeys, the oldest first, in batches of at most `size`.
    ///
    /// It runs on the caller's thread, so that the steps of both sides are recorded.
    func give(moving isMove: Bool, size: Int = 64) throws {
        let (from, to) = (try giver.open().files, try receiver.open().files)
        let records = Set(try from.records(key: giver.key).passkeys.map(\.id))
        let gift = try from.gift(of: records, key: giver.key)
        var rest = gift.passkeys[...]
        while !rest.isEmpty {
            let file = try ExchangeFile(json: ExchangeFile.document(of: Array(rest.prefix(size))))
            rest = rest.dropFirst(size)
            let result = try to.receive(file, from: "Ada's laptop", key: receiver.key)
            let confirmed = file.passkeys.map(\.id).filter { result.stored.contains($0) }
            _ = try from.given(confirmed, of: gift, to: "Bob's phone", moving: isMove, key: giver.key)
        }
    }
}

extension ExchangeFile {
    /// Returns a document as it travels between two vaults.
    static func document(of passkeys: [ExchangedPasskey]) -> [UInt8] {
        var writer = JSONWriter()
        let items = passkeys.map { (item: [UInt8].random(16), passkey: $0) }
        ExchangeDocument.write(items, account: .random(16), time: 1, to: &writer)
        return writer.bytes
    }
}

@Suite("Passkeys for another vault")
struct TransferTests {
    @Test("every member of every record arrives, and a second transfer adds nothing")
    func roundTrip() async throws {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(6, thorough: 100) {
            let pair = try VaultPair()
            let (giver, receiver) = (try pair.giver.unlock(), try pair.receiver.unlock())
            for _ in 0..<random.number(1...8) { try await giver.put(Exchange.randomBody(&random)) }
            try pair.give(moving: false, size: random.number(1...4))
            let before = try Exchange.bodies(giver, pair.giver.key)
            #expect(try Exchange.bodies(receiver, pair.receiver.key) == before, "\(random)")
            let records = try await receiver.summaries()
            try pair.give(moving: false)
            #expect(try await receiver.summaries() == records, "\(random)")
            #expect(try Exchange.bodies(giver, pair.giver.key) == before, "\(random)")
        }
    }

    @Test("passkeys that move are deleted here for good, and both histories name the other side")
    func moving() async throws {
        let pair = try VaultPair()
        let (giver, receiver) = (try pair.giver.unlock(), try pair.receiver.unlock())
        for user in ["ada", "bob", "cy"] { try await giver.add(.fresh(user: user)) }
        try pair.give(moving: true, size: 2)
        #expect(try await giver.summaries().isEmpty)
        #expect(try await VaultFixture.names(receiver) == ["ada", "bob", "cy"])
        let (given, received) = (try await giver.uses().uses, try await receiver.uses().uses)
        #expect(given.map(\.operation) == [.give, .give, .give] && Set(given.map(\.peer)) == ["Bob's phone"])
        #expect(received.map(\.operation) == [.receive, .receive, .receive])
        #expect(Set(received.map(\.peer)) == ["Ada's laptop"])
        let records = Set(try await receiver.summaries().map(\.record))
        #expect(Set(received.compactMap(\.record)) == records)
        // And back again, although the deleted records stay deleted.
        try VaultPair(giver: pair.receiver, receiver: pair.giver).give(moving: true)
        #expect(try await VaultFixture.names(giver) == ["ada", "bob", "cy"])
        #expect(try await receiver.summaries().isEmpty)
    }

    @Test("SSH keys, passkeys of one device and unusable ones are withheld; the first two on request are not")
    func withheld() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh(user: "ada"))
        try await unlocked.add(.fresh(rp: "ssh:work", user: "key"))
        try await unlocked.add(.fresh(user: "bound", isBackupEligible: false))
        var later = PasskeyBody(try .fresh(user: "later"), order: 9, created: 1).members
        later["alg"] = -8
        try await unlocked.put(later)
        func reasons(givingAll isComplete: Bool) async throws -> [String: WithheldReason?] {
            let pairs = try await unlocked.summaries().map { passkey in
                (passkey.user?.name ?? "", WithheldReason(passkey, givingAll: isComplete))
            }
            return Dictionary(uniqueKeysWithValues: pairs)
        }
        let careful: [String: WithheldReason?] = [
            "ada": nil, "key": .sshKey, "bound": .oneDevice, "later": .unusable,
        ]
        #expect(try await reasons(givingAll: false) == careful)
        let complete: [String: WithheldReason?] = ["ada": nil, "key": nil, "bound": nil, "later": .unusable]
        #expect(try await reasons(givingAll: true) == complete)
    }

    @Test("a gift has the chosen passkeys, the oldest first, without deleted ones, and one for each site and ID")
    func chosen() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        for user in ["ada", "bob", "cy", "dan"] { try await unlocked.add(.fresh(user: user)) }
        let records = Dictionary(
            uniqueKeysWithValues: try await unlocked.summaries().map { ($0.user?.name ?? "", $0.record) }
        )
        let chosen = Set(["ada", "cy", "dan"].compactMap { records[$0] })
        #expect(try await unlocked.gift(of: chosen).passkeys.map(\.passkey.user.name) == ["ada", "cy", "dan"])
        try await unlocked.delete(try #require(records["cy"]))
        #expect(try await unlocked.gift(of: chosen).passkeys.map(\.passkey.user.name) == ["ada", "dan"])
        let twin = try Passkey.fresh(user: "twin")
        for order: UInt64 in [8, 9] {
            try await unlocked.put(PasskeyBody(twin, order: order, created: 1).members)
        }
        let twins = Set(try await unlocked.summaries().filter { $0.credential == twin.id }.map(\.record))
        let gift = try await unlocked.gift(of: twins)
        #expect(twins.count == 2 && gift.passkeys.count == 1 && "\(gift)" == "PasskeyGift(hidden)")
        let result = try await unlocked.given(gift.passkeys.map(\.id), of: gift, to: "x", moving: true)
        #expect(result == GivenPasskeys(deleted: 2, changed: [], historyFailure: nil), "equal twins move together")
        let foreign = ExchangedPasskey.ID(relyingParty: twin.relyingParty, credential: try Passkey.fresh().id)
        #expect(try await unlocked.given([foreign], of: gift, to: "x", moving: true).deleted == 0)
        #expect(try await VaultFixture.names(unlocked) == ["ada", "bob", "dan"])
    }

    @Test("a passkey that changed here after it was given is not deleted, nor is a twin with a different key")
    func changed() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        for user in ["ada", "bob"] { try await unlocked.add(.fresh(user: user)) }
        var twin = PasskeyBody(try .fresh(user: "twin"), order: 0, created: 1).members
        let summaries = try await unlocked.summaries()
        twin["id"] = .bytes(try #require(summaries.first { $0.user?.name == "bob" }?.credential?.bytes))
        try await unlocked.put(twin)
        let ada = try #require(summaries.first { $0.user?.name == "ada" }).record
        let gift = try await unlocked.gift(of: Set(try await unlocked.summaries().map(\.record)))
        #expect(gift.passkeys.count == 2)
        try await unlocked.rename(ada, name: "new", displayName: "New")
        let result = try await unlocked.given(gift.passkeys.map(\.id), of: gift, to: "x", moving: true)
        #expect(result.deleted == 1 && result.changed.count == 1)
        #expect(try await VaultFixture.names(unlocked) == ["new", "twin"])
        // Given again, it moves.
        let again = try await unlocked.gift(of: [ada])
        let moved = try await unlocked.given(again.passkeys.map(\.id), of: again, to: "x", moving: true)
        #expect(moved == GivenPasskeys(deleted: 1, changed: [], historyFailure: nil))
    }

    @Test("a passkey whose secret the other vault lacks is not deleted at the giver", arguments: [false, true])
    func secrets(hasOther: Bool) async throws {
        let pair = try VaultPair()
        let (giver, receiver) = (try pair.giver.unlock(), try pair.receiver.unlock())
        let passkey = try Passkey.fresh(user: "ada")
        var members = PasskeyBody(passkey, order: 1, created: 1).members
        if hasOther { members["prf"] = .bytes(.random(32)) }
        try await receiver.put(members)
        members["prf"] = .bytes(.random(32))
        try await giver.put(members)
        try pair.give(moving: true)
        #expect(try await VaultFixture.names(giver) == ["ada"])
        #expect(try await receiver.summaries().count == 1)
    }

    @Test("a passkey with another key stays as it is and is not confirmed, so that it is not deleted at the giver")
    func different() async throws {
        let pair = try VaultPair()
        let (giver, receiver) = (try pair.giver.unlock(), try pair.receiver.unlock())
        let passkey = try Passkey.fresh(user: "theirs")
        try await giver.add(passkey)
        try await giver.add(.fresh(user: "other"))
        var other = PasskeyBody(try .fresh(user: "mine"), order: 1, created: 1).members
        other["id"] = .bytes(passkey.id.bytes)
        try await receiver.put(other)
        try pair.give(moving: true)
        #expect(try await VaultFixture.names(giver) == ["theirs"])
        #expect(try await VaultFixture.names(receiver) == ["mine", "other"])
    }

    @Test("a passkey that comes twice is stored once; with two keys, it is confirmed for neither")
    func doubled() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let files = try fixture.open().files
        let passkey = try Passkey.fresh()
        var bodies = [PasskeyBody(passkey, order: 1, created: 1), PasskeyBody(passkey, order: 1, created: 1)]
        let same = try ExchangeFile(json: ExchangeFile.document(of: bodies.compactMap(\.exchanged)))
        let result = try files.receive(same, from: "x", key: fixture.key)
        #expect(result.added == 1 && result.present.count == 1 && result.stored.count == 1)
        #expect(try await fixture.unlock().summaries().count == 1)
        let (one, other) = (try Passkey.fresh(), try Passkey.fresh())
        var members = PasskeyBody(other, order: 1, created: 1).members
        members["id"] = .bytes(one.id.bytes)
        bodies = [PasskeyBody(one, order: 1, created: 1), PasskeyBody(members: members)]
        let different = try ExchangeFile(json: ExchangeFile.document(of: bodies.compactMap(\.exchanged)))
        let second = try files.receive(different, from: "x", key: fixture.key)
        #expect(second.added == 1 && second.different.count == 1 && second.stored.isEmpty)
    }

    @Test("if one passkey of a batch can't be written, none of the batch is added, and the vault still works")
    func diskFull() async throws {
        let pair = try VaultPair()
        let (giver, receiver) = (try pair.giver.unlock(), try pair.receiver.unlock())
        try await receiver.add(.fresh(user: "before"))
        for user in ["ada", "bob", "cy"] { try await giver.add(.fresh(user: user)) }
        let made = Counter()
        let refusal = await VaultFixture.refusal {
            try FileStep.$recorder.withValue(
                { step in
                    // The third record's directory is a file, which has no room for a revision.
                    guard case .madeDirectory(let path) = step, path.contains("/records/"), made.next() == 3 else {
                        return
                    }
                    _ = rmdir(path) == 0 && creat(path, 0o600) >= 0
                },
                operation: { try pair.give(moving: true) }
            )
        }
        guard case .cannotWrite? = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(try await VaultFixture.names(giver) == ["ada", "bob", "cy"])
        #expect(try await VaultFixture.names(receiver) == ["before"])
        #expect(try pair.receiver.recordFiles(skippingFiles: true).count == 1)
        try await FileSystem.run("find", pair.receiver.vault + "/records", "-maxdepth", "1", "-type", "f", "-delete")
        try pair.give(moving: true)
        #expect(try await VaultFixture.names(receiver) == ["ada", "before", "bob", "cy"])
        #expect(try await giver.summaries().isEmpty)
    }

    @Test("a long name of the other side is shortened in the history, and many uses fill several files")
    func history() async throws {
        let fixture = try VaultFixture()
        let files = try fixture.createWithoutPIN().files
        let name = "pam://" + String(repeating: "a", count: 200) + "/" + String(repeating: "b", count: 64)
        let site = try #require(RelyingPartyID(name, accepting: [.pam]))
        let uses = (0..<300).map { number in
            PasskeyUse(
                time: .max - UInt64(number),
                relyingParty: site,
                operation: .receive,
                outcome: .done,
                record: .random(),
                peer: String(repeating: "\u{1D11E}", count: 64)
            )
        }
        try files.append(uses, key: fixture.key)
        let read = try files.uses(key: fixture.key).uses
        #expect(read == uses)
        #expect(read.first?.peer == String(repeating: "\u{1D11E}", count: 32))
        let device = try #require(try FileSystem.names(fixture.vault + "/uses").first)
        #expect(try FileSystem.names(fixture.vault + "/uses/" + device) == ["1", "2"])
    }
}

/// A number that steps of a recorder count.
private final class Counter: Sendable {
    private let value = Mutex(0)

    func next() -> Int {
        value.withLock { value in
            value += 1
            return value
        }
    }
}
