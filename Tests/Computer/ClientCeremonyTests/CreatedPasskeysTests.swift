// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Glibc
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridClientCeremony

@Suite("The public keys of passkeys that were created through this computer", .timeLimit(.minutes(5)))
struct CreatedPasskeysTests {
    private let site: RelyingPartyID

    init() throws { site = try #require(RelyingPartyID("example.com")) }

    private func id(_ number: Int) throws -> CredentialID {
        try #require(CredentialID(bytes: [UInt8(number >> 8), UInt8(number & 0xFF), 7, 7]))
    }

    private func credential(_ number: Int, _ key: P256.Signing.PrivateKey) throws -> AttestedCredential {
        AttestedCredential(aaguid: .zero, id: try id(number), publicKey: COSEKey(key.publicKey))
    }

    private func isKnown(_ number: Int, _ store: CreatedPasskeys) throws -> Bool {
        store.keys().key(try id(number), of: site) != nil
    }

    @Test("A key is found by credential ID and website, in a file for its user that names no website")
    func roundTrip() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let passkeys = test.store.createdPasskeys
            let key = P256.Signing.PrivateKey()
            #expect(try !isKnown(1, passkeys))
            #expect(TestFile.contents(below: folder.path).isEmpty, "reading creates nothing")
            passkeys.add(try credential(1, P256.Signing.PrivateKey()), of: site)
            passkeys.add(try credential(2, P256.Signing.PrivateKey()), of: site)
            passkeys.add(try credential(1, key), of: site)
            let keys = passkeys.keys()
            let first = try id(1)
            #expect(keys.key(first, of: site)?.p256?.x963Representation == key.publicKey.x963Representation)
            #expect(try isKnown(2, passkeys) && !isKnown(3, passkeys))
            let other = try #require(RelyingPartyID("example.org"))
            #expect(keys.key(first, of: other) == nil)
            let path = "\(test.path)/\(CreatedPasskeys.fileName)"
            var status = stat()
            #expect(lstat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
            let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            #expect(bytes.firstRange(of: Array("example".utf8)) == nil)
            #expect(bytes.firstRange(of: first.bytes) == nil && bytes == keys.file)
            // It is no link.
            #expect(try test.store.links().isEmpty && test.takeWarnings().isEmpty)
        }
    }

    @Test("A signature is verified with the key of the passkey that is named, and no other")
    func verification() async throws {
        try await TestFolder.with { folder in
            let passkeys = TestStore(in: folder).store.createdPasskeys
            let key = P256.Signing.PrivateKey()
            passkeys.add(try credential(1, key), of: site)
            let keys = passkeys.keys()
            let genuine = try response(1, signedBy: key)
            #expect(keys.verifies(genuine, to: try request(1)) == true)
            let unnamed = try response(nil, signedBy: key)
            #expect(keys.verifies(unnamed, to: try request(1)) == true)
            let forged = try response(1, signedBy: P256.Signing.PrivateKey())
            #expect(keys.verifies(forged, to: try request(1)) == false)
            // A stranger's phone signs with its own passkey, which was not asked for.
            let other = try response(2, signedBy: P256.Signing.PrivateKey())
            #expect(keys.verifies(other, to: try request(1)) == false)
            // A passkey that was created elsewhere.
            #expect(keys.verifies(other, to: try request(2)) == nil)
            #expect(keys.verifies(other, to: try request(1, 2)) == nil)
        }
    }

    private func request(_ numbers: Int...) throws -> GetAssertionRequest {
        GetAssertionRequest(
            relyingPartyID: site,
            clientDataHash: try #require(ClientDataHash(bytes: [UInt8](repeating: 0, count: 32))),
            allowList: try numbers.map { CredentialDescriptor(id: try id($0)) },
            userVerification: true
        )
    }

    private func response(_ number: Int?, signedBy key: P256.Signing.PrivateKey) throws -> CTAPResponse {
        let data = AuthenticatorData(relyingPartyIDHash: site.hash, flags: [.userPresent], signatureCount: 0)
        let signature = try key.signature(for: data.encoded + [UInt8](repeating: 0, count: 32))
        let assertion = GetAssertionResponse(
            credential: try number.map { CredentialDescriptor(id: try id($0)) },
            authenticatorData: data,
            signature: Array(signature.derRepresentation)
        )
        return .success(assertion.encoded)
    }

    @Test("The oldest of more than 256 passkeys is dropped")
    func limit() async throws {
        try await TestFolder.with { folder in
            let passkeys = TestStore(in: folder).store.createdPasskeys
            let key = P256.Signing.PrivateKey()
            for number in 0...CreatedPasskeys.maximumCount { passkeys.add(try credential(number, key), of: site) }
            #expect(try !isKnown(0, passkeys) && isKnown(1, passkeys))
            #expect(try isKnown(CreatedPasskeys.maximumCount, passkeys))
        }
    }

    @Test("A damaged file is named in a warning and is left alone; no key is known")
    func damaged() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let passkeys = test.store.createdPasskeys
            passkeys.add(try credential(1, P256.Signing.PrivateKey()), of: site)
            let path = "\(test.path)/\(CreatedPasskeys.fileName)"
            try TestFile.write("damaged", to: path)
            #expect(try !isKnown(1, passkeys))
            passkeys.add(try credential(2, P256.Signing.PrivateKey()), of: site)
            let warnings = test.takeWarnings()
            #expect(warnings.count == 2 && warnings.allSatisfy { $0.hasPrefix("\(path) is damaged") }, "\(warnings)")
            #expect(TestFile.text(path) == "damaged")
            chmod(test.path, 0o755)
            #expect(try !isKnown(1, passkeys) && test.takeWarnings().count == 1)
        }
    }

    @Test("Malformed files have no keys, and damaged ones never crash")
    func malformed() async throws {
        try await TestFolder.with { folder in
            let passkeys = TestStore(in: folder).store.createdPasskeys
            for number in 0..<2 { passkeys.add(try credential(number, P256.Signing.PrivateKey()), of: site) }
            let bytes = passkeys.keys().file
            for damaged in Damage.truncations(of: bytes) + [bytes + [0], []] {
                #expect(CreatedPasskeys.Keys(file: damaged) == nil)
            }
            for damaged in Damage.someBitFlips(of: bytes) {
                if let keys = CreatedPasskeys.Keys(file: damaged) { #expect(keys.file.count == bytes.count) }
            }
            let map = try #require(try CBORDecoder.decode(bytes, mode: .strict).map)
            let entry = try #require(map[1]?.array?.first)
            let many = [CBORValue](repeating: entry, count: CreatedPasskeys.maximumCount + 1)
            let wrong: [(CBORValue, CBORValue)] = [
                (0, 2), (1, .array([.array([entry])])), (1, .array(many)), (2, 1),
            ]
            for (key, value) in wrong {
                var changed = map
                changed[key] = value
                #expect(CreatedPasskeys.Keys(file: CBOREncoder.encode(changed)) == nil, "key \(key)")
            }
        }
    }
}
