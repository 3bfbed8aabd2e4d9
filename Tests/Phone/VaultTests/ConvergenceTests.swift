// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridVault

/// Copies of one vault that are edited independently and synced by various tools.
@Suite("Convergence of independent copies")
struct ConvergenceTests {
    /// Contents of a vault, on which all copies must agree.
    private struct Content: Equatable {
        var accounts: [String: String] = [:]
        var uses: [PasskeyUse] = []
    }

    /// Ways to sync files.
    private enum Carrier: CaseIterable {
        /// `cp`, rsync: existing files stay.
        case plainCopy
        /// git: like a plain copy, but empty directories vanish.
        case git
        /// Syncthing: arriving files have a conflict name, sometimes instead of their own.
        case conflictCopy
    }

    @Test("Random histories on two or three copies converge, with any sync tool and in any order")
    func converge() async throws {
        var random = SeededGenerator()
        let rounds = Thoroughness.rounds(8, thorough: 60)
        for round in 0..<rounds {
            try await history(&random, "round \(round), \(random)")
        }
    }

    private func history(_ random: inout SeededGenerator, _ comment: Comment) async throws {
        let first = try VaultFixture()
        try first.createWithoutPIN()
        var copies = [first]
        for _ in 0..<random.number(1...2) {
            let other = try await first.copy()
            try other.joinWithoutPIN()
            copies.append(other)
        }
        var deleted: Set<RecordID> = []
        var made: Set<RecordID> = []
        var uses = 0
        for step in 0..<random.number(5...25) {
            let copy = copies[random.number(0...(copies.count - 1))]
            let vault = try copy.unlock()
            let entries = try await vault.summaries()
            let entry = entries.isEmpty ? nil : entries[random.number(0...(entries.count - 1))]
            switch (random.number(0...10), entry) {
            case (0...2, _), (_, nil):
                try await vault.add(.fresh(user: "user \(step)"))
                made.formUnion(try await vault.summaries().map(\.record))
            case (3...5, let entry?):
                try await vault.rename(entry.record, name: "renamed \(step)", displayName: "")
            case (6, let entry?):
                try await vault.delete(entry.record)
                deleted.insert(entry.record)
            case (7, let entry?):
                copy.wait(1)
                let site = try #require(entry.relyingParty)
                try await vault.recordUse(for: site, .signIn, .done, credential: entry.credential)
                uses += 1
            case (10, let entry?):
                let change = SignaledChange(passkey: entry, hides: !entry.isHidden, user: nil)
                #expect(try await vault.make([change]) == 1, comment)
            default:
                let (from, to) = (random.number(0...(copies.count - 1)), random.number(0...(copies.count - 1)))
                if from != to { try await carry(from: copies[from], to: copies[to], &random) }
            }
        }
        // All pairs sync in random order until all files are everywhere.
        var pairs = copies.indices.flatMap { from in copies.indices.map { (from, $0) } }.filter { $0 != $1 }
        for _ in 0..<2 {
            pairs.shuffle(using: &random)
            for (from, to) in pairs { try await carry(from: copies[from], to: copies[to], &random) }
        }
        var contents: [Content] = []
        for copy in copies {
            let vault = try copy.unlock()
            #expect(vault.warnings.isEmpty, comment)
            var content = Content()
            for entry in try await vault.summaries() {
                content.accounts["\(entry.record)"] = "\(entry.user?.name ?? ""), hidden: \(entry.isHidden)"
            }
            content.uses = try await vault.uses().uses
            contents.append(content)
        }
        for content in contents.dropFirst() { #expect(content == contents.first, comment) }
        let living = Set(contents.first?.accounts.keys.map { $0 } ?? [])
        #expect(living == Set(made.subtracting(deleted).map { "\($0)" }), comment)
        #expect(contents.first?.uses.count == uses, comment)
    }

    /// Syncs every file of one copy to another.
    private func carry(from: VaultFixture, to: VaultFixture, _ random: inout SeededGenerator) async throws {
        let carrier = Carrier.allCases[random.number(0...(Carrier.allCases.count - 1))]
        var files = try Self.files(in: from.vault)
        files.shuffle(using: &random)
        for file in files {
            let content = try FileSystem.read(from.vault + "/" + file)
            let target = to.vault + "/" + file
            let there = try? FileSystem.read(target)
            guard there != content else { continue }
            let folder = target.prefix(upTo: try #require(target.lastIndex(of: "/")))
            try await Self.makeFolders(String(folder))
            // Only histories may differ under one name; the longer one is the later.
            if let there {
                if file.hasPrefix("uses/"), there.count < content.count { try FileSystem.write(target, content) }
                continue
            }
            switch carrier {
            case .conflictCopy where file.hasPrefix("records/") && random.number(0...2) == 0:
                try FileSystem.write(target + ".sync-conflict-20260101-101010-ABCDEFG", content)
            default: try FileSystem.write(target, content)
            }
        }
        if carrier == .git {
            for name in ["slots", "records"] where try FileSystem.names(to.vault).contains(name) {
                if try FileSystem.names(to.vault + "/" + name).isEmpty {
                    try await FileSystem.run("rmdir", to.vault + "/" + name)
                }
            }
        }
    }

    private static func makeFolders(_ path: String) async throws {
        guard (try? FileSystem.names(path)) == nil else { return }
        try await FileSystem.run("mkdir", "-p", path)
    }

    /// Returns every file below a directory except those of unfinished writes.
    static func files(in root: String, _ prefix: String = "") throws -> [String] {
        try FileSystem.names(root + "/" + prefix).flatMap { name -> [String] in
            let path = prefix + name
            guard (try? FileSystem.names(root + "/" + path)) != nil else { return [path] }
            return try files(in: root, path + "/")
        }
    }

    @Test("A hostile sync server causes a refusal or a warning, never a lost or restored passkey")
    func hostileServer() async throws {
        var random = SeededGenerator()
        let key = SymmetricKey(size: .bits256)
        for round in 0..<Thoroughness.rounds(12, thorough: 120) {
            let fixture = try VaultFixture(key: key)
            try fixture.createWithoutPIN()
            let vault = try fixture.unlock()
            for number in 0..<4 { try await vault.add(.fresh(user: "user \(number)")) }
            let past = try await fixture.copy()
            let entries = try await vault.summaries()
            try await vault.delete(entries[0].record)
            try await vault.rename(entries[1].record, name: "renamed", displayName: "")
            try await vault.recordUse(for: try #require(entries[1].relyingParty), .signIn, .done)
            let honest = try await VaultFixture.names(vault)
            let honestCopy = try await fixture.copy()
            var deeds: [String] = []
            for _ in 0..<random.number(1...4) {
                deeds.append(try await Self.attack(fixture.vault, past.vault, &random))
            }
            let comment: Comment = "round \(round): \(deeds), \(random)"
            do {
                let found = try await VaultFixture.names(fixture.unlock())
                // A vault that opens has exactly the original contents.
                #expect(found == honest, comment)
            } catch let error as VaultError {
                #expect(!error.sentence.isEmpty && !error.sentence.contains("\n"), comment)
            }
            // The attack leaves no trace: with the original files back, all is as before.
            try await FileSystem.run("sh", "-c", "rm -rf \(fixture.vault); cp -a \(honestCopy.vault) \(fixture.vault)")
            #expect(try await VaultFixture.names(fixture.unlock()) == honest, comment)
        }
    }

    /// Performs one attack of a server that can do everything except break the cryptography.
    private static func attack(_ vault: String, _ past: String, _ random: inout SeededGenerator) async throws -> String
    {
        let files = try files(in: vault).filter { $0 != "vault.json" }
        guard !files.isEmpty else { return "nothing left" }
        let (one, other) = (files[random.number(0...(files.count - 1))], files[random.number(0...(files.count - 1))])
        let (path, second) = ("\(vault)/\(one)", "\(vault)/\(other)")
        let bytes = try FileSystem.read(path)
        switch random.number(0...10) {
        case 0:
            try await FileSystem.run("rm", path)
            return "withheld \(one)"
        case 1:
            try FileSystem.write(path, Array(bytes.prefix(random.number(0...max(0, bytes.count - 1)))))
            return "truncated \(one)"
        case 2:
            guard !bytes.isEmpty else { return "flipped nothing" }
            var changed = bytes
            changed[random.number(0...(bytes.count - 1))] ^= UInt8(random.number(1...255))
            try FileSystem.write(path, changed)
            return "flipped \(one)"
        case 3:
            try FileSystem.write(path, try FileSystem.read(second))
            try FileSystem.write(second, bytes)
            return "swapped \(one) and \(other)"
        case 4:
            try await FileSystem.run("sh", "-c", "rm -rf \(vault)/records; cp -a \(past)/records \(vault)/records")
            return "replayed the past"
        case 5:
            try await FileSystem.run("sh", "-c", "cp -rn \(past)/. \(vault)/ || true")
            return "brought the past back beside the present"
        case 6:
            try await FileSystem.run("truncate", "-s", "\(random.number(300_000...9_000_000))", path)
            return "blew up \(one)"
        case 7:
            let name = one.split(separator: "/").dropLast().joined(separator: "/") + "/99-0011223344556677"
            try FileSystem.write("\(vault)/\(name)", bytes)
            return "renamed a copy of \(one) to \(name)"
        case 8:
            let record = Hex.encode(random.bytes(16))
            try await FileSystem.run("mkdir", "-p", "\(vault)/records/\(record)")
            try FileSystem.write("\(vault)/records/\(record)/1-0011223344556677", bytes)
            return "put \(one) under another record"
        case 9:
            try FileSystem.write(path + ".sync-conflict-20260101-101010-ABCDEFG", random.bytes(random.number(0...2000)))
            return "forged a conflict copy of \(one)"
        default:
            try await FileSystem.run("mkdir", "-p", vault + "/slots", vault + "/keys")
            try FileSystem.write("\(vault)/slots/\(Hex.encode(random.bytes(16)))", random.bytes(PortableSlot.length))
            try FileSystem.write("\(vault)/keys/x", random.bytes(KeyLink.length))
            return "forged a slot and a link"
        }
    }
}
