// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
internal import HybridSystemBus

extension BluetoothRadio {
    /// Begins to take L2CAP channels on this adapter, under a number that the kernel chooses.
    ///
    /// - Throws: ``L2CAPError``.
    public func listener() async throws(L2CAPError) -> L2CAPListener {
        try L2CAPListener.start(at: try await ownAddress())
    }

    /// The way to who sent an advert, to be asked for while the scan that heard it goes on.
    ///
    /// - Throws: ``L2CAPError``.
    public func route(to heard: ReceivedAdvert, psm: L2CAPPSM) async throws(L2CAPError) -> L2CAPRoute {
        let own = try await ownAddress()
        guard let other = await address(heard.device.path, BlueZ.device) else { throw .addressUnknown }
        return L2CAPRoute(from: own, to: other, psm: psm)
    }

    /// A virtual bus must not lead to a real radio: what it tells is made up.
    private func ownAddress() async throws(L2CAPError) -> DeviceAddress {
        guard !isVirtual else { throw .virtualRadio }
        guard let own = await address(link.adapter.path, BlueZ.adapter) else { throw .addressUnknown }
        return own
    }

    private func address(_ path: String, _ interface: String) async -> DeviceAddress? {
        let answer = try? await link.connection.call(
            link.owner,
            path,
            BusNames.properties,
            "GetAll",
            [.string(interface)],
            timeout: BlueZ.patience
        )
        let properties = answer?.first?.fields
        return DeviceAddress(text: properties?["Address"]?.text, type: properties?["AddressType"]?.text)
    }
}
