// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import TestSupport
import Testing

@testable import HybridTPM

@Suite("Secrets sealed by a TPM")
struct SealedSecretTests {
    private let secret = (0..<32).map { UInt8(0xA0 + $0) }
    private let authorization = (0..<32).map { UInt8(0x41 + $0) }

    @Test("A secret opens with its authorization value, after a restart as well, and leaves no handle behind")
    func roundTrip() async throws {
        try await withTPM { tpm, folder in
            let sealed = try seal(tpm.device)
            #expect(try open(sealed, tpm.device) == secret)
            #expect(try await tpm.leftovers() == "")
            try await tpm.stop()
            let again = try await SoftwareTPM(in: folder)
            #expect(try open(sealed, again.device) == secret)
            try await again.stop()
        }
    }

    @Test("A wrong value opens nothing, is counted by the TPM, and leaves no handle behind")
    func wrongValue() async throws {
        try await withTPM { tpm, _ in
            let sealed = try seal(tpm.device)
            for wrong: UInt32 in 1...5 {
                #expect(try open(sealed, tpm.device, with: authorization.reversed()) == nil)
                #expect(try tpm.device.status().lockout.counter == wrong)
            }
            #expect(try open(sealed, tpm.device) == secret)
            #expect(try await tpm.leftovers() == "")
        }
    }

    @Test("Neither the secret nor the authorization value crosses the bus in the clear")
    func encryption() async throws {
        try await withTPM { tpm, _ in
            // The tools that set up the TPM use sessions of their own.
            let before = tpm.traffic.count
            let sealed = try seal(tpm.device)
            #expect(try open(sealed, tpm.device) == secret)
            let traffic = tpm.traffic.dropFirst(before)
            #expect(traffic.contains(Hex.encode(sealed.publicArea)))
            #expect(!traffic.contains(Hex.encode(secret)))
            #expect(!traffic.contains(Hex.encode(authorization)))
            // TPM2_StartAuthSession without a key (TPM_RH_NULL) would encrypt with a key that the bus shows.
            #expect(!traffic.contains("0000017640000007"))
        }
    }

    @Test("Each try is refused while fewer than two are left, and possible again after the reset")
    func lockout() async throws {
        try await withTPM(failures: 3) { tpm, _ in
            let sealed = try seal(tpm.device)
            for _ in 0..<2 { #expect(try open(sealed, tpm.device, with: authorization.reversed()) == nil) }
            let before = try tpm.device.status().lockout
            #expect(before.left == 1)
            #expect(before.minutes == 10)
            #expect(throws: TPMError.lockedOut(minutes: 10)) { try open(sealed, tpm.device) }
            #expect(try tpm.device.status().lockout == before)
            try await tpm.run("tpm2_dictionarylockout", "--clear-lockout")
            #expect(try open(sealed, tpm.device) == secret)
        }
    }

    @Test("A cleared TPM, another TPM and a damaged object are different errors")
    func otherTPM() async throws {
        try await withTPM { tpm, folder in
            let sealed = try seal(tpm.device)
            let other = try await SoftwareTPM(in: folder + "2")
            #expect(throws: TPMError.otherTPM) { try open(sealed, other.device) }
            #expect(try await other.leftovers() == "")
            var damaged = sealed.privateArea
            damaged[40] ^= 1
            let changed = try #require(sealed.replacing(privateArea: damaged))
            #expect(throws: TPMError.objectDamaged) { try open(changed, tpm.device) }
            #expect(try await tpm.leftovers() == "")
            try await tpm.run("tpm2_clear", "-c", "platform")
            #expect(throws: TPMError.cleared) { try open(sealed, tpm.device) }
            #expect(try await tpm.leftovers() == "")
        }
    }

    @Test("The storage key's name is pinned: an object of another key is not even loaded")
    func pinnedName() async throws {
        try await withTPM { tpm, _ in
            let sealed = try seal(tpm.device)
            var name = sealed.parentName
            name[33] ^= 1
            let changed = try #require(sealed.replacing(parentName: name))
            #expect(throws: TPMError.cleared) { try open(changed, tpm.device) }
        }
    }

    @Test("The persistent storage key is used if there is one, ECC or RSA, and only if it is a storage key")
    func persistentKey() async throws {
        try await withTPM { tpm, folder in
            for algorithm in ["ecc256:aes128cfb", "rsa2048:aes128cfb"] {
                try await persist(algorithm, "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|restricted|decrypt")
                let sealed = try seal(tpm.device)
                #expect(try open(sealed, tpm.device) == secret)
                try await evict()
                #expect(throws: TPMError.cleared) { try open(sealed, tpm.device) }
            }
            let primary = try seal(tpm.device)
            try await persist("ecc256", "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|sign")
            #expect(throws: TPMError.unsuitableParent) { try seal(tpm.device) }
            // The key that sealed this one can still be created.
            #expect(try open(primary, tpm.device) == secret)
            try await evict()
            #expect(try await tpm.leftovers() == "")

            func persist(_ algorithm: String, _ attributes: String) async throws {
                let file = folder + "/context"
                try await tpm.run("tpm2_createprimary", "-C", "o", "-G", algorithm, "-a", attributes, "-c", file)
                try await tpm.run("tpm2_flushcontext", "-t")
                try await tpm.run("tpm2_evictcontrol", "-C", "o", "-c", file, "0x81000001")
                try await tpm.run("tpm2_flushcontext", "-t")
            }
            func evict() async throws { try await tpm.run("tpm2_evictcontrol", "-C", "o", "-c", "0x81000001") }
        }
    }

    @Test("The owner's password prevents only the creation of a storage key")
    func ownerPassword() async throws {
        try await withTPM { tpm, _ in
            try await tpm.run("tpm2_changeauth", "-c", "owner", "secret")
            #expect(throws: TPMError.ownerPasswordSet) { try seal(tpm.device) }
            try await tpm.run("tpm2_changeauth", "-c", "lockout", "secret")
            #expect(try tpm.device.status().isLockoutAuthSet)
        }
    }

    @Test("A TPM whose memory is full is busy")
    func busy() async throws {
        try await withTPM { tpm, folder in
            let sealed = try seal(tpm.device)
            for _ in 0..<3 { try await tpm.run("tpm2_createprimary", "-C", "o", "-c", folder + "/context") }
            #expect(throws: TPMError.busy) { try open(sealed, tpm.device) }
            try await tpm.run("tpm2_flushcontext", "-t")
            #expect(try open(sealed, tpm.device) == secret)
        }
    }

    @Test("Fields of another form are refused")
    func form() async throws {
        try await withTPM { tpm, _ in
            let sealed = try seal(tpm.device)
            for bit in 0..<(SealedSecret.publicPrefix.count * 8) {
                var area = sealed.publicArea
                area[bit / 8] ^= 1 << UInt8(bit % 8)
                #expect(sealed.replacing(publicArea: area) == nil)
            }
            #expect(sealed.replacing(privateArea: sealed.privateArea.dropLast()) == nil)
            #expect(sealed.replacing(privateArea: sealed.privateArea + [0]) == nil)
            #expect(sealed.replacing(parentName: [0, 0x0C] + sealed.parentName.dropFirst(2)) == nil)
        }
    }

    private func seal(_ device: TPMAddress) throws -> SealedSecret {
        try secret.withUnsafeBytes { secret in
            try authorization.withUnsafeBytes { try device.seal(secret, authorization: $0) }
        }
    }

    private func open(_ sealed: SealedSecret, _ device: TPMAddress, with value: [UInt8]? = nil) throws -> [UInt8]? {
        try (value ?? authorization).withUnsafeBytes { try device.unseal(sealed, authorization: $0) }
            .map { Array($0.memory) }
    }

    private func withTPM(failures: Int = 32, _ body: (SoftwareTPM, String) async throws -> Void) async throws {
        try await TestFolder.with { folder in
            let tpm = try await SoftwareTPM(in: folder.path + "/tpm", failures: failures)
            try await body(tpm, folder.path + "/tpm")
        }
    }
}

@Suite("Addresses of TPMs")
struct TPMDeviceTests {
    @Test("Names of transports are accepted, paths of libraries are not")
    func configurations() {
        for text in ["device:/dev/tpmrm0", "device", "swtpm:path=/run/a b", "mssim:host=::1,port=2321", "tabrmd:"] {
            #expect(TPMAddress(configuration: text)?.configuration == text)
        }
        for text in ["", ":", "./libevil.so", "/tmp/lib.so:x", "lib.so", "Device:/dev/tpm0", "device:\0"] {
            #expect(TPMAddress(configuration: text) == nil, "\(text)")
        }
    }

