// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridAuthenticator
import Testing

@testable import HybridVault

@Suite("Opening a vault's directory", .serialized)
struct OpeningTests {
    @Test("A missing or empty directory that was never known may become a vault")
    func doesNotExist() async throws {
        let bench = try Workbench()
        #expect(bench.refusal() == .doesNotExist(path: bench.vault))
        try await FileSystem.run("mkdir", "-m", "700", bench.vault)
        #expect(bench.refusal() == .doesNotExist(path: bench.vault))
        try bench.createWithoutPIN()
        #expect(bench.refusal() == nil)
    }

    @Test("A new vault has modes 0700 and 0600 and exactly these files")
    func layout() async throws {
        let bench = try Workbench()
        let vault = try await bench.create()
        #expect(try FileSystem.names(bench.vault) == ["records", "slots", "vault.json"])
        #expect(try FileSystem.names(bench.state) == [vault.id, "known"].sorted())
        let state = bench.state + "/" + vault.id
        #expect(try FileSystem.names(state) == ["attempts", "device", "pin", "seen"])
        for directory in [bench.vault, bench.vault + "/records", bench.vault + "/slots", bench.state, state] {
            #expect(try Self.mode(directory) == 0o700, "\(directory)")
        }
        for file in [
            bench.vault + "/vault.json", state + "/pin", state + "/device", state + "/seen", state + "/attempts",
        ] {
            #expect(try Self.mode(file) == 0o600, "\(file)")
        }
    }

    @Test("Missing parents are made, closed to others")
    func parents() async throws {
        let bench = try Workbench()
        _ = try await Vault.create(
            directory: bench.root + "/a/b/vault",
            stateDirectory: bench.root + "/c/state",
            pin: .typed("1234"),
            test: false,
            scrypt: Workbench.scrypt,
            clock: bench.clock
        )
        #expect(try Self.mode(bench.root + "/a/b") == 0o700)
    }

