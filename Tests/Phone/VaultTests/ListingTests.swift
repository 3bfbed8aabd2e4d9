// SPDX-License-Identifier: Apache-2.0

import Crypto
import ExchangeTestSupport
import HybridAuthenticator
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridVault

@Suite("Records without their secrets")
struct ListingTests {
    /// The order of the group of P-256.
    private static let order =
        Hex.decode("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", length: 32) ?? []

    private static func scalar(_ last: UInt8) -> [UInt8] { order.dropLast() + [last] }

    /// Returns a value with zeros in place of its byte strings.
    private static func zeros(_ value: CBORValue?) -> CBORValue? {
        switch value {
        case .bytes(let bytes): .bytes([UInt8](repeating: 0, count: bytes.count))
        case .map(let map): .map(CBORMap(map.entries.compactMap { key, value in zeros(value).map { (key, $0) } }))
        default: value
        }
    }

    @Test("A listing agrees with the whole record, and contains none of its secrets")
    func agrees() throws {
        var random = SeededGenerator()
        for _ in 0..<200 {
            let members = Exchange.randomBody(&random)
            let padded = RecordBody(kind: RecordBody.passkey, members: members).padded
            let listing = try #require(padded.withUnsafeBytes { RecordListing(padded: $0) }?.passkey)
            let body = PasskeyBody(members: members)
            let (whole, opened) = (body.passkey, padded.withUnsafeBytes { PasskeyListing.passkey(padded: $0) })
            #expect(listing.isUsable == (whole != nil), "\(random)")
            #expect(listing.isDiscoverable == (whole?.isDiscoverable ?? false), "\(random)")
            #expect(listing.signedDataKind == body.signedDataKind, "\(random)")
            #expect(opened?.signedDataKind == whole?.signedDataKind, "\(random)")
            #expect(listing.hasPRFSecret == (whole?.prfSecret != nil), "\(random)")
            #expect(listing.id == body.id && listing.relyingParty == body.relyingParty, "\(random)")
            #expect(listing.user == body.user && listing.order == body.order, "\(random)")
            #expect(listing.created == body.created && listing.isImported == body.isImported, "\(random)")
            #expect(opened?.privateKey.rawRepresentation == whole?.privateKey.rawRepresentation, "\(random)")
            #expect(opened?.isBackupEligible == whole?.isBackupEligible, "\(random)")
            let secrets = [opened, whole].map { $0?.prfSecret?.withUnsafeBytes { Array($0) } }
            #expect(secrets[0] == secrets[1], "\(random)")
            let kept = try #require(Mirror(reflecting: listing).descendant("body") as? PasskeyBody).members
            for name in members.keys {
                let expected = ["key", "prf", "prf0"].contains(name) ? Self.zeros(members[name]) : members[name]
                #expect(kept[name] == expected, "\(name) \(random)")
            }
            #expect(kept.count == members.count, "\(random)")
        }
    }

    @Test(
        "A private key outside of the group makes a passkey unusable",
        arguments: [
            ([UInt8](repeating: 0, count: 32), false), ([UInt8](repeating: 0, count: 31) + [1], true),
            (scalar(0x50), true), (scalar(0x51), false), (scalar(0x52), false),
            ([UInt8](repeating: 0xFF, count: 32), false), ([UInt8](repeating: 1, count: 31), false), ([], false),
        ]
    )
    func scalars(key: [UInt8], isUsable: Bool) throws {
        var members = PasskeyBody(try .fresh(), order: 1, created: 1).members
        members["key"] = .bytes(key)
        let padded = RecordBody(kind: RecordBody.passkey, members: members).padded
        #expect(padded.withUnsafeBytes { RecordListing(padded: $0) }?.passkey?.isUsable == isUsable)
        #expect((PasskeyBody(members: members).passkey != nil) == isUsable)
        #expect((padded.withUnsafeBytes { PasskeyListing.passkey(padded: $0) } != nil) == isUsable)
    }

    @Test("Tombstones and records of later versions are no passkeys")
    func otherKinds() throws {
        let members = PasskeyBody(try .fresh(), order: 1, created: 1).members
        for kind in [RecordBody.tombstone, 3] as [UInt8] {
            let padded = RecordBody(kind: kind, members: members).padded
            let listing = try #require(padded.withUnsafeBytes { RecordListing(padded: $0) })
            #expect(listing.kind == kind && listing.passkey == nil)
            #expect(listing.isDeleted == (kind == RecordBody.tombstone))
            #expect(padded.withUnsafeBytes { PasskeyListing.passkey(padded: $0) } == nil)
        }
    }
}
