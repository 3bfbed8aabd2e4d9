// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import Testing

@testable import HybridVault

@Suite("The format of records")
struct RecordFormatTests {
    private let key = SymmetricKey(data: Vectors.counting(from: 0, 32))
    private let identity = VaultIdentity(id: Vectors.counting(from: 0x20, 16), isTest: false)

    @Test("vault.json has one spelling")
    func identityText() throws {
        let text = "{\"format\":1,\"vault\":\"202122232425262728292a2b2c2d2e2f\",\"test\":false}\n"
        #expect(identity.text == text)
        #expect(try VaultIdentity.read(Array(text.utf8)) == identity)
    }

    @Test("The passkey vector opens to its passkey")
    func passkeyVector() throws {
        let file = try #require(RecordFile(bytes: Vectors.passkey))
        #expect(file.id.bytes == Vectors.counting(from: 0x30, 16))
        #expect(file.revision.fileName == "1-4041424344454647")
        let body = try #require(file.open(key: key, identity: identity))
        #expect(body.kind == RecordBody.passkey)
        let members = PasskeyBody(members: try #require(body.members))
        let passkey = try #require(members.passkey)
        #expect(passkey.id.bytes == [UInt8](repeating: 0xAA, count: 16))
        #expect(passkey.relyingParty.text == "example.com")
        #expect(passkey.user.id.bytes == [1, 2])
        #expect(passkey.user.name == "ada")
        #expect(passkey.user.displayName == "Ada")
        #expect(passkey.isBackupEligible)
        #expect(Array(passkey.privateKey.rawRepresentation) == [UInt8](repeating: 0, count: 31) + [1])
        #expect(members.order == 1)
        #expect(members.created == 1_700_000_000)
    }

    @Test("The same passkey is sealed to the vector, byte for byte")
    func passkeyVectorWritten() throws {
        let file = try #require(RecordFile(bytes: Vectors.passkey))
        let passkey = try #require(
            file.open(key: key, identity: identity)?.members.flatMap { PasskeyBody(members: $0).passkey }
        )
        let body = PasskeyBody(passkey, order: 1, created: 1_700_000_000)
        let again = RecordFile(
            sealing: RecordBody(kind: RecordBody.passkey, members: body.members),
            id: file.id,
            revision: file.revision,
            key: key,
            identity: identity,
            nonce: Vectors.counting(from: 0x50, 12)
        )
        #expect(again?.bytes == Vectors.passkey)
    }

    @Test("The tombstone is sealed to the vector and opens")
    func tombstoneVector() throws {
        let file = try #require(RecordFile(bytes: Vectors.tombstone))
        #expect(file.open(key: key, identity: identity)?.kind == RecordBody.tombstone)
        let again = RecordFile(
            sealing: .deletion,
            id: file.id,
            revision: file.revision,
            key: key,
            identity: identity,
            nonce: Vectors.counting(from: 0x50, 12)
        )
        #expect(again?.bytes == Vectors.tombstone)
    }

    @Test("The PIN slot vector yields the vault key")
    func slotVector() throws {
        let slot = try #require(PINSlot(bytes: Vectors.slot))
        let device = try #require(Device(bytes: Vectors.device))
        #expect(slot.header.identity == identity)
        #expect(try slot.unwrapKey(pin: .typed("123456"), device: device) == key)
        #expect(try slot.unwrapKey(pin: .typed("123457"), device: device) == nil)
        #expect(slot.bytes == Vectors.slot)
        #expect(device.bytes == Vectors.device)
    }

    @Test("The vectors of the local state are read")
    func stateVectors() throws {
        let seen = try #require(SeenRevisions(bytes: Vectors.seen, key: key, identity: identity))
        let file = try #require(RecordFile(bytes: Vectors.tombstone))
        #expect(seen.entries == [file.id: .init(newest: file.revision, isDeleted: true)])
        let attempts = try #require(AttemptCounter(bytes: Vectors.attempts))
        #expect(attempts.wrong == 3)
        #expect(attempts.last == 1_700_000_000)
        #expect(attempts.bytes == Vectors.attempts)
    }

    @Test("A record with any flipped bit is refused")
    func flippedBits() {
        for index in Vectors.passkey.indices {
            for bit in 0..<8 {
                var bytes = Vectors.passkey
                bytes[index] ^= 1 << UInt8(bit)
                #expect(RecordFile(bytes: bytes)?.open(key: key, identity: identity) == nil, "byte \(index) bit \(bit)")
            }
        }
    }

    @Test("Shorter and longer records are refused")
    func lengths() {
        for length in 0..<Vectors.passkey.count {
            let file = RecordFile(bytes: Array(Vectors.passkey.prefix(length)))
            #expect(file?.open(key: key, identity: identity) == nil, "length \(length)")
        }
        for extra in [1, 512, 1024] {
            let file = RecordFile(bytes: Vectors.passkey + [UInt8](repeating: 0, count: extra))
            #expect(file?.open(key: key, identity: identity) == nil, "\(extra) more")
        }
        #expect(RecordFile(bytes: [UInt8](repeating: 0, count: 0)) == nil)
    }

