// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
internal import HybridSystemBus

extension BluetoothRadio {
    /// Starts to accept L2CAP channels on this adapter, with a PSM that the kernel chooses.
    ///
    /// - Throws: ``L2CAPError``.
    public func listener() async throws(L2CAPError) -> L2CAPListener {
        try L2CAPListener.start(at: try await ownAddress())
    }

    /// Returns the route to the sender of an advert.
    ///
    /// To be called while the scan that received it is in progress.
    ///
    /// - Throws: ``L2CAPError``.
    public func route(to advert: ReceivedAdvert, psm: L2CAPPSM) async throws(L2CAPError) -> L2CAPRoute {
        let own = try await ownAddress()
        guard let other = await address(advert.device.path, BlueZ.device) else { throw .addressUnknown }
        return L2CAPRoute(from: own, to: other, psm: psm)
    }

    /// Returns the adapter's address.
    ///
    /// Fails on a virtual bus, whose devices are simulated, so that it never leads to a real radio.
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
            timeout: BlueZ.timeout
        )
        let properties = answer?.first?.fields
        return DeviceAddress(text: properties?["Address"]?.text, type: properties?["AddressType"]?.text)
    }
}