    @Test("A missing device, a forbidden one and a missing library have an error of their own")
    func access() async throws {
        #expect(throws: TPMError.absent("/dev/no-tpm")) { try device("device:/dev/no-tpm").status() }
        #expect(throws: TPMError.absent("swtpm:path=/nonexistent")) { try device("swtpm:path=/nonexistent").status() }
        #expect(throws: TPMError.libraryMissing("the TCTI for nothing:1")) { try device("nothing:1").status() }
    }

    @Test(
        "The wait lasts until two tries are left",
        arguments: [
            (0, 32, false, 0), (30, 32, false, 0), (31, 32, false, 10), (32, 32, false, 20), (5, 32, true, 20),
        ] as [(UInt32, UInt32, Bool, Int)]
    )
    func minutes(_ counter: UInt32, _ maximum: UInt32, _ isLockedOut: Bool, _ minutes: Int) {
        let lockout = TPMLockout(counter: counter, maximum: maximum, interval: 600, isLockedOut: isLockedOut)
        #expect(lockout.minutes == minutes)
    }

    @Test("Each sentence has a cause and a remedy on one line")
    func sentences() {
        let all: [TPMError] = [
            .absent("/dev/tpmrm0"), .notPermitted("/dev/tpmrm0"), .libraryMissing("x"), .busy, .lockedOut(minutes: 1),
            .lockedOut(minutes: 20), .cleared, .otherTPM, .objectDamaged, .unsuitableParent, .ownerPasswordSet,
            .failed("0x1"),
        ]
        #expect(Set(all.map(\.code)).count == all.count - 1)
        for error in all {
            #expect(error.sentence.count { $0 == ";" } == 1)
            #expect(!error.sentence.contains("\n"))
        }
    }

    private func device(_ text: String) throws -> TPMAddress { try #require(TPMAddress(configuration: text)) }
}

extension SoftwareTPM {
    var device: TPMAddress { TPMAddress(configuration: configuration) ?? .standard }
}

extension SealedSecret {
    fileprivate func replacing(
        parentName: [UInt8]? = nil,
        publicArea: [UInt8]? = nil,
        privateArea: [UInt8]? = nil
    ) -> SealedSecret? {
        SealedSecret(
            manufacturer: manufacturer,
            parentName: parentName ?? self.parentName,
            endorsementName: endorsementName,
            publicArea: publicArea ?? self.publicArea,
            privateArea: privateArea ?? self.privateArea
        )
    }
}
