// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridAuthenticator
import Testing

@testable import HybridVault

@Suite("Opening a vault's directory", .serialized)
struct OpeningTests {
    @Test("A missing or empty directory that was never known may become a vault")
    func doesNotExist() async throws {
        let fixture = try VaultFixture()
        #expect(fixture.refusal() == .doesNotExist(path: fixture.vault))
        try await FileSystem.run("mkdir", "-m", "700", fixture.vault)
        #expect(fixture.refusal() == .doesNotExist(path: fixture.vault))
        try fixture.createWithoutPIN()
        #expect(fixture.refusal() == nil)
    }

    @Test("A new vault has modes 0700 and 0600 and exactly these files")
    func layout() async throws {
        let fixture = try VaultFixture()
        let vault = try await fixture.create()
        #expect(try FileSystem.names(fixture.vault) == ["records", "slots", "vault.json"])
        #expect(try FileSystem.names(fixture.state) == [vault.id, "known"].sorted())
        let state = fixture.state + "/" + vault.id
        #expect(try FileSystem.names(state) == ["attempts", "device", "pin", "seen", "slots"])
        for directory in [fixture.vault, fixture.vault + "/records", fixture.vault + "/slots", fixture.state, state] {
            #expect(try Self.mode(directory) == 0o700, "\(directory)")
        }
        for file in [
            fixture.vault + "/vault.json", state + "/pin", state + "/device", state + "/seen", state + "/attempts",
        ] {
            #expect(try Self.mode(file) == 0o600, "\(file)")
        }
    }

    @Test("Missing parents are created without access for others")
    func parents() async throws {
        let fixture = try VaultFixture()
        var location = VaultLocation(directory: fixture.root + "/a/b/vault", stateDirectory: fixture.root + "/c/state")
        location.scrypt = Scrypt.lowest
        _ = try await Vault.create(at: location, pin: .typed("1234"), isTest: false)
        #expect(try Self.mode(fixture.root + "/a/b") == 0o700)
    }

