// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridDBus
import HybridVirtualBlueZ
import IntegrationTestSupport
import Testing

@testable import HybridBLEAdvert

@Suite("L2CAP channels", .timeLimit(.minutes(10)))
struct L2CAPTests {
    @Test("A virtual radio never leads to a real one")
    func virtual() async throws {
        let sent = try advert(1)
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser, "hci0") { phone in
                await #expect(throws: L2CAPError.virtualRadio) { try await phone.acceptingSocket() }
                try await phone.withAdvert(sent) { _ in
                    try await testRadio.radio(.scanner, "hci1") { scanner in
                        let received = try await scanner.withScan { try await $0.received(until: sent) }
                        let psm = try #require(L2CAPPSM(0x80))
                        await #expect(throws: L2CAPError.virtualRadio) {
                            try await scanner.route(to: try #require(received.last), psm: psm)
                        }
                    }
                }
            }
        }
    }

    @Test("An advert with a PSM is connectable and has 31 bytes with its flags")
    func connectableAdvert() async throws {
        let psm = try #require(L2CAPPSM(0x82))
        let sent = try advert(2)
        let plain = AdvertObject(sent, psm: nil, withInterval: true) {}
        let connectable = AdvertObject(sent, psm: psm, withInterval: true) {}
        #expect(plain.properties["Type"] == .string("broadcast"))
        #expect(connectable.properties["Type"] == .string("peripheral"))
        func data(_ object: AdvertObject) -> [UInt8]? {
            object.properties["ServiceData"]?.fields?[AdvertServiceUUID.fido.fullText]?.octets
        }
        #expect(data(plain) == sent.bytes)
        #expect(data(connectable) == sent.bytes + [0xA1, 0x01, 0x18, 0x82])
        // Length, type and UUID precede the data. The flags take three bytes.
        #expect(3 + 4 + (try #require(data(connectable)).count) == 31)
        #expect(connectable.properties["ServiceUUIDs"] == nil && connectable.properties["LocalName"] == nil)
    }

    @Test("Addresses are parsed strictly and never shown")
    func addresses() throws {
        let address = try #require(BluetoothAddress(text: "00:AA:01:02:03:FF", type: "public"))
        let other = try #require(BluetoothAddress(text: "00:aa:01:02:03:ff", type: "random"))
        #expect(address != other)
        #expect(address == BluetoothAddress(text: "00:aa:01:02:03:ff", type: "public"))
        // Family, PSM, address and channel ID, all little-endian; then the address type.
        let raw = withUnsafeBytes(of: address.socketAddress(psm: 0x82)) { Array($0) }
        #expect(raw.prefix(13) == [31, 0, 0x82, 0, 0xFF, 3, 2, 1, 0xAA, 0, 0, 0, 1])
        #expect(withUnsafeBytes(of: other.socketAddress(psm: 0)) { Array($0) }.prefix(13).last == 2)
        for shown in ["\(address)", String(reflecting: address), String(describing: Optional(address))] {
            #expect(!shown.uppercased().contains("AA") && !shown.contains("170"), "\(shown)")
        }
        var dumped = ""
        dump(address, to: &dumped)
        #expect(!dumped.contains("170"), "\(dumped)")
        let wrong = [
            nil, "", "00:AA:01:02:03", "00:AA:01:02:03:FF:00", "00:AA:01:02:03:F", "0:0AA:01:02:03:FF",
            "+0:AA:01:02:03:FF", "-0:AA:01:02:03:FF", "00-AA-01-02-03-FF", "00:AA:01:02:03:FG",
            "00:AA:01:02:03:F\u{FF10}",
        ]
        for text in wrong { #expect(BluetoothAddress(text: text, type: "public") == nil, "\(text ?? "")") }
        #expect(BluetoothAddress(text: "00:AA:01:02:03:FF", type: "private") == nil)
        #expect(BluetoothAddress(text: "00:AA:01:02:03:FF", type: nil) == nil)
    }
}
