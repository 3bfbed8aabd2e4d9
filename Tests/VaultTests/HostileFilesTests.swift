// SPDX-License-Identifier: Apache-2.0

import Crypto
import Glibc
import HybridAuthenticator
import HybridCTAP
import Testing

@testable import HybridVault

@Suite("Files that a hostile or clumsy sync brings")
struct HostileFilesTests {
    @Test("Every flipped byte of a record is one clear refusal that names the file")
    func flipped() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        let passkey = try Passkey.fresh()
        try await unlocked.add(passkey)
        try await unlocked.add(.fresh(rp: "example.org"))
        let path = try #require(try bench.recordFiles().first)
        let name = String(path.dropFirst(bench.vault.count + 1))
        for index in 0..<(try FileSystem.read(path).count) {
            try await FileSystem.flipping(path, at: index, by: 0x40) {
                await #expect(
                    throws: StoreFailure.damaged(VaultError.damaged("\(name) is not what was written").sentence)
                ) {
                    try await unlocked.passkeys(for: passkey.relyingParty)
                }
            }
        }
        #expect(try await unlocked.passkeys(for: passkey.relyingParty).count == 1)
    }

    @Test("A damaged record stops the unlocking, whose PIN is not counted as wrong")
    func damagedAtUnlock() async throws {
        let bench = try Workbench()
        _ = try await bench.create()
        try await bench.unlock().add(.fresh())
        let path = try #require(try bench.recordFiles().first)
        try FileSystem.write(path, Array(FileSystem.read(path).dropLast(100)))
        let name = path.dropFirst(bench.vault.count + 1)
        let error = VaultError.damaged("\(name) is not what was written")
        #expect(bench.unlockError() == error)
        #expect(try await bench.unlockFailure() == .unusable(error.sentence))
        #expect(try await bench.unlockFailure(pin: "000000") == .wrongPIN(attemptsLeft: 4))
    }

    @Test("An empty file with the name of a revision is damage")
    func emptied() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await bench.unlock().add(.fresh())
        try FileSystem.write(try #require(try bench.recordFiles().first), [])
        guard case .damaged? = bench.unlockError() else {
            Issue.record("an empty record was taken")
            return
        }
    }

    @Test("Files that were renamed or swapped are known by their headers")
    func swapped() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        for user in ["one", "two"] { try await unlocked.add(.fresh(user: user)) }
        let record = try #require(try await unlocked.entries().first?.record)
        try await unlocked.rename(record, name: "TWO", displayName: "")
        let files = try bench.recordFiles()
        #expect(files.count == 3)
        let contents = try files.map { try FileSystem.read($0) }
        for (index, path) in files.enumerated() { try FileSystem.write(path, contents[(index + 1) % files.count]) }
        #expect(try await bench.unlock().entries().map(\.user?.name) == ["TWO", "one"])
    }

    @Test("A conflict copy is read by its header, also when it is all that is left")
    func conflictCopy() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await bench.unlock().add(.fresh())
        let path = try #require(try bench.recordFiles().first)
        try await FileSystem.run("cp", path, path + ".sync-conflict-20260101-101010-ABCDEFG")
        #expect(try await bench.unlock().entries().count == 1)
        try await FileSystem.run("rm", path)
        let unlocked = try bench.unlock()
        #expect(try await unlocked.entries().count == 1)
        #expect(unlocked.notes.isEmpty)
    }

    @Test("A conflict copy that is not genuine is noted and nothing else")
    func falseCopy() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await bench.unlock().add(.fresh())
        let path = try #require(try bench.recordFiles().first)
        try FileSystem.write(path + " (conflicted copy)", [1, 2, 3])
        let unlocked = try bench.unlock()
        #expect(unlocked.notes.map(\.reason) == ["a copy that is not genuine"])
        #expect(try await unlocked.entries().count == 1)
    }

    @Test(
        "Strange files among the records are noted, skipped and never waited for",
        arguments: [
            "mkfifo", "ln -s /etc/passwd", "ln -s /dev/zero", "ln -s .", "mkdir", "truncate -s 262145",
            "truncate -s 100G",
        ]
    )
    func strange(command: String) async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await bench.unlock().add(.fresh())
        let path = try #require(try bench.recordFiles().first)
        let directory = String(path.prefix(through: try #require(path.lastIndex(of: "/"))))
        try await FileSystem.run("sh", "-c", "\(command) \(directory)9-0011223344556677")
        try await FileSystem.run(
            "sh",
            "-c",
            "\(command) \(bench.vault)/records/00112233445566778899aabbccddeeff || true"
        )
        let unlocked = try bench.unlock()
        #expect(try await unlocked.entries().count == 1)
        #expect(unlocked.notes.contains { $0.path.hasSuffix("9-0011223344556677") })
    }

    @Test("Sockets and devices are noted too", .enabled(if: geteuid() == 0, "only root can make devices"))
    func device() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await bench.unlock().add(.fresh())
        let path = try #require(try bench.recordFiles().first)
        let directory = String(path.prefix(through: try #require(path.lastIndex(of: "/"))))
        try? await FileSystem.run("mknod", directory + "9-0011223344556677", "c", "1", "5")
        try await FileSystem.run("chmod", "600", path)
        #expect(try await bench.unlock().entries().count == 1)
    }

    @Test(
        "A record of another user is noted, and missed",
        .enabled(if: geteuid() == 0, "only root can give files away")
    )
    func otherOwner() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await bench.unlock().add(.fresh())
        try await FileSystem.run("chown", "12345", try #require(try bench.recordFiles().first))
        #expect(bench.unlockError() == .rolledBack)
    }

    @Test("Modes inside the vault don't matter, as sync tools set their own")
    func modes() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await bench.unlock().add(.fresh())
        try await FileSystem.run("chmod", "-R", "go+rX", bench.vault + "/records", bench.vault + "/vault.json")
        #expect(try await bench.unlock().entries().count == 1)
    }

    @Test("Other names are noted with nothing a terminal could obey, dot files not at all")
    func otherNames() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let records = bench.vault + "/records"
        try await FileSystem.run("mkdir", records + "/\u{1B}[31mred", records + "/README", records + "/.stfolder")
        try FileSystem.write(records + "/.hybrid-tmp-0011223344556677", [1])
        let notes = try bench.unlock().notes
        #expect(notes.map(\.path).sorted() == ["records/?[31mred", "records/README"])
    }

    @Test("Missing records and slots directories are an empty vault's, as git leaves them")
    func noDirectories() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await FileSystem.run("rmdir", bench.vault + "/records", bench.vault + "/slots")
        let unlocked = try bench.unlock()
        #expect(try await unlocked.entries().isEmpty)
        try await unlocked.add(.fresh())
        #expect(try await bench.unlock().entries().count == 1)
    }

    @Test("records as a symbolic link is refused")
    func linkedRecords() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await FileSystem.run("mv", bench.vault + "/records", bench.root + "/records")
        try await FileSystem.run("ln", "-s", bench.root + "/records", bench.vault + "/records")
        #expect(bench.unlockError() == .damaged("records: it is a symbolic link"))
        #expect(try FileSystem.names(bench.root + "/records").isEmpty)
    }

    @Test(
        "A full disk is told as such, and nothing is changed",
        .enabled("only root with its own mounts can fill a disk") { await Self.canMount() }
    )
    func fullDisk() async throws {
        let bench = try Workbench()
        try await FileSystem.run("mkdir", "-m", "700", bench.vault)
        try await FileSystem.run("mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "none", bench.vault)
        defer { _ = umount(bench.vault) }
        try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        try await unlocked.add(.fresh())
        try? await FileSystem.run("sh", "-c", "cat /dev/zero > \(bench.vault)/filler 2> /dev/null")
        let before = try bench.snapshot()
        do {
            try await unlocked.add(.fresh())
            Issue.record("a full disk was written")
        } catch {
            guard (error as? StoreFailure)?.kind == .notWritten else {
                Issue.record("\(error)")
                return
            }
        }
        #expect(try bench.snapshot() == before)
        try await FileSystem.run("rm", bench.vault + "/filler")
        #expect(try await bench.unlock().entries().count == 1)
    }

    private static func canMount() async -> Bool {
        guard let bench = try? Workbench() else { return false }
        guard (try? await FileSystem.run("sh", "-c", "mount -t tmpfs none \(bench.root) 2> /dev/null")) != nil else {
            return false
        }
        return (try? await FileSystem.run("umount", bench.root)) != nil
    }

    @Test("What a file sync unites of two full vaults opens, and passkeys can be deleted; none is added")
    func unitedBeyond() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await bench.unlock().add(.fresh())
        try await FileSystem.run(
            "sh",
            "-c",
            "cd \(bench.vault)/records && seq -f '%032.0f' 1 14999 | xargs mkdir -m 700"
        )
        let unlocked = try bench.unlock()
        let entry = try #require(try await unlocked.entries().first)
        do {
            try await unlocked.add(.fresh())
            Issue.record("more than 10,000 records were written")
        } catch {
            guard (error as? StoreFailure)?.kind == .notWritten else { throw error }
        }
        try await unlocked.delete(entry.record)
        #expect(try await bench.unlock().entries().isEmpty)
    }

    @Test("Too many records are refused")
    func tooMany() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let script = "cd \(bench.vault)/records && seq -f '%032.0f' 1 15001 | xargs mkdir"
        try await FileSystem.run("sh", "-c", script)
        guard case .tooLarge? = bench.unlockError() else {
            Issue.record("15,001 records were taken")
            return
        }
    }
}
