// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
internal import HybridDBus

/// Service data that has the format of an advert.
///
/// Only decryption can show that the advert is for this client.
public struct ReceivedAdvert: Sendable {
    /// The first 20 bytes.
    public let advert: Advert
    /// The bytes after the first 20, which are unauthenticated.
    ///
    /// CTAP 2.3 defines a CBOR map for them.
    public let suffix: [UInt8]
    /// The UUID under which the bytes were sent.
    public let serviceUUID: AdvertServiceUUID
    /// The signal strength in dBm, if known.
    public let rssi: Int?
    /// The path of BlueZ's object for the sender.
    ///
    /// The path contains the device's address, so it is never shown.
    let device: String

    /// Returns the adverts in the properties of a Device1 object: at most one for each service UUID.
    static func all(in properties: [String: BusValue], of device: String) -> [ReceivedAdvert] {
        guard let services = properties["ServiceData"]?.fields else { return [] }
        var rssi: Int?
        // 127 means "not available".
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
