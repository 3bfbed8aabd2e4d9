// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridVault

/// A vault with a full history, on a server that kept all of it and knows every key except the last.
@Suite("A hostile sync server and a vault with old keys", .serialized)
struct HostileServerTests {
    @Test("Attacks cause a refusal or a warning, never a lost or restored passkey; work done meanwhile is kept")
    func rounds() async throws {
        var random = SeededGenerator()
        let lived = try await LivedVault.make()
        var (opened, refused, worked) = (0, 0, 0)
        for round in 0..<Thoroughness.rounds(40, thorough: 400) {
            let fixture = try await lived.copy()
            var deeds: [String] = []
            var isHarmless = true
            for _ in 0..<random.number(1...4) {
                let deed = try await lived.attack(fixture.vault, &random)
                deeds.append(deed.words)
                isHarmless = isHarmless && deed.isHarmless
            }
            var expected = lived.names
            var comment: Comment { "round \(round): \(deeds), \(random)" }
            let before = try Self.contents(fixture.vault)
            var vault: UnlockedVault?
            do {
                let unlocked = try fixture.unlock()
                // A vault that opens has exactly the original contents.
                #expect(try await VaultFixture.names(unlocked) == expected.values.sorted(), comment)
                opened += 1
                vault = unlocked
                let deed = try await Self.work(unlocked, lived, &expected, &random)
                deeds.append(deed)
                #expect(try await VaultFixture.names(unlocked) == expected.values.sorted(), comment)
                worked += 1
            } catch let error as VaultError {
                refused += 1
                #expect(!isHarmless, "\(error) \(comment)")
                #expect(!error.sentence.isEmpty && !error.sentence.contains("\n"), comment)
            }
            // Restores the original files, plus those that this device has written meanwhile.
            let written = try Self.contents(fixture.vault).filter { before[$0.key] != $0.value }
            try await FileSystem.run(
                "sh",
                "-c",
                "rm -rf \(fixture.vault) && cp -a \(lived.fixture.vault) \(fixture.vault)"
            )
            for (path, content) in written {
                let folder = path.split(separator: "/").dropLast().joined(separator: "/")
                try await FileSystem.run("mkdir", "-p", "-m", "700", fixture.vault + "/" + folder)
                try FileSystem.write(fixture.vault + "/" + path, content)
            }
            let key = try await vault?.perform { key, _ in key } ?? fixture.key
            let files = try fixture.open().files
            let records = try files.records(key: key)
            let found = records.passkeys.map { $0.body.user?.name ?? "" }.sorted()
            #expect(found == expected.values.sorted(), comment)
        }
        print("hostile rounds: \(opened) opened, \(worked) worked on, \(refused) refused")
        #expect(opened > 0 && refused > 0 && worked > 0)
    }

    /// Performs a random command of a user who has noticed nothing, and returns its name.
    private static func work(
        _ vault: UnlockedVault,
        _ lived: LivedVault,
        _ expected: inout [RecordID: String],
        _ random: inout SeededGenerator
    ) async throws -> String {
        let entries = try await vault.summaries()
        let entry = entries[random.number(0...(entries.count - 1))]
        switch random.number(0...6) {
        case 0:
            try await vault.add(.fresh(user: "new"))
            let new = try #require(try await vault.summaries().first { $0.user?.name == "new" })
            expected[new.record] = "new"
            return "added"
        case 1:
            try await vault.rename(entry.record, name: "renamed", displayName: "")
            expected[entry.record] = "renamed"
            return "renamed"
        case 2:
            try await vault.delete(entry.record)
            expected[entry.record] = nil
            return "deleted"
        case 3:
            try await vault.recordUse(for: try #require(entry.relyingParty), .signIn, .done)
            return "used"
        case 4:
            try await vault.addPassphrase(
                .typed("lagoon pewter thimble oxygen quarry"),
                replacing: random.number(0...1) == 0
            )
            return "added a passphrase"
        case 5:
            let backup = try await VaultBackup.read(lived.backup)
            let difference = try await vault.difference(merging: backup)
            // Nothing is missing, so there is nothing to accept; the backup is older than all later work.
            #expect(difference.isEmpty, "\(difference)")
            try await vault.merge(backup, expecting: difference)
            return "united with a backup from under the key before"
        default:
            try await vault.rekey(
                pin: .typed(LivedVault.pin),
                passphrase: nil,
                recoveryCode: nil
            )
            return "rekeyed"
        }
    }

    /// Returns every file below a folder.
    private static func contents(_ root: String) throws -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        for path in try ConvergenceTests.files(in: root) { contents[path] = try FileSystem.read(root + "/" + path) }
        return contents
    }
}

