// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Glibc
import HybridCBOR
import HybridCTAP
import HybridCaBLE
import HybridCommandSupport
import HybridPrimitives
import HybridProgram
import HybridSession
import HybridThreads
import TestSupport
import Testing

@testable import HybridClientCeremony
@testable import HybridNetwork

/// A store in a temporary folder, and the sentences about skipped files.
struct TestStore {
    let path: String
    let store: LinkStore
    private let warnings = Locked<[String]>([])

    init(in folder: TestFolder) {
        path = folder.path + "/state/hybrid/links"
        store = LinkStore(path: path) { [warnings] sentence in warnings.withLock { $0.append(sentence) } }
    }

    /// Returns the sentences since the last call.
    func takeWarnings() -> [String] {
        warnings.withLock { warnings in
            defer { warnings = [] }
            return warnings
        }
    }

    /// Returns a stored link with a new phone.
    func savedLink() throws -> StoredLink {
        let link = try Self.link()
        try store.save(link)
        return link
    }

    /// Returns a link with a new phone.
    static func link(
        _ name: String = "Pixel 8",
        key: P256.KeyAgreement.PrivateKey = P256.KeyAgreement.PrivateKey(),
        requiresProof: Bool = true,
        lastUsed: UInt64 = 1_800_000_000,
        evidence: LinkEvidence = .verified,
        verifyingKey: String? = "SHA256:abc",
        showedCode: Bool = true
    ) throws -> StoredLink {
        var random = SystemRandomNumberGenerator()
        return StoredLink(
            contactID: ContactKey().publicKey.contactID,
            linkID: LinkID(using: &random),
            secret: LinkSecret(using: &random),
            authenticatorKey: key.publicKey,
            name: PhoneName(name),
            domain: try #require(TunnelDomain(id: 266)),
            created: 1_700_000_000,
            lastUsed: lastUsed,
            info: [0xA0],
            requiresProof: requiresProof,
            lastNumber: 7,
            evidence: evidence,
            verifyingKey: verifyingKey,
            showedCode: showedCode
        )
    }
}

@Suite("The store of linked phones", .timeLimit(.minutes(10)))
struct LinkStoreTests {
    @Test("Each request has a number of its own, which is stored first; links of earlier versions are refused")
    func numbers() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let link = try TestStore.link()
            try test.store.save(link)
            let claims = try (0..<3).map { _ in try test.store.nextClaims(for: link, .guest) }
            #expect(claims.map(\.number) == [8, 9, 10] && claims.allSatisfy { $0.requester == .guest })
            #expect(try test.store.links().first?.lastNumber == 10)
            try test.store.remove(link)
            #expect(throws: CommandFailure.self) { try test.store.nextClaims(for: link, .program) }

