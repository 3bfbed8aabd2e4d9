// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCaBLE

@Suite("Adverts")
struct AdvertTests {
    private static func drawn(_ random: inout SeededGenerator) throws -> (EIDKey, EID) {
        let key = QRSecret(using: &random).eidKey
        let domain = try #require(TunnelDomain(id: UInt16.random(in: 256 ... .max, using: &random)))
        return (key, EID(routingID: RoutingID(checked: random.bytes(3)), domain: domain, using: &random))
    }

    @Test("Adverts are encrypted and decrypted, with and without a suffix of CTAP 2.3")
    func roundTrip() throws {
        var random = SeededGenerator()
        for _ in 0..<100 {
            let (key, eid) = try Self.drawn(&random)
            let advert = eid.sealed(with: key)
            #expect(EID.open(advert, with: key) == eid, "\(random)")
            #expect(Advert(serviceData: advert.bytes) == advert)
            for suffix in [1, 4, 234] {
                let data = advert.bytes + random.bytes(suffix)
                let heard = try #require(Advert(serviceData: data))
                #expect(EID.open(heard, with: key) == eid, "\(random)")
            }
            #expect(Advert(serviceData: advert.bytes + random.bytes(235)) == nil)
        }
    }

    @Test("A suffix with a PSM takes four bytes, so that it fits into a legacy advert")
    func suffix() throws {
        for number in 0x80...0xFF {
            let psm = try #require(L2CAPPSM(number))
            let encoded = AdvertSuffix(psm: psm).encoded
            #expect(encoded == [0xA1, 0x01, 0x18, UInt8(number)])
            #expect(AdvertSuffix(reading: encoded).psm == psm)
        }
        for number in [0, 1, 0x25, 0x7F, 0x100, 0xFFFF] { #expect(L2CAPPSM(number) == nil) }
    }

    @Test("An unknown suffix counts as absent")
    func strangeSuffix() {
        let understood: [[UInt8]] = [
            [0xA2, 0x01, 0x18, 0x82, 0x07, 0x01], [0xA2, 0x07, 0xF6, 0x01, 0x18, 0x82], [0xA1, 0x01, 0x19, 0x00, 0x82],
        ]
        for bytes in understood { #expect(AdvertSuffix(reading: bytes).psm?.rawValue == 0x82, "\(bytes)") }
        let strange: [[UInt8]] = [
            [], [0xA0], [0xA1], [0xA1, 0x01], [0xA1, 0x01, 0x18], [0xA1, 0x00, 0x18, 0x82], [0xA1, 0x01, 0x05],
            [0xA1, 0x01, 0x19, 0x01, 0x00], [0xA1, 0x01, 0x20], [0xA1, 0x01, 0x41, 0x82], [0x81, 0x18, 0x82],
            [0xA1, 0x01, 0x18, 0x82, 0x00], [0xA1, 0x01, 0x1B] + [UInt8](repeating: 0xFF, count: 8),
        ]
        for bytes in strange { #expect(AdvertSuffix(reading: bytes).psm == nil, "\(bytes)") }
        var random = SeededGenerator()
        for _ in 0..<2000 { _ = AdvertSuffix(reading: random.bytes(random.number(0...40))) }
    }

    @Test("Two adverts of one tunnel differ, because their nonces are random")
    func freshNonce() throws {
        var random = SeededGenerator()
        let (key, first) = try Self.drawn(&random)
        let domain = try #require(first.domain)
        let second = EID(routingID: first.routingID, domain: domain, using: &random)
        #expect(first != second)
        #expect(first.sealed(with: key) != second.sealed(with: key))
        #expect(second.routingID == first.routingID)
    }

    @Test("Truncated adverts are rejected, and flipping any bit prevents decryption")
    func damage() throws {
        var random = SeededGenerator()
        for _ in 0..<20 {
            let (key, eid) = try Self.drawn(&random)
            let bytes = eid.sealed(with: key).bytes
            for shorter in Damage.truncations(of: bytes) {
                #expect(Advert(bytes: shorter) == nil)
                #expect(Advert(serviceData: shorter) == nil)
            }
            #expect(Advert(bytes: bytes + [0]) == nil)
            for flipped in Damage.bitFlips(of: bytes) {
                let advert = try #require(Advert(bytes: flipped))
                #expect(EID.open(advert, with: key) == nil, "\(random)")
                #expect(EID.open(advert, with: key, for: .linked) == nil, "\(random)")
            }
        }
    }

    @Test("The key of another QR code decrypts nothing")
    func foreign() throws {
        var random = SeededGenerator()
        for _ in 0..<200 {
            let (key, eid) = try Self.drawn(&random)
            let other = QRSecret(using: &random).eidKey
            #expect(EID.open(eid.sealed(with: key), with: other) == nil, "\(random)")
            #expect(EID.open(Advert(checked: random.bytes(20)), with: key) == nil, "\(random)")
        }
    }

    @Test("The reserved byte must be zero", arguments: [EID.Ceremony.qr, .linked])
    func reserved(ceremony: EID.Ceremony) throws {
        var random = SeededGenerator()
        let keyBytes = random.bytes(64)
        let key = try #require(EIDKey(bytes: keyBytes))
        for first in 0...UInt8.max {
            let plaintext = [first] + random.bytes(13) + [0x0A, 0x01]
            let advert = Advert(checked: try OpenSSLOracle.advert(plaintext: plaintext, eidKey: keyBytes))
            #expect((EID.open(advert, with: key, for: ceremony) != nil) == (first == 0), "\(random)")
        }
    }

    @Test("An unassigned domain is rejected after a QR code and ignored for a linked authenticator")
    func unassigned() throws {
        var random = SeededGenerator()
        let keyBytes = random.bytes(64)
        let key = try #require(EIDKey(bytes: keyBytes))
        for id in UInt16(0)...300 {
            let plaintext = [0] + random.bytes(13) + [UInt8(id & 0xFF), UInt8(id >> 8)]
            let advert = Advert(checked: try OpenSSLOracle.advert(plaintext: plaintext, eidKey: keyBytes))
            let assigned = id < 2 || id > 255
            #expect((EID.open(advert, with: key) != nil) == assigned, "\(id)")
            let linked = try #require(EID.open(advert, with: key, for: .linked))
            #expect(linked.domainID == id)
            #expect((linked.domain != nil) == assigned)
        }
    }

    @Test("Values of other lengths are rejected")
    func lengths() throws {
        let domain = try #require(TunnelDomain(id: 266))
        let routing = try #require(RoutingID(bytes: [1, 2, 3]))
        for length in 0...70 {
            let bytes = [UInt8](repeating: 7, count: length)
            #expect((EID(nonce: bytes, routingID: routing, domain: domain) != nil) == (length == 10))
            #expect((RoutingID(bytes: bytes) != nil) == (length == 3))
            #expect((TunnelID(bytes: bytes) != nil) == (length == 16))
            #expect((QRSecret(bytes: bytes) != nil) == (length == 16))
            #expect((ContactNonce(bytes: bytes) != nil) == (length == 16))
            #expect((LinkSecret(bytes: bytes) != nil) == (length == 32))
            #expect((PSK(bytes: bytes) != nil) == (length == 32))
            #expect((HandshakeHash(bytes: bytes) != nil) == (length == 32))
            #expect((EIDKey(bytes: bytes) != nil) == (length == 64))
            #expect((LinkID(bytes: bytes) != nil) == (length == 8))
            #expect((ContactID(bytes: bytes) != nil) == (length >= 1))
        }
        #expect(ContactID(bytes: [UInt8](repeating: 7, count: 1024)) != nil)
        #expect(ContactID(bytes: [UInt8](repeating: 7, count: 1025)) == nil)
    }

    @Test("Both service UUIDs have BlueZ's form")
    func serviceUUIDs() {
        #expect(AdvertServiceUUID.fido.fullText == "0000fff9-0000-1000-8000-00805f9b34fb")
        #expect(AdvertServiceUUID.google.fullText == "0000fde2-0000-1000-8000-00805f9b34fb")
        #expect(AdvertServiceUUID.allCases.map(\.rawValue) == [0xFFF9, 0xFDE2])
    }

    @Test("Constant-time comparison gives correct results")
    func comparison() {
        #expect(ConstantTime.equal([], []))
        #expect(ConstantTime.equal([1, 2, 3], [1, 2, 3]))
        #expect(!ConstantTime.equal([1, 2, 3], [1, 2]))
        for flipped in Damage.bitFlips(of: [1, 2, 3, 4]) { #expect(!ConstantTime.equal(flipped, [1, 2, 3, 4])) }
    }
}