    @Test("A known path that is missing or empty is an unmounted disk, not a first start")
    func wasHere() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await FileSystem.run("mv", fixture.vault, fixture.root + "/elsewhere")
        #expect(fixture.refusal() == .missing(path: fixture.vault))
        try await FileSystem.run("mkdir", "-m", "700", fixture.vault)
        #expect(fixture.refusal() == .missing(path: fixture.vault))
        try await FileSystem.run("mkdir", fixture.vault + "/lost+found")
        #expect(fixture.refusal() == .missing(path: fixture.vault))
        await #expect(throws: VaultError.missing(path: fixture.vault)) { try await fixture.create() }
    }

    @Test("A deleted vault can be forgotten, and opens again if it returns; one that is there can't be forgotten")
    func forgotten() async throws {
        let fixture = try VaultFixture()
        let location = VaultLocation(directory: fixture.vault, stateDirectory: fixture.state)
        #expect(throws: VaultError.notKnown(path: fixture.vault)) { try Vault.forget(at: location) }
        let id = try fixture.createWithoutPIN().id
        #expect(throws: VaultError.stillThere(path: fixture.vault)) { try Vault.forget(at: location) }
        try await FileSystem.run("mv", fixture.vault, fixture.root + "/elsewhere")
        #expect(fixture.refusal() == .missing(path: fixture.vault))
        let forgotten = try Vault.forget(at: location)
        #expect(forgotten.id == id && forgotten.obstacle == nil)
        #expect(fixture.refusal() == .doesNotExist(path: fixture.vault))
        #expect(throws: VaultError.notKnown(path: fixture.vault)) { try Vault.forget(at: location) }
        try await FileSystem.run("mv", fixture.root + "/elsewhere", fixture.vault)
        #expect(fixture.refusal() == nil, "the device's secret stayed")
        try await FileSystem.run("sh", "-c", "rm \(fixture.vault)/vault.json")
        #expect(throws: VaultError.incomplete(path: fixture.vault)) { try Vault.forget(at: location) }
        #expect(fixture.refusal() == .incomplete(path: fixture.vault))
    }

    @Test("A place is the same through every link, also after the vault was deleted")
    func links() async throws {
        let fixture = try VaultFixture()
        try await FileSystem.run("mkdir", fixture.root + "/real")
        try await FileSystem.run("ln", "-s", "real", fixture.root + "/link")
        func location(_ path: String) -> VaultLocation {
            VaultLocation(directory: fixture.root + path, stateDirectory: fixture.state)
        }
        func opening(_ path: String) -> VaultError? {
            do throws(VaultError) {
                _ = try VaultDirectory.open(location(path))
                return nil
            } catch {
                return error
            }
        }
        let pin = try #require(Array("12345".utf8).withUnsafeBytes { PIN(utf8: $0) })
        for (made, other) in [("/link/a", "/real/a"), ("/real/b", "/link/b")] {
            let id = try await Vault.create(at: location(made), pin: pin, isTest: false).id
            try await FileSystem.run("rm", "-r", fixture.root + made)
            #expect(opening(other) == .missing(path: fixture.root + other))
            #expect(try Vault.forget(at: location(other)).id == id)
            for path in [made, other] { #expect(opening(path) == .doesNotExist(path: fixture.root + path)) }
        }
    }

    @Test("What prevents a new vault is named, also after the old one is forgotten")
    func obstacles() async throws {
        let fixture = try VaultFixture()
        let location = VaultLocation(directory: fixture.vault, stateDirectory: fixture.state)
        try fixture.createWithoutPIN()
        try await FileSystem.run("mv", fixture.vault, fixture.root + "/elsewhere")
        try await FileSystem.run("mkdir", "-m", "700", fixture.vault)
        try await FileSystem.run("touch", fixture.vault + "/.stfolder")
        #expect(try Vault.forget(at: location).obstacle == .notAVault(path: fixture.vault))
        try await FileSystem.run("rm", "-r", fixture.vault)
        try await FileSystem.run("ln", "-s", fixture.root + "/none", fixture.vault)
        guard case .cannotOpen(let what)? = fixture.refusal() else {
            Issue.record("a link to nothing was not named")
            return
        }
        #expect(what.contains("link to a directory that does not exist"))
    }

    @Test("On drives that keep no permissions, the advice is another one than chmod")
    func foreignFileSystems() async throws {
        for (type, system, words) in [
            (0x4D44, .fat, "umask=077"), (0x2011_BAB0, .fat, "umask=077"), (0x7366_746E, .ntfs, "umask=077"),
            (0xFE53_4D42, .smb, "dir_mode=0700"), (0x0102_1997, .host, "metadata"), (0x6573_5546, .program, "FUSE"),
        ] as [(UInt32, ForeignFileSystem, String)] {
            #expect(ForeignFileSystem(type: type) == system)
            let sentence = VaultError.loosePermissions(path: "/media/key/vault", mode: 0o777, system).sentence
            #expect(sentence.contains(words) && sentence.contains("--vault") && !sentence.contains("run: chmod"))
        }
        for type in [0xEF53, 0x0102_1994, 0x9123_683E, 0x5846_5342, 0x6969] as [UInt32] {
            #expect(ForeignFileSystem(type: type) == nil, "ext4, tmpfs, btrfs, XFS and NFS keep permissions")
        }
        let fixture = try VaultFixture()
        #expect(try Directory.open(path: fixture.root).foreignFileSystem == nil)
    }

    @Test("A path known by its symbolic link is also known by its target")
    func knownByLink() async throws {
        let fixture = try VaultFixture()
        try await FileSystem.run("mkdir", "-m", "700", fixture.root + "/real")
        try await FileSystem.run("ln", "-s", fixture.root + "/real", fixture.vault)
        try fixture.createWithoutPIN()
        try await FileSystem.run("sh", "-c", "rm -rf \(fixture.root)/real/*")
        let refusal = #expect(throws: VaultError.self) {
            try Vault.open(
                at: VaultLocation(directory: fixture.root + "/real", stateDirectory: fixture.state),
                virtualRadio: false
            )
        }
        #expect(refusal == .missing(path: fixture.root + "/real"))
    }

    @Test("A moved vault opens and is known at its new path")
    func moved() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let new = fixture.root + "/moved"
        try await FileSystem.run("mv", fixture.vault, new)
        _ = try Vault.open(at: VaultLocation(directory: new, stateDirectory: fixture.state), virtualRadio: false)
        try await FileSystem.run("rm", "-rf", new)
        #expect(throws: VaultError.missing(path: new)) {
            try Vault.open(at: VaultLocation(directory: new, stateDirectory: fixture.state), virtualRadio: false)
        }
    }

    @Test("Records or slots without vault.json mean an incomplete sync", arguments: ["records", "slots"])
    func incomplete(name: String) async throws {
        let fixture = try VaultFixture()
        try await FileSystem.run("mkdir", "-p", "-m", "700", fixture.vault)
        try await FileSystem.run("mkdir", "-p", "-m", "700", fixture.vault + "/" + name)
        #expect(fixture.refusal() == .incomplete(path: fixture.vault))
        await #expect(throws: VaultError.incomplete(path: fixture.vault)) { try await fixture.create() }
    }

    @Test("A directory with other files is not a vault and does not become one")
    func notAVault() async throws {
        let fixture = try VaultFixture()
        try await FileSystem.run("mkdir", "-m", "700", fixture.vault)
        try FileSystem.write(fixture.vault + "/letter.txt", [1])
        #expect(fixture.refusal() == .notAVault(path: fixture.vault))
        await #expect(throws: VaultError.notAVault(path: fixture.vault)) { try await fixture.create() }
    }

    @Test("Leftovers of an interrupted creation do not prevent the next one")
    func leftovers() async throws {
        let fixture = try VaultFixture()
        try await FileSystem.run("mkdir", "-m", "700", fixture.vault)
        try FileSystem.write(fixture.vault + "/.hybrid-tmp-0011223344556677", [1])
        _ = try await fixture.create()
        #expect(try await fixture.unlockFailure() == nil)
    }

    @Test("A file is not a directory")
    func file() throws {
        let fixture = try VaultFixture()
        try FileSystem.write(fixture.vault, [1])
        #expect(fixture.refusal() == .notADirectory(path: fixture.vault))
    }

    @Test("A vault is not created twice")
    func twice() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let before = try fixture.snapshot()
        await #expect(throws: VaultError.alreadyExists(path: fixture.vault)) { try await fixture.create(pin: "000000") }
        #expect(try fixture.snapshot() == before)
        #expect(try await fixture.unlockFailure() == nil)
    }

    @Test(
        "Loose permissions are refused with the chmod",
        arguments: ["750", "705", "770", "707", "755", "777", "710", "701"]
    )
    func loose(mode: String) async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await FileSystem.run("chmod", mode, fixture.vault)
        let refusal = fixture.refusal()
        #expect(refusal == .loosePermissions(path: fixture.vault, mode: UInt32(mode, radix: 8) ?? 0))
        #expect(refusal?.sentence.contains("chmod 700 \(fixture.vault)") == true)
        try await FileSystem.run("chmod", "700", fixture.vault)
        #expect(fixture.refusal() == nil)
    }

    @Test("Loose permissions of the local state are refused")
    func looseState() async throws {
        let fixture = try VaultFixture()
        let state = try fixture.state + "/" + fixture.createWithoutPIN().id
        try await FileSystem.run("chmod", "755", state)
        #expect(fixture.refusal() == .loosePermissions(path: state, mode: 0o755))
    }

    @Test("No vault is created in a directory that other users can access")
    func looseBefore() async throws {
        let fixture = try VaultFixture()
        try await FileSystem.run("mkdir", "-m", "755", fixture.vault)
        await #expect(throws: VaultError.loosePermissions(path: fixture.vault, mode: 0o755)) {
            try await fixture.create()
        }
        #expect(try FileSystem.names(fixture.vault).isEmpty)
    }

    @Test("Another user's directory is refused", .enabled(if: geteuid() == 0, "only root can give files away"))
    func otherOwner() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await FileSystem.run("chown", "12345", fixture.vault)
        #expect(fixture.refusal() == .notOwned(path: fixture.vault))
    }

    @Test("Real and test vaults open only with their own kind of radio")
    func radios() async throws {
        let (real, test) = (try VaultFixture(), try VaultFixture())
        _ = try await real.create(isTest: false)
        _ = try await test.create()
        #expect(real.refusal(virtualRadio: true) == .realVaultRefusesVirtualRadio)
        #expect(test.refusal(virtualRadio: false) == .testVaultNeedsVirtualRadio)
        #expect(real.refusal(virtualRadio: false) == nil)
        #expect(test.refusal(virtualRadio: true) == nil)
    }

    @Test("A guess at the PIN of a real vault costs more than one of a test vault")
    func costs() throws {
        let location = VaultLocation(directory: "/vault", stateDirectory: "/state")
        #expect(location.scrypt(of: .random(isTest: false)).cost == 1 << 20)
        #expect(location.scrypt(of: .random(isTest: true)).cost == 1 << 13)
    }

    @Test("A vault with a flipped test flag in vault.json opens with no radio")
    func flippedTestFlag() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let text = String(decoding: try FileSystem.read(fixture.vault + "/vault.json"), as: UTF8.self)
        let pieces = text.split(separator: "false", maxSplits: 1)
        try FileSystem.write(fixture.vault + "/vault.json", Array((pieces[0] + "true" + pieces[1]).utf8))
        #expect(fixture.refusal(virtualRadio: false) == .testVaultNeedsVirtualRadio)
        guard case .damaged? = fixture.refusal(virtualRadio: true) else {
            Issue.record("a flipped test flag was accepted")
            return
        }
    }

    @Test("Any flipped bit of vault.json is refused")
    func flippedIdentity() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let path = fixture.vault + "/vault.json"
        for index in 0..<(try FileSystem.read(path).count) {
            for bit in UInt8(0)..<8 {
                try await FileSystem.flipping(path, at: index, by: 1 << bit) {
                    for radio in [false, true] {
                        switch fixture.refusal(virtualRadio: radio) {
                        case .damaged, .anotherVault, .unsupportedFormat: break
                        case let other: Issue.record("byte \(index) bit \(bit): \(String(describing: other))")
                        }
                    }
                }
            }
        }
        #expect(fixture.refusal() == nil)
    }

    @Test("A later format is refused by name")
    func laterFormat() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try FileSystem.write(fixture.vault + "/vault.json", Array("{\"format\":2}\n".utf8))
        #expect(fixture.refusal() == .unsupportedFormat(2))
    }

    @Test("vault.json as a symbolic link, a pipe or a directory is refused at once")
    func strangeIdentity() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let path = fixture.vault + "/vault.json"
        try await FileSystem.run("mv", path, fixture.root + "/kept.json")
        for command in ["ln -s \(fixture.root)/kept.json", "mkfifo", "mkdir", "truncate -s 300000"] {
            try await FileSystem.run("sh", "-c", "\(command) \(path)")
            guard case .damaged? = fixture.refusal() else {
                Issue.record("\(command): \(String(describing: fixture.refusal()))")
                continue
            }
            try await FileSystem.run("rm", "-r", path)
        }
    }

    @Test("A vault from another device has no PIN here")
    func otherDevice() async throws {
        let fixture = try VaultFixture()
        let id = try fixture.createWithoutPIN().id
        let other = fixture.root + "/other-state"
        #expect(throws: VaultError.noPINSlotHere(path: other + "/" + id)) {
            try Vault.open(at: VaultLocation(directory: fixture.vault, stateDirectory: other), virtualRadio: false)
        }
    }

    @Test("Every sentence is one non-empty line")
    func sentences() {
        let errors: [VaultError] = [
            .doesNotExist(path: "/v"), .missing(path: "/v"), .incomplete(path: "/v"), .notAVault(path: "/v"),
            .anotherVault(path: "/v"), .alreadyExists(path: "/v"), .notADirectory(path: "/v"),
            .loosePermissions(path: "/v", mode: 0o755), .notOwned(path: "/v"), .cannotOpen("x"), .damaged("x"),
            .testVaultNeedsVirtualRadio, .realVaultRefusesVirtualRadio, .unsupportedFormat(2), .rolledBack,
            .noPINSlotHere(path: "/s"), .pinTooShort, .cannotWrite("x"), .tooLarge("x"), .busy, .noSuchRecord, .locked,
            .outOfMemory, .rekeyedElsewhere, .passphraseTooWeak(bits: 7), .noSuchSlot, .wrongSecret, .noPortableSlot,
            .fileExists(path: "/f"), .backupUnreadable("x"), .backupDamaged("x"), .backupOfAnotherVault(path: "/v"),
            .hasPINHere(path: "/v"), .changeNotRecorded("x"), .deletionNotRecorded("x"), .slotsNotTried(2),
        ]
        #expect(Set(errors.map(\.sentence)).count == errors.count)
        for error in errors { #expect(error.sentence.count > 20 && !error.sentence.contains("\n")) }
    }

    private static func mode(_ path: String) throws -> UInt32 {
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileSystem.Failure(code: errno) }
        return status.st_mode & 0o7777
    }
}