    @Test("A known path that is missing or empty is an unmounted disk, not a first start")
    func wasHere() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await FileSystem.run("mv", bench.vault, bench.root + "/elsewhere")
        #expect(bench.refusal() == .wasHereButIsEmpty(path: bench.vault))
        try await FileSystem.run("mkdir", "-m", "700", bench.vault)
        #expect(bench.refusal() == .wasHereButIsEmpty(path: bench.vault))
        try await FileSystem.run("mkdir", bench.vault + "/lost+found")
        #expect(bench.refusal() == .wasHereButIsEmpty(path: bench.vault))
        await #expect(throws: VaultError.wasHereButIsEmpty(path: bench.vault)) { try await bench.create() }
    }

    @Test("A path known by its symbolic link is known by its target too")
    func knownByLink() async throws {
        let bench = try Workbench()
        try await FileSystem.run("mkdir", "-m", "700", bench.root + "/real")
        try await FileSystem.run("ln", "-s", bench.root + "/real", bench.vault)
        try bench.createWithoutPIN()
        try await FileSystem.run("sh", "-c", "rm -rf \(bench.root)/real/*")
        let refusal = #expect(throws: VaultError.self) {
            try Vault.open(directory: bench.root + "/real", stateDirectory: bench.state, virtualRadio: false)
        }
        #expect(refusal == .wasHereButIsEmpty(path: bench.root + "/real"))
    }

    @Test("A moved vault opens and is known at its new path")
    func moved() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let new = bench.root + "/moved"
        try await FileSystem.run("mv", bench.vault, new)
        _ = try Vault.open(directory: new, stateDirectory: bench.state, virtualRadio: false)
        try await FileSystem.run("rm", "-rf", new)
        #expect(throws: VaultError.wasHereButIsEmpty(path: new)) {
            try Vault.open(directory: new, stateDirectory: bench.state, virtualRadio: false)
        }
    }

    @Test("Records or slots without vault.json are a half-finished sync", arguments: ["records", "slots"])
    func incomplete(name: String) async throws {
        let bench = try Workbench()
        try await FileSystem.run("mkdir", "-p", "-m", "700", bench.vault)
        try await FileSystem.run("mkdir", "-p", "-m", "700", bench.vault + "/" + name)
        #expect(bench.refusal() == .incomplete(path: bench.vault))
        await #expect(throws: VaultError.incomplete(path: bench.vault)) { try await bench.create() }
    }

    @Test("A directory with other things is no vault and does not become one")
    func notAVault() async throws {
        let bench = try Workbench()
        try await FileSystem.run("mkdir", "-m", "700", bench.vault)
        try FileSystem.write(bench.vault + "/letter.txt", [1])
        #expect(bench.refusal() == .notAVault(path: bench.vault))
        await #expect(throws: VaultError.notAVault(path: bench.vault)) { try await bench.create() }
    }

    @Test("What a creation that was cut short left behind does not stop the next")
    func leftovers() async throws {
        let bench = try Workbench()
        try await FileSystem.run("mkdir", "-m", "700", bench.vault)
        try FileSystem.write(bench.vault + "/.hybrid-tmp-0011223344556677", [1])
        _ = try await bench.create()
        #expect(try await bench.unlockFailure() == nil)
    }

    @Test("A file is not a directory")
    func file() throws {
        let bench = try Workbench()
        try FileSystem.write(bench.vault, [1])
        #expect(bench.refusal() == .notADirectory(path: bench.vault))
    }

    @Test("A vault is not created twice")
    func twice() async throws {
        let bench = try Workbench()
        _ = try await bench.create()
        let before = try bench.snapshot()
        await #expect(throws: VaultError.alreadyExists(path: bench.vault)) { try await bench.create(pin: "000000") }
        #expect(try bench.snapshot() == before)
        #expect(try await bench.unlockFailure() == nil)
    }

    @Test(
        "Loose permissions are refused with the chmod",
        arguments: ["750", "705", "770", "707", "755", "777", "710", "701"]
    )
    func loose(mode: String) async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await FileSystem.run("chmod", mode, bench.vault)
        let refusal = bench.refusal()
        #expect(refusal == .loosePermissions(path: bench.vault, mode: UInt32(mode, radix: 8) ?? 0))
        #expect(refusal?.sentence.contains("chmod 700 \(bench.vault)") == true)
        try await FileSystem.run("chmod", "700", bench.vault)
        #expect(bench.refusal() == nil)
    }

    @Test("Loose permissions of the local state are refused")
    func looseState() async throws {
        let bench = try Workbench()
        let state = try bench.state + "/" + bench.createWithoutPIN().id
        try await FileSystem.run("chmod", "755", state)
        #expect(bench.refusal() == .loosePermissions(path: state, mode: 0o755))
    }

    @Test("No vault is made in a directory that others may look into")
    func looseBefore() async throws {
        let bench = try Workbench()
        try await FileSystem.run("mkdir", "-m", "755", bench.vault)
        await #expect(throws: VaultError.loosePermissions(path: bench.vault, mode: 0o755)) { try await bench.create() }
        #expect(try FileSystem.names(bench.vault).isEmpty)
    }

    @Test("Another user's directory is refused", .enabled(if: geteuid() == 0, "only root can give files away"))
    func otherOwner() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await FileSystem.run("chown", "12345", bench.vault)
        #expect(bench.refusal() == .notOwned(path: bench.vault))
    }

    @Test("Real vaults and test vaults open only under their own kind of radio")
    func radios() async throws {
        let (real, test) = (try Workbench(), try Workbench())
        _ = try await real.create()
        _ = try await test.create(test: true)
        #expect(real.refusal(virtualRadio: true) == .realVaultRefusesVirtualRadio)
        #expect(test.refusal(virtualRadio: false) == .testVaultNeedsVirtualRadio)
        #expect(real.refusal(virtualRadio: false) == nil)
        #expect(test.refusal(virtualRadio: true) == nil)
    }

    @Test("Flipping the test flag in vault.json opens neither way")
    func flippedTestFlag() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let text = String(decoding: try FileSystem.read(bench.vault + "/vault.json"), as: UTF8.self)
        let pieces = text.split(separator: "false", maxSplits: 1)
        try FileSystem.write(bench.vault + "/vault.json", Array((pieces[0] + "true" + pieces[1]).utf8))
        #expect(bench.refusal(virtualRadio: false) == .testVaultNeedsVirtualRadio)
        guard case .damaged? = bench.refusal(virtualRadio: true) else {
            Issue.record("a flipped test flag was taken")
            return
        }
    }

    @Test("Every flipped bit of vault.json is refused")
    func flippedIdentity() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let path = bench.vault + "/vault.json"
        for index in 0..<(try FileSystem.read(path).count) {
            for bit in UInt8(0)..<8 {
                try await FileSystem.flipping(path, at: index, by: 1 << bit) {
                    for radio in [false, true] {
                        switch bench.refusal(virtualRadio: radio) {
                        case .damaged, .anotherVault, .unsupportedFormat: break
                        case let other: Issue.record("byte \(index) bit \(bit): \(String(describing: other))")
                        }
                    }
                }
            }
        }
        #expect(bench.refusal() == nil)
    }

    @Test("A later format is refused as such")
    func laterFormat() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try FileSystem.write(bench.vault + "/vault.json", Array("{\"format\":2}\n".utf8))
        #expect(bench.refusal() == .unsupportedFormat(2))
    }

    @Test("vault.json as a symbolic link, a pipe or a directory is refused at once")
    func strangeIdentity() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let path = bench.vault + "/vault.json"
        try await FileSystem.run("mv", path, bench.root + "/kept.json")
        for command in ["ln -s \(bench.root)/kept.json", "mkfifo", "mkdir", "truncate -s 300000"] {
            try await FileSystem.run("sh", "-c", "\(command) \(path)")
            guard case .damaged? = bench.refusal() else {
                Issue.record("\(command): \(String(describing: bench.refusal()))")
                continue
            }
            try await FileSystem.run("rm", "-r", path)
        }
    }

    @Test("A vault that was made on another device has no PIN here")
    func otherDevice() async throws {
        let bench = try Workbench()
        let id = try bench.createWithoutPIN().id
        let other = bench.root + "/other-state"
        #expect(throws: VaultError.noPINSlotHere(path: other + "/" + id)) {
            try Vault.open(directory: bench.vault, stateDirectory: other, virtualRadio: false)
        }
    }

    @Test("Every sentence is one line and says something")
    func sentences() {
        let errors: [VaultError] = [
            .doesNotExist(path: "/v"), .wasHereButIsEmpty(path: "/v"), .incomplete(path: "/v"), .notAVault(path: "/v"),
            .anotherVault(path: "/v"), .alreadyExists(path: "/v"), .notADirectory(path: "/v"),
            .loosePermissions(path: "/v", mode: 0o755), .notOwned(path: "/v"), .cannotOpen("x"), .damaged("x"),
            .testVaultNeedsVirtualRadio, .realVaultRefusesVirtualRadio, .unsupportedFormat(2), .rolledBack,
            .noPINSlotHere(path: "/s"), .pinTooShort, .cannotWrite("x"), .tooLarge("x"), .busy, .noSuchRecord, .locked,
            .outOfMemory, .rekeyedElsewhere, .passphraseTooWeak(bits: 7), .noSuchSlot, .wrongSecret, .noPortableSlot,
            .fileExists(path: "/f"), .backupUnreadable("x"), .backupDamaged("x"), .backupOfAnotherVault(path: "/v"),
            .hasPINHere(path: "/v"),
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