/// A vault with all kinds of content, and the server's copies of it.
private struct LivedVault {
    static let pin = "123456"

    /// The present vault, under the third key.
    let fixture: VaultFixture
    /// Copies from under each previous key.
    let past: [VaultFixture]
    /// The previous keys, which were stolen.
    let stolen: [SymmetricKey]
    let identity: VaultIdentity
    /// A backup from under the second key.
    let backup: String
    /// Accounts by record.
    let names: [RecordID: String]

    static func make() async throws -> LivedVault {
        let fixture = try VaultFixture()
        _ = try await fixture.create(pin: pin, isTest: false)
        let vault = try fixture.unlock()
        func rename(_ name: String, to other: String) async throws {
            let record = try #require(try await vault.summaries().first { $0.user?.name == name }).record
            try await vault.rename(record, name: other, displayName: "")
        }
        func delete(_ name: String) async throws {
            try await vault.delete(try #require(try await vault.summaries().first { $0.user?.name == name }).record)
        }
        func rekey(_ text: String) async throws {
            try await vault.rekey(
                pin: .typed(pin),
                passphrase: .typed(text),
                recoveryCode: .random()
            )
        }
        for user in ["ada", "bob", "cy", "dan", "gone"] { try await vault.add(.fresh(user: user)) }
        try await vault.addPassphrase(.typed(), replacing: false)
        try await vault.addRecoveryCode(.random(), replacing: false)
        try await vault.recordUse(for: try #require(RelyingPartyID("example.com")), .signIn, .done)
        let first = try await fixture.copy()
        try await delete("gone")
        try await rename("bob", to: "robert")
        try await rekey("glider museum ochre tactful banjo")
        try await vault.add(.fresh(user: "eve"))
        let backup = fixture.root + "/backup"
        try await vault.backUp(to: backup)
        let second = try await fixture.copy()
        let stolen = try await vault.perform { key, _ in key }
        try await delete("cy")
        try await rename("dan", to: "daniel")
        try await rekey("violin harvest copper meadow lantern")
        try await vault.add(.fresh(user: "fay"))
        try await vault.merge(VaultBackup.read(backup), expecting: nil)
        try await vault.recordUse(for: try #require(RelyingPartyID("example.com")), .signIn, .declined)
        let names = try await vault.summaries().map { ($0.record, $0.user?.name ?? "") }
        #expect(names.map(\.1).sorted() == ["ada", "daniel", "eve", "fay", "robert"])
        let now = try VaultFixture(key: await vault.perform { key, _ in key })
        try await FileSystem.run("cp", "-a", fixture.vault, fixture.state, backup, now.root)
        return LivedVault(
            fixture: now,
            past: [first, second],
            stolen: [fixture.key, stolen],
            identity: try fixture.open().files.identity,
            backup: now.root + "/backup",
            names: Dictionary(uniqueKeysWithValues: names)
        )
    }

    /// Returns a copy of the present vault with this device's state, as a target.
    func copy() async throws -> VaultFixture { try await fixture.copy(withState: true) }

    /// Performs one attack of a server that can do everything except break the last key.
    ///
    /// Attacks that only add files are harmless: the vault opens and works.
    func attack(_ vault: String, _ random: inout SeededGenerator) async throws -> (words: String, isHarmless: Bool) {
        switch random.number(0...5) {
        case 0: return (try await plantRecord(vault, &random), true)
        case 1: return (try await plantLink(vault, &random), true)
        case 2: return (try await plantSlot(vault, &random), true)
        case 3:
            // A symbolic link may be in place of a folder.
            let past = past[random.number(0...1)].vault
            try await FileSystem.run("sh", "-c", "cp -rn \(past)/. \(vault)/ 2> /dev/null || true")
            return ("brought the past back beside the present", true)
        case 4: return (try await plantDebris(vault, &random), true)
        default: return (try await takeOrChange(vault, &random), false)
        }
    }

    private func takeOrChange(_ vault: String, _ random: inout SeededGenerator) async throws -> String {
        let files = try ConvergenceTests.files(in: vault)
        guard let one = files.randomElement(using: &random) else { return "nothing left" }
        let folder = ["records", "slots", "keys", "uses"][random.number(0...3)]
        let before = past[random.number(0...1)].vault
        switch random.number(0...9) {
        case 0:
            try await FileSystem.run("rm", "\(vault)/\(one)")
            return "withheld \(one)"
        case 1:
            try await FileSystem.run("rm", "-rf", "\(vault)/\(folder)")
            return "withheld \(folder)"
        case 2:
            try await FileSystem.run(
                "sh",
                "-c",
                "rm -rf \(vault)/\(folder); cp -a \(before)/\(folder) \(vault)/ || true"
            )
            return "replayed \(folder)"
        case 3:
            try await FileSystem.run("sh", "-c", "rm -rf \(vault)/*; cp -a \(before)/. \(vault)/")
            return "replayed all"
        case 4:
            var bytes = try FileSystem.read("\(vault)/\(one)")
            guard !bytes.isEmpty else { return "flipped nothing" }
            bytes[random.number(0...(bytes.count - 1))] ^= UInt8(random.number(1...255))
            try FileSystem.write("\(vault)/\(one)", bytes)
            return "flipped \(one)"
        case 5:
            let other = files[random.number(0...(files.count - 1))]
            let bytes = try FileSystem.read("\(vault)/\(one)")
            try FileSystem.write("\(vault)/\(one)", try FileSystem.read("\(vault)/\(other)"))
            try FileSystem.write("\(vault)/\(other)", bytes)
            return "swapped \(one) and \(other)"
        case 6: return try changeIdentity(vault, &random)
        case 7:
            // Excess names, each for another limit.
            try await FileSystem.run("mkdir", "-p", "\(vault)/\(folder)")
            try await FileSystem.run("sh", "-c", "cd \(vault)/\(folder) && seq -f '%032.0f' 1 200 | xargs touch")
            return "flooded \(folder)"
        case 8:
            // A folder of its own, because later attacks of the same round follow the link.
            let elsewhere = vault + "-elsewhere"
            try await FileSystem.run("sh", "-c", "rm -rf \(elsewhere); cp -a \(before) \(elsewhere)")
            try await FileSystem.run(
                "sh",
                "-c",
                "rm -rf \(vault)/\(folder); ln -s ../vault-elsewhere \(vault)/\(folder)"
            )
            return "made \(folder) a link"
        default:
            try await FileSystem.run("truncate", "-s", "\(random.number(0...9_000_000))", "\(vault)/\(one)")
            return "resized \(one)"
        }
    }

    /// Writes what a thief of an older key can write: a deletion, a forged passkey, a revision that none can follow.
    private func plantRecord(_ vault: String, _ random: inout SeededGenerator) async throws -> String {
        let records = names.keys.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        let id = random.number(0...3) == 0 ? RecordID.random() : records[random.number(0...(records.count - 1))]
        let device = try #require(DeviceID(bytes: random.bytes(8)))
        let counter = [1, 2, 50, UInt64.max - 1, UInt64.max][random.number(0...4)]
        let members = PasskeyBody(try .fresh(user: "forged"), order: .max, created: 1).members
        let body = random.number(0...1) == 0 ? .deletion : RecordBody(kind: RecordBody.passkey, members: members)
        let file = RecordFile(
            sealing: body,
            id: id,
            revision: Revision(counter: counter, device: device),
            key: stolen[random.number(0...1)],
            identity: identity
        )
        let planted = try #require(file)
        try await FileSystem.run("mkdir", "-p", "-m", "700", "\(vault)/records/\(id)")
        try FileSystem.write("\(vault)/records/\(id)/\(planted.revision.fileName)", planted.bytes)
        return "planted a \(body.kind == RecordBody.tombstone ? "deletion" : "passkey") of counter \(counter)"
    }

    /// Writes a file with the name of a revision that opens under no key.
    private func plantDebris(_ vault: String, _ random: inout SeededGenerator) async throws -> String {
        let records = names.keys.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        let id = random.number(0...1) == 0 ? RecordID.random() : records[random.number(0...(records.count - 1))]
        let name = "\(random.number(1...9))-\(Hex.encode(random.bytes(8)))"
        try await FileSystem.run("mkdir", "-p", "-m", "700", "\(vault)/records/\(id)")
        try FileSystem.write("\(vault)/records/\(id)/\(name)", random.bytes(random.number(0...2000)))
        return "planted debris"
    }

    /// Writes a link to a key of the thief, from a stolen key or with a forged MAC from the last.
    private func plantLink(_ vault: String, _ random: inout SeededGenerator) async throws -> String {
        let thief = SymmetricKey(size: .bits256)
        var link = try KeyLink(from: stolen[random.number(0...1)], to: thief, identity: identity).bytes
        let pretends = random.number(0...1) == 0
        if pretends { link.replaceSubrange(43..<59, with: VaultKeyID(of: fixture.key, identity: identity).bytes) }
        try await FileSystem.run("mkdir", "-p", "-m", "700", "\(vault)/keys")
        try FileSystem.write("\(vault)/keys/\(Hex.encode(random.bytes(16)))-\(Hex.encode(random.bytes(16)))", link)
        return pretends ? "forged a link from the last key" : "linked a stolen key to another"
    }

    /// Writes slots that open with a secret of the thief, for a stolen key, under a new ID or that of an authentic
    /// slot.
    private func plantSlot(_ vault: String, _ random: inout SeededGenerator) async throws -> String {
        let genuine =
            (try? FileSystem.names(vault + "/slots"))?.compactMap { Hex.decode($0, length: 16, lowercaseOnly: true) }
            ?? []
        let takes = !genuine.isEmpty && random.number(0...1) == 0
        let slot = try PortableSlot(
            wrapping: stolen[random.number(0...1)],
            secret: .passphrase(.typed("known")),
            identity: identity,
            scrypt: Scrypt.lowest,
            id: takes ? genuine[random.number(0...(genuine.count - 1))] : random.bytes(16)
        )
        try await FileSystem.run("mkdir", "-p", "-m", "700", "\(vault)/slots")
        try FileSystem.write("\(vault)/slots/\(slot.fileName)\(takes ? " (copy)" : "")", slot.bytes)
        return takes ? "planted a slot under another's ID" : "planted a slot"
    }

    /// Writes `vault.json` of another vault, kind or time, or none.
    private func changeIdentity(_ vault: String, _ random: inout SeededGenerator) throws -> String {
        let text = identity.text
        let texts = [
            VaultIdentity(id: identity.id, isTest: !identity.isTest).text, VaultIdentity.random(isTest: false).text,
            text.replacing("\"format\":1", with: "\"format\":2"), String(text.dropLast()), " " + text, "",
        ]
        let chosen = texts[random.number(0...(texts.count - 1))]
        try FileSystem.write(vault + "/vault.json", Array(chosen.utf8))
        return "wrote vault.json \(chosen)"
    }
}
