// SPDX-License-Identifier: Apache-2.0

import Crypto
import Glibc
import HybridAuthenticator
import HybridCTAP
import HybridPrimitives
import Testing

@testable import HybridVault

@Suite("Hostile and accidental files from a sync tool")
struct HostileFilesTests {
    @Test("Any flipped byte of a record is refused with a sentence that names the file")
    func flipped() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        let passkey = try Passkey.fresh()
        try await unlocked.add(passkey)
        try await unlocked.add(.fresh(rp: "example.org"))
        let path = try #require(try fixture.recordFiles().first)
        let name = String(path.dropFirst(fixture.vault.count + 1))
        for index in 0..<(try FileSystem.read(path).count) {
            try await FileSystem.flipping(path, at: index, by: 0x40) {
                await #expect(
                    throws: StoreFailure.damaged(VaultError.damaged("\(name) is not authentic").sentence)
                ) {
                    try await unlocked.passkeys(for: passkey.relyingParty)
                }
            }
        }
        #expect(try await unlocked.passkeys(for: passkey.relyingParty).count == 1)
    }

    @Test("A damaged record prevents unlocking, and the PIN is not counted as wrong")
    func damagedAtUnlock() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        try await fixture.unlock().add(.fresh())
        let path = try #require(try fixture.recordFiles().first)
        try FileSystem.write(path, Array(FileSystem.read(path).dropLast(100)))
        let name = path.dropFirst(fixture.vault.count + 1)
        let error = VaultError.damaged("\(name) is not authentic")
        #expect(fixture.unlockError() == error)
        #expect(try await fixture.unlockFailure() == .unusable(error.sentence))
        #expect(try await fixture.unlockFailure(pin: "000000") == .wrongPIN(attemptsLeft: 4))
    }

    @Test("An empty file with the name of a revision is damage")
    func emptied() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await fixture.unlock().add(.fresh())
        try FileSystem.write(try #require(try fixture.recordFiles().first), [])
        guard case .damaged? = fixture.unlockError() else {
            Issue.record("an empty record was accepted")
            return
        }
    }

    @Test("A file that never opened here and does not open now is set aside with a warning")
    func neverOpened() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await fixture.unlock().add(.fresh(user: "ada"))
        let other = try await fixture.copy()
        let there = try other.joinWithoutPIN()
        try await there.add(.fresh(user: "bob"))
        let record = try #require(try await fixture.unlock().summaries().first?.record)
        try await there.rename(record, name: "lovelace", displayName: "")

        // The sync tool has created the files of the other device but not copied all of their content.
        let mine = Set(try fixture.recordFiles().map { $0.dropFirst(fixture.vault.count) })
        let new = try other.recordFiles().map { $0.dropFirst(other.vault.count) }.filter { !mine.contains($0) }
        #expect(new.count == 2)
        for path in new {
            let folder = String(path.prefix(upTo: try #require(path.lastIndex(of: "/"))))
            try await FileSystem.run("mkdir", "-p", "-m", "700", fixture.vault + folder)
            try FileSystem.write(fixture.vault + path, Array(FileSystem.read(other.vault + path).prefix(300)))
        }
        let unlocked = try fixture.unlock()
        #expect(unlocked.warnings.map(\.path) == new.map { String($0.dropFirst()) }.sorted())
        #expect(try await VaultFixture.names(unlocked) == ["ada"])
        try await unlocked.add(.fresh(user: "cy"))
        try await unlocked.delete(try #require(try await unlocked.summaries().first).record)
        try await unlocked.rename(record, name: "countess", displayName: "")
        #expect(try await VaultFixture.names(fixture.unlock()) == ["countess"])

        try await FileSystem.run("cp", "-a", other.vault + "/records", fixture.vault)
        let whole = try fixture.unlock()
        #expect(whole.warnings.isEmpty)
        #expect(try await VaultFixture.names(whole).contains("bob"))
        // Now they have opened here.
        for path in new { try FileSystem.write(fixture.vault + path, [1]) }
        guard case .damaged? = fixture.unlockError() else {
            Issue.record("\(String(describing: fixture.unlockError()))")
            return
        }
    }

    @Test("A file under the name of this device's next revision is neither overwritten nor in the way")
    func takenName() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh(user: "ada"))
        let record = try #require(try await unlocked.summaries().first?.record)
        let device = try fixture.open().files.state.device().id
        let folder = "\(fixture.vault)/records/\(record)/"
        let taken = (UInt64(2)...4).map { folder + Revision(counter: $0, device: device).fileName }
        for path in taken { try FileSystem.write(path, Array("forged".utf8)) }
        try await unlocked.rename(record, name: "lovelace", displayName: "")
        #expect(try await VaultFixture.names(fixture.unlock()) == ["lovelace"])
        for path in taken { #expect(try FileSystem.read(path) == Array("forged".utf8)) }
        try await unlocked.delete(record)
        #expect(try await fixture.unlock().summaries().isEmpty)
    }

    @Test("Renamed or swapped files are identified by their headers")
    func swapped() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        for user in ["one", "two"] { try await unlocked.add(.fresh(user: user)) }
        let record = try #require(try await unlocked.summaries().first?.record)
        try await unlocked.rename(record, name: "TWO", displayName: "")
        let files = try fixture.recordFiles()
        #expect(files.count == 3)
        let contents = try files.map { try FileSystem.read($0) }
        for (index, path) in files.enumerated() { try FileSystem.write(path, contents[(index + 1) % files.count]) }
        #expect(try await fixture.unlock().summaries().map(\.user?.name) == ["TWO", "one"])
    }

    @Test("A conflict copy is identified by its header, even if it is the only file left")
    func conflictCopy() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await fixture.unlock().add(.fresh())
        let path = try #require(try fixture.recordFiles().first)
        try await FileSystem.run("cp", path, path + ".sync-conflict-20260101-101010-ABCDEFG")
        #expect(try await fixture.unlock().summaries().count == 1)
        try await FileSystem.run("rm", path)
        let unlocked = try fixture.unlock()
        #expect(try await unlocked.summaries().count == 1)
        #expect(unlocked.warnings.isEmpty)
    }

    @Test("A conflict copy that is not authentic only causes a warning")
    func falseCopy() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await fixture.unlock().add(.fresh())
        let path = try #require(try fixture.recordFiles().first)
        try FileSystem.write(path + " (conflicted copy)", [1, 2, 3])
        let unlocked = try fixture.unlock()
        #expect(unlocked.warnings.map(\.reason) == ["a copy that is not authentic"])
        #expect(try await unlocked.summaries().count == 1)
    }

    @Test(
        "Unexpected files among the records cause warnings and never block",
        arguments: [
            "mkfifo", "ln -s /etc/passwd", "ln -s /dev/zero", "ln -s .", "mkdir", "truncate -s 262145",
            "truncate -s 100G",
        ]
    )
    func strange(command: String) async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await fixture.unlock().add(.fresh())
        let path = try #require(try fixture.recordFiles().first)
        let directory = String(path.prefix(through: try #require(path.lastIndex(of: "/"))))
        try await FileSystem.run("sh", "-c", "\(command) \(directory)9-0011223344556677")
        try await FileSystem.run(
            "sh",
            "-c",
            "\(command) \(fixture.vault)/records/00112233445566778899aabbccddeeff || true"
        )
        let unlocked = try fixture.unlock()
        #expect(try await unlocked.summaries().count == 1)
        #expect(unlocked.warnings.contains { $0.path.hasSuffix("9-0011223344556677") })
    }

    @Test("Sockets and devices cause warnings, too", .enabled(if: geteuid() == 0, "only root can make devices"))
    func device() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await fixture.unlock().add(.fresh())
        let path = try #require(try fixture.recordFiles().first)
        let directory = String(path.prefix(through: try #require(path.lastIndex(of: "/"))))
        try? await FileSystem.run("mknod", directory + "9-0011223344556677", "c", "1", "5")
        try await FileSystem.run("chmod", "600", path)
        #expect(try await fixture.unlock().summaries().count == 1)
    }

    @Test(
        "A record of another user causes a warning and is missing",
        .enabled(if: geteuid() == 0, "only root can give files away")
    )
    func otherOwner() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await fixture.unlock().add(.fresh())
        try await FileSystem.run("chown", "12345", try #require(try fixture.recordFiles().first))
        #expect(fixture.unlockError() == .rolledBack)
    }

    @Test("Modes inside the vault do not matter, because sync tools set their own")
    func modes() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await fixture.unlock().add(.fresh())
        try await FileSystem.run("chmod", "-R", "go+rX", fixture.vault + "/records", fixture.vault + "/vault.json")
        #expect(try await fixture.unlock().summaries().count == 1)
    }

    @Test("Other names cause warnings without terminal control characters; dot files do not")
    func otherNames() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let records = fixture.vault + "/records"
        try await FileSystem.run("mkdir", records + "/\u{1B}[31mred", records + "/README", records + "/.stfolder")
        try FileSystem.write(records + "/.hybrid-tmp-0011223344556677", [1])
        let notes = try fixture.unlock().warnings
        #expect(notes.map(\.path).sorted() == ["records/?[31mred", "records/README"])
    }

    @Test("Missing records and slots directories mean an empty vault, as git leaves them")
    func noDirectories() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await FileSystem.run("rmdir", fixture.vault + "/records", fixture.vault + "/slots")
        let unlocked = try fixture.unlock()
        #expect(try await unlocked.summaries().isEmpty)
        try await unlocked.add(.fresh())
        #expect(try await fixture.unlock().summaries().count == 1)
    }

    @Test("records as a symbolic link is refused")
    func linkedRecords() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await FileSystem.run("mv", fixture.vault + "/records", fixture.root + "/records")
        try await FileSystem.run("ln", "-s", fixture.root + "/records", fixture.vault + "/records")
        #expect(fixture.unlockError() == .damaged("records: it is a symbolic link"))
        #expect(try FileSystem.names(fixture.root + "/records").isEmpty)
    }

    @Test(
        "A full disk is reported, and nothing is changed",
        .enabled("only root with its own mounts can fill a disk") { await Self.canMount() }
    )
    func fullDisk() async throws {
        let fixture = try VaultFixture()
        try await FileSystem.run("mkdir", "-m", "700", fixture.vault)
        try await FileSystem.run("mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "none", fixture.vault)
        defer { _ = umount(fixture.vault) }
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh())
        try? await FileSystem.run("sh", "-c", "cat /dev/zero > \(fixture.vault)/filler 2> /dev/null")
        let before = try fixture.snapshot()
        do {
            try await unlocked.add(.fresh())
            Issue.record("the write succeeded on a full disk")
        } catch {
            guard (error as? StoreFailure)?.kind == .notWritten else {
                Issue.record("\(error)")
                return
            }
        }
        #expect(try fixture.snapshot() == before)
        try await FileSystem.run("rm", fixture.vault + "/filler")
        #expect(try await fixture.unlock().summaries().count == 1)
    }

    private static func canMount() async -> Bool {
        guard let fixture = try? VaultFixture() else { return false }
        guard (try? await FileSystem.run("sh", "-c", "mount -t tmpfs none \(fixture.root) 2> /dev/null")) != nil else {
            return false
        }
        return (try? await FileSystem.run("umount", fixture.root)) != nil
    }

    @Test("A full vault opens, and passkeys can be deleted but not added")
    func full() async throws {
        let fixture = try VaultFixture()
        let files = try fixture.createWithoutPIN().files
        try await fixture.unlock().add(.fresh())
        let revision = Revision(counter: 1, device: try #require(DeviceID(bytes: [1, 2, 3, 4, 5, 6, 7, 8])))
        for _ in 1..<VaultRecords.maximumCount {
            let id = RecordID.random()
            let file = try files.seal(.deletion, id: id, revision: revision, key: fixture.key)
            #expect(mkdir("\(fixture.vault)/records/\(id)", 0o700) == 0)
            try FileSystem.write("\(fixture.vault)/records/\(id)/\(revision.fileName)", file.bytes)
        }
        let unlocked = try fixture.unlock()
        do {
            try await unlocked.add(.fresh())
            Issue.record("more than 10,000 records were written")
        } catch {
            guard (error as? StoreFailure)?.kind == .notWritten else { throw error }
        }
        try await unlocked.delete(try #require(try await unlocked.summaries().first).record)
        #expect(try await unlocked.summaries().isEmpty)
    }

    @Test("Folders with more files than are read hide nothing that this device has seen, and stop nothing")
    func flooded() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let before = try fixture.unlock()
        try await before.add(.fresh(user: "ada"))
        try await before.add(.fresh(user: "bob"))
        let ada = try #require(try await before.summaries().last).record
        let keys = fixture.vault + "/keys"
        let script = """
            cd \(fixture.vault)/records && seq -f '%032.0f' 1 15001 | xargs mkdir
            cd \(ada) && seq -f '1-%016.0f' 1 1001 | xargs touch
            mkdir \(keys) && cd \(keys) && seq -f '%032.0f' 1 1001 | xargs touch
            cd ../slots && seq -f '%032.0f' 1 200 | xargs touch
            """
        try await FileSystem.run("sh", "-ec", script)
        let unlocked = try await fixture.open(pin: "123456")
        for (path, limit) in [("records", 15_000), ("records/\(ada)", 1000), ("keys", 1000)] {
            #expect(unlocked.warnings.contains(.excess(in: path, limit: limit)), "\(path)")
        }
        #expect(try await VaultFixture.names(unlocked) == ["ada", "bob"])
        try await unlocked.add(.fresh(user: "cy"))
        try await unlocked.rename(ada, name: "lovelace", displayName: "")
        try await unlocked.addPassphrase(.typed(), replacing: false)
        try await unlocked.rekey(pin: .typed("123456"), passphrase: .typed(Self.next), recoveryCode: nil)
        #expect(try await VaultFixture.names(fixture.open(pin: "123456")) == ["bob", "cy", "lovelace"])
        #expect(try Vault.status(at: fixture.location).passphrases == 1)
        try await fixture.join(.passphrase(.typed(Self.next)))
        let opened = try await fixture.open(pin: "654321")
        #expect(try await VaultFixture.names(opened) == ["bob", "cy", "lovelace"])
        try await opened.backUp(to: fixture.root + "/backup")
        let files = try fixture.open().files
        let slots = try PortableSlots(in: files.directory, identity: files.identity, limit: 3)
        #expect(slots.all.isEmpty && slots.warnings.contains(.excess(in: "slots", limit: 3)))
    }

    private static let next = "glider museum ochre tactful banjo"
}
