// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridDBus
import TestSupport

@testable import HybridBLEAdvert

/// Reads the properties of a forged device.
///
/// Adverts must be found under the two UUIDs, with the right length, and nowhere else.
func fuzzReceivedAdvert(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    var entries: [BusEntry] = []
    var expected: [AdvertServiceUUID: [UInt8]?] = [:]
    let strength = choices.byte()
    for _ in 0..<8 where !choices.isEmpty {
        let uuid = choices.pick(uuids)
        let data = choices.bytes(choices.number(below: 300))
        let (value, octets) = choices.pick(forms)(data)
        entries.append(BusEntry(choices.number(below: 8) == 7 ? .objectPath(uuid) : .string(uuid), value))
        // The first of equal keys counts.
        let service = AdvertServiceUUID.allCases.first { $0.fullText == uuid.lowercased() }
        if let service, expected[service] == nil { expected[service] = .some(octets) }
    }
    let rssi: [String: BusValue] = strength < 200 ? ["RSSI": .int16(Int16(strength))] : [:]
    let properties = rssi.merging(["ServiceData": .dictionary("s", "v", entries), "Name": .string("x")]) { $1 }
    let received = ReceivedAdvert.all(in: properties, of: "/")
    try invariant(received.count == Set(received.map(\.serviceUUID)).count, "one advert for each UUID")
    for advert in received {
        try invariant((20...254).contains(20 + advert.suffix.count), "an advert has 20 to 254 bytes")
        try invariant(advert.rssi == (strength < 200 && strength != 127 ? Int(strength) : nil), "and its strength")
    }
    let found = Dictionary(received.map { ($0.serviceUUID, $0.advert.bytes + $0.suffix) }) { first, _ in first }
    let wanted = expected.compactMapValues(\.self).filter { (20...254).contains($0.value.count) }
    try invariant(found == wanted, "adverts are found where they are and nowhere else")
    return !received.isEmpty
}

private let uuids =
    AdvertServiceUUID.allCases.map(\.fullText) + ["0000fff9-0000-1000-8000-00805f9b34fc", "fff9", ""]

/// The forms of a value, and the bytes that the reader must find.
private let forms: [@Sendable ([UInt8]) -> (BusValue, [UInt8]?)] = [
    { (.variant(.bytes($0)), $0) },
    { (.variant(.bytes($0)), $0) },
    { (.bytes($0), $0) },
    { (.variant(.variant(.bytes($0))), $0) },
    { (.variant(.array("y", $0.map { .byte($0) })), nil) },
    { (.variant(.string(String(decoding: $0, as: UTF8.self))), nil) },
]
