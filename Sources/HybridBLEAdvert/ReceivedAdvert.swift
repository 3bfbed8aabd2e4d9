// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
internal import HybridSystemBus

/// Service data that has the shape of an advert; whether it is for us only its decryption tells.
public struct ReceivedAdvert: Sendable {
    /// The first 20 bytes.
    public let advert: Advert
    /// What follows them, unauthenticated; CTAP 2.3 puts a CBOR map there.
    public let suffix: [UInt8]
    /// The UUID under which the bytes were sent.
    public let serviceUUID: AdvertServiceUUID
    /// Signal strength in dBm, if the radio told.
    public let rssi: Int?
    /// Who sent it.
    let device: ScannedDevice

    /// Reads the properties of a Device1 object; there may be an advert under each of the UUIDs.
    static func all(in properties: [String: BusValue], of device: ScannedDevice) -> [ReceivedAdvert] {
        guard let services = properties["ServiceData"]?.fields else { return [] }
        var rssi: Int?
        // 127 is the controller's word for "not available".
        if case .int16(let strength) = properties["RSSI"], strength != 127 { rssi = Int(strength) }
        return AdvertServiceUUID.allCases.compactMap { uuid in
            let name = uuid.fullText
            let data = (services[name] ?? services.first { $0.key.lowercased() == name }?.value)?.octets
            guard let data, let advert = Advert(serviceData: data) else { return nil }
            return ReceivedAdvert(
                advert: advert,
                suffix: Array(data.dropFirst(Advert.length)),
                serviceUUID: uuid,
                rssi: rssi,
                device: device
            )
        }
    }
}

/// BlueZ's object for a device that was heard.
///
/// Its path has the device's address in it, so it is shown to nobody.
struct ScannedDevice: Sendable {
    let path: String
}