            var map = try #require(CBORDecoder.decode(link.file, mode: .strict).map)
            (map[12], map[13], map[14]) = (nil, nil, nil)
            try test.store.save(link)
            let path =
                folder.path + "/"
                + (try #require(TestFile.contents(below: folder.path).keys.first { $0.hasSuffix(".cbor") }))
            for (version, number) in [(CBORValue?.none, CBORValue?.none), (2, 7)] {
                (map[0], map[11]) = (version, number)
                try Data(CBOREncoder.encode(map)).write(to: URL(fileURLWithPath: path))
                _ = test.takeWarnings()
                #expect(try test.store.links().isEmpty)
                let warnings = test.takeWarnings()
                #expect(warnings.count == 1 && warnings[0].hasSuffix("remove it, and link this phone again"))
            }
        }
    }

    @Test("A link survives its file, whose mode is 0600; reading creates nothing")
    func roundTrip() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            #expect(try test.store.links().isEmpty)
            #expect(TestFile.contents(below: folder.path).isEmpty)
            for requiresProof in [true, false] {
                let link = try TestStore.link(
                    requiresProof: requiresProof,
                    evidence: requiresProof ? .verified : .unverified,
                    verifyingKey: requiresProof ? "SHA256:abc" : nil,
                    showedCode: requiresProof
                )
                try test.store.save(link)
                let read = try #require(try test.store.links(to: link.id).first)
                #expect(
                    read.file == link.file && read.requiresProof == requiresProof && read.lastNumber == 7
                        && read.secret == link.secret
                )
                #expect(read.evidence == link.evidence && read.verifyingKey == link.verifyingKey)
                #expect(read.showedCode == requiresProof)
                var status = stat()
                #expect(lstat("\(test.path)/\(link.id).cbor", &status) == 0 && status.st_mode & 0o777 == 0o600)
                #expect(link.id.count == 16)
            }
            var status = stat()
            #expect(lstat(test.path, &status) == 0 && status.st_mode & 0o777 == 0o700)
            #expect(try test.store.links().count == 2 && test.takeWarnings().isEmpty)
        }
    }

    @Test("The file is canonical CBOR with the documented keys")
    func format() throws {
        let link = try TestStore.link()
        let map = try #require(try CBORDecoder.decode(link.file, mode: .strict).map)
        #expect(Set(map.keys) == Set((0...14).map { .integer($0) }))
        #expect(map[2]?.bytes == link.linkID.bytes && map[6] == .integer(266) && map[10] == .boolean(true))
        #expect(map[3]?.bytes?.count == 32 && map[4]?.bytes?.count == 65 && map[5] == .text("Pixel 8"))
        #expect(map[0] == 3 && map[12] == 2 && map[13] == .text("SHA256:abc") && map[14] == .boolean(true))
        let website = try TestStore.link(evidence: .unverified, showedCode: false)
        let plain = try #require(try CBORDecoder.decode(website.file, mode: .strict).map)
        #expect(plain[12] == 1 && plain[13] == nil && plain[14] == nil)
        #expect(map[7] == .integer(1_700_000_000) && map[8] == .integer(1_800_000_000) && map[9] == .bytes([0xA0]))
    }

    @Test("Truncated, extended and changed files never crash, and are no links unless they are well formed")
    func damage() throws {
        let bytes = try TestStore.link().file
        for damaged in Damage.truncations(of: bytes) + [bytes + [0], []] { #expect(StoredLink(file: damaged) == nil) }
        for damaged in Damage.someBitFlips(of: bytes) {
            // A flip in a value without structure is another valid file.
            if let link = StoredLink(file: damaged) { #expect(link.file.count <= damaged.count) }
        }
        let map = try #require(try CBORDecoder.decode(bytes, mode: .strict).map)
        let long = [UInt8](repeating: 0, count: StoredLink.maximumInfoLength + 1)
        // No number follows the highest.
        let wrong: [(Int, CBORValue)] = [
            (0, 4), (9, .bytes(long)), (10, .boolean(false)), (11, .boolean(true)), (11, .unsigned(.max)), (12, 3),
            // Evidence of the website has no key.
            (12, 1), (13, 1), (13, .text("")), (13, .text("a b")), (13, .text(String(repeating: "x", count: 65))),
            (14, .boolean(false)), (15, 1),
        ]
        for (key, value) in (0...12).filter({ $0 != 10 }).map({ ($0, CBORValue?.none) }) + wrong {
            var changed = map
            changed[.integer(key)] = value
            #expect(StoredLink(file: CBOREncoder.encode(changed)) == nil, "key \(key)")
        }
    }

    @Test("A damaged file is named and skipped; the other links remain")
    func damagedFile() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let (good, bad) = (try TestStore.link("good"), try TestStore.link("bad"))
            try test.store.save(good)
            try test.store.save(bad)
            try TestFile.write("damaged", to: "\(test.path)/\(bad.id).cbor")
            // The contents of another phone's file.
            try Data(good.file).write(to: URL(fileURLWithPath: "\(test.path)/0011223344556677.cbor"))
            symlink("/etc/hostname", "\(test.path)/8899aabbccddeeff.cbor")
            #expect(try test.store.links().map(\.id) == [good.id])
            let warnings = test.takeWarnings()
            #expect(warnings.count == 3 && warnings.contains { $0.contains("\(test.path)/\(bad.id).cbor") })
            try test.store.save(bad)
            #expect(try test.store.links().count == 2)
        }
    }

    @Test("A folder that others can enter is refused")
    func permissions() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            try test.store.save(try TestStore.link())
            chmod(test.path, 0o750)
            #expect(throws: CommandFailure.self) { try test.store.links() }
            #expect(throws: CommandFailure.self) { try test.store.save(try TestStore.link()) }
        }
    }

    @Test("The same phone replaces its link; the 33rd phone is refused")
    func limit() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let key = P256.KeyAgreement.PrivateKey()
            try test.store.save(try TestStore.link("old", key: key))
            for number in 2...LinkStore.maximumCount { try test.store.save(try TestStore.link("phone \(number)")) }
            let failure = #expect(throws: CommandFailure.self) { try test.store.save(try TestStore.link("33rd")) }
            #expect(failure?.code == "too-many-phones")
            try test.store.save(try TestStore.link("new", key: key))
            let names = try test.store.links().map(\.name.description)
            #expect(names.count == 32 && names.contains("new") && !names.contains("old") && !names.contains("33rd"))
        }
    }

    @Test("Links are found by name or ID, the last used first, and can be renamed and forgotten")
    func changes() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let older = try TestStore.link("Pixel", lastUsed: 1)
            let newer = try TestStore.link("Pixel", lastUsed: 2)
            let other = try TestStore.link("Other", lastUsed: 3)
            for link in [older, newer, other] { try test.store.save(link) }
            #expect(try test.store.links().map(\.id) == [other.id, newer.id, older.id])
            #expect(try test.store.links(to: "Pixel").map(\.id) == [newer.id, older.id])
            #expect(try test.store.links(to: older.id).map(\.id) == [older.id])
            #expect(LinkedPhones.lastUsed(try test.store.links(), for: .getAssertion).map(\.id) == [other.id])
            #expect(LinkedPhones.lastUsed(try test.store.links(), for: .makeCredential).isEmpty)
            #expect(try test.store.update(older) { $0.name = PhoneName("Renamed") })
            #expect(try test.store.links(to: "Renamed").map(\.id) == [older.id])
            #expect(try test.store.remove(older))
            #expect(try !test.store.remove(older) && test.store.links().count == 2)
        }
    }

    @Test("The last link of a relay takes the TLS sessions with it, an earlier one does not")
    func tlsSessions() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let (first, last) = (try TestStore.link(), try TestStore.link())
            for link in [first, last] { try test.store.save(link) }
            let key = TLSSessions.Key(host: first.domain.host, anchors: [])
            let session = try #require([UInt8](1...100).withUnsafeBytes(TLSSession.init(bytes:)))
            test.store.tlsSessions.put(session, for: key)
            #expect(try test.store.remove(first))
            let kept = try #require(test.store.tlsSessions.take(key))
            test.store.tlsSessions.put(kept, for: key)
            try TestFile.write("interrupted", to: "\(test.path)/.0123.tls.new")
            try TestFile.write("damaged", to: "\(test.path)/0011223344556677.cbor")
            // Not a file, so it cannot be removed.
            #expect(mkdir("\(test.path)/folder.tls", 0o700) == 0)
            #expect(try test.store.remove(last))
            #expect(test.store.tlsSessions.take(key) == nil)
            #expect(Set(TestFile.contents(below: test.path).keys) == [".lock", "0011223344556677.cbor"])
            #expect(test.takeWarnings().isEmpty)
        }
    }

    @Test("A link that was replaced meanwhile is neither changed nor removed")
    func replaced() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let key = P256.KeyAgreement.PrivateKey()
            let (old, new) = (try TestStore.link("old", key: key), try TestStore.link("new", key: key))
            try test.store.save(old)
            try test.store.save(new)
            #expect(try !test.store.update(old) { $0.name = PhoneName("changed") })
            #expect(try !test.store.remove(old))
            #expect(try test.store.links().map(\.name.description) == ["new"])
        }
    }

    @Test("A name that another phone has gets a number, in any case of its letters; a phone keeps its own name")
    func freeNames() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let link = try TestStore.link()
            #expect(try test.store.freeName(for: link) == link.name)
            try test.store.save(link)
            #expect(try test.store.freeName(for: link) == link.name)
            let second = try TestStore.link("pixel 8")
            #expect(try test.store.freeName(for: second).description == "pixel 8 (2)")
            try test.store.save(try TestStore.link("Pixel 8 (2)"))
            #expect(try test.store.freeName(for: second).description == "pixel 8 (3)")
            let long = String(repeating: "x", count: 64)
            try test.store.save(try TestStore.link(long))
            #expect(try test.store.freeName(for: TestStore.link(long)).description.hasSuffix(" (2)"))
        }
    }
}