    @Test("A record does not open in another vault, as a test vault, or under another key")
    func otherVaults() throws {
        let file = try #require(RecordFile(bytes: Vectors.passkey))
        #expect(file.open(key: key, identity: VaultIdentity(id: identity.id, isTest: true)) == nil)
        #expect(file.open(key: key, identity: .random(isTest: false)) == nil)
        #expect(file.open(key: SymmetricKey(size: .bits256), identity: identity) == nil)
    }

    @Test("Padding other than zeros, or an extra block, is refused")
    func padding() {
        let good = RecordBody(kind: RecordBody.passkey, members: ["rp": "example.com"]).padded
        #expect(good.count == 512)
        #expect(good.withUnsafeBytes { RecordBody(padded: $0) } != nil)
        var dirty = good
        dirty[511] = 1
        let long = good + [UInt8](repeating: 0, count: 512)
        var lying = good
        lying[4] = 0xFF
        lying[3] = 0xFF
        for bytes in [dirty, long, lying, [], [1, 0, 0, 0, 0]] {
            #expect(bytes.withUnsafeBytes { RecordBody(padded: $0) } == nil)
        }
    }

    @Test(
        "Bodies near a block boundary are padded to the next block",
        arguments: [0, 1, 480, 495, 500, 505, 506, 507, 508, 510, 1000, 1012, 1020]
    )
    func blockEnds(length: Int) {
        let body = RecordBody(kind: 9, members: ["a": .bytes([UInt8](repeating: 7, count: length))])
        let padded = body.padded
        #expect(padded.count.isMultiple(of: 512))
        let read = padded.withUnsafeBytes { RecordBody(padded: $0) }
        #expect(read?.kind == 9)
        #expect(read?.members == body.members)
    }

    @Test("A record longer than 256 KiB is not written")
    func tooLong() {
        let body = RecordBody(kind: 1, members: ["a": .bytes([UInt8](repeating: 7, count: 256 * 1024))])
        let file = RecordFile(
            sealing: body,
            id: .random(),
            revision: Revision(counter: 1, device: DeviceID(bytes: [UInt8].random(8)) ?? Self.noDevice),
            key: key,
            identity: identity
        )
        #expect(file == nil)
    }

    @Test("Revision names are distinguished from conflict copies and other names")
    func names() {
        #expect(Revision.nameKind("1-4041424344454647") == .proper)
        #expect(Revision.nameKind("18446744073709551615-4041424344454647") == .proper)
        #expect(Revision.nameKind("1-4041424344454647.sync-conflict-20260101-101010-ABCDEFG") == .copy)
        #expect(Revision.nameKind("1-4041424344454647 (copy)") == .copy)
        for name in [
            "", "1", "-4041424344454647", "01-4041424344454647", "0-4041424344454647", "1-404142434445464",
            "1-404142434445464G", "1-404142434445464A", "a-4041424344454647", ".1-4041424344454647",
            "1_4041424344454647",
            "111111111111111111111-4041424344454647", ".hybrid-tmp-4041424344454647", "١-4041424344454647",
        ] { #expect(Revision.nameKind(name) == nil, "\(name)") }
    }

    @Test(
        "vault.json with any change is refused",
        arguments: [
            "", "{}", "{\"format\":1}", "{\"format\":1,\"vault\":\"\",\"test\":false}\n",
            "{\"format\":1,\"vault\":\"202122232425262728292a2b2c2d2e2f\",\"test\":false}",
            "{\"format\":1,\"vault\":\"202122232425262728292A2b2c2d2e2f\",\"test\":false}\n",
            "{\"format\":1,\"vault\":\"202122232425262728292a2b2c2d2e2f\",\"test\":maybe}\n",
            "{\"format\": 1,\"vault\":\"202122232425262728292a2b2c2d2e2f\",\"test\":false}\n",
            "{\"format\":01,\"vault\":\"202122232425262728292a2b2c2d2e2f\",\"test\":false}\n",
            "{\"format\":1,\"vault\":\"202122232425262728292a2b2c2d2e2f\",\"test\":false,\"test\":true}\n",
        ]
    )
    func otherTexts(text: String) {
        #expect(throws: VaultError.damaged("vault.json was changed")) { try VaultIdentity.read(Array(text.utf8)) }
    }

    @Test("A later format is reported by its number")
    func laterFormat() {
        #expect(throws: VaultError.unsupportedFormat(2)) {
            try VaultIdentity.read(Array("{\"format\":2,\"vault\":7}\n".utf8))
        }
    }

    private static var noDevice: DeviceID { preconditionFailure("eight bytes are a device ID") }
}
