// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
package import HybridDBus
internal import HybridPrimitives

/// A Bluetooth adapter, used through BlueZ's D-Bus interface.
///
/// The authenticator advertises 20 encrypted bytes, and the client scans for them. On each device, bluetoothd owns the
/// radio and is called over the system bus. A received advert proves that the authenticator is nearby, as far as a
/// radio signal can prove that. All other messages of a ceremony could come from anywhere.
///
/// `open` finds bluetoothd and an adapter that is on. `withAdvert` exports an object that bluetoothd reads, and the
/// advert is sent until the body ends. `withScan` starts discovery and passes adverts to the body. Both clean up before
/// they return, even if they throw or the task is canceled. All operations use one bus connection, so bluetoothd cleans
/// up if the process dies.
///
/// An advert can also announce an L2CAP channel, over which the devices communicate without a network. The kernel
/// provides these channels; `acceptingSocket` and `route` use BlueZ only to find addresses. A virtual bus has no
/// channels.
///
/// The bus daemon guarantees names, and only root can own `org.bluez` on the system bus. On any other bus (`isVirtual`)
/// every program can impersonate bluetoothd, so an advert proves nothing. Adverts come from unauthenticated senders.
public final class BluetoothRadio: Sendable {
    /// The purpose for which a radio is opened.
    public enum Role: Sendable {
        /// Sends adverts, as an authenticator does.
        case advertiser
        /// Receives adverts, as a client does.
        case scanner
    }

    /// The adapter in use.
    public let adapter: AdapterName
    /// True if the bus is not the system bus, so that a received advert does not prove that the phone is nearby.
    public let isVirtual: Bool
    /// The cause and the remedy if the radio counts as virtual only because the system's bus cannot be verified.
    public let unverifiedBus: String?

    let link: BlueZAdapter
    private let registeredAdverts: RegisteredAdverts
    /// The arguments with which the radio was opened, for `reopened`.
    private let origin: (adapter: AdapterName?, role: Role, address: BusAddress)

    private init(link: BlueZAdapter, registeredAdverts: RegisteredAdverts, origin: (AdapterName?, Role, BusAddress)) {
        self.link = link
        self.registeredAdverts = registeredAdverts
        self.origin = origin
        adapter = link.adapter
        isVirtual = !link.connection.isSystemBus
        unverifiedBus = link.connection.origin.doubt
    }

    /// Finds bluetoothd and an adapter on the bus that `DBUS_SYSTEM_BUS_ADDRESS` names; by default on the system bus.
    ///
    /// - Parameters:
    ///   - adapter: The adapter to use. If `nil`, the first one that is on is used; for an advertiser, the first one
    ///     with a free advertising slot is preferred.
    ///   - role: The purpose for which the radio is opened.
    public static func open(adapter: AdapterName?, for role: Role) async throws(RadioError) -> BluetoothRadio {
        try await open(adapter: adapter, for: role, on: .system)
    }

    /// Finds bluetoothd and an adapter on the bus at `address`.
    package static func open(
        adapter wanted: AdapterName?,
        for role: Role,
        on address: BusAddress
    ) async throws(RadioError) -> BluetoothRadio {
        let registeredAdverts = RegisteredAdverts()
        let connection: BusConnection
        do throws(BusError) {
            connection = try await BusConnection.connect(
                to: address,
                reading: BlueZ.scanProperties,
                handler: registeredAdverts.answer
            )
        } catch {
            throw RadioError(error)
        }
        do throws(RadioError) {
            let (owner, objects) = try await findObjects(connection)
            let adapter = try AdapterState.choose(from: AdapterState.all(in: objects), named: wanted, for: role)
            registeredAdverts.setReader(owner)
            return BluetoothRadio(
                link: BlueZAdapter(connection: connection, owner: owner, adapter: adapter),
                registeredAdverts: registeredAdverts,
                origin: (wanted, role, address)
            )
        } catch {
            await connection.close()
            throw error
        }
    }

    /// The time between two attempts to reopen the radio.
    private static let retryInterval = Duration.milliseconds(500)

    /// Waits until Bluetooth is usable again after it was turned off, unplugged or restarted, and returns a new radio.
    ///
    /// If no adapter was named when this radio was opened, the new one may use another adapter.
    ///
    /// - Throws: `RadioError` if its `isTemporary` is false, `CancellationError`.
    public func reopened() async throws -> BluetoothRadio {
        while true {
            // Poll, because there may be no bus or service that could send a signal.
            try await Task.sleep(for: Self.retryInterval)
            do throws(RadioError) {
                return try await Self.open(adapter: origin.adapter, for: origin.role, on: origin.address)
            } catch {
                guard error.isTemporary else { throw error }
            }
        }
    }

    /// Returns bluetoothd's unique name and its objects.
    static func findObjects(_ connection: BusConnection) async throws(RadioError) -> (owner: String, objects: BusValue)
    {
        do throws(BusError) {
            // The call to the well-known name makes the bus start bluetoothd if it can.
            let objects = try await connection.call(
                BlueZ.name,
                "/",
                BusNames.objectManager,
                "GetManagedObjects",
                reading: BlueZ.adapterProperties,
                timeout: BlueZ.timeout
            )
            guard let owner = try await connection.owner(of: BlueZ.name), let tree = objects.first else {
                throw .refused(name: "org.freedesktop.DBus.Error.NameHasNoOwner", message: "")
            }
            return (owner, tree)
        } catch {
            throw RadioError(error)
        }
    }

    /// Runs `body` while `advert` is sent.
    ///
    /// Sending stops before this function returns or throws. With an `acceptingSocket`, devices that receive the
    /// advert can connect to it, and the advert may be sent from the adapter's public address.
    ///
    /// - Parameters:
    ///   - advert: The advert.
    ///   - acceptingSocket: The socket for L2CAP channels, if any.
    ///   - retrying: Called if bluetoothd refuses the advert for now; it is asked again for five seconds.
    ///   - isolation: The isolation of `body`.
    ///   - body: The work while the advert is sent.
    /// - Throws: `RadioError` if the advert cannot be sent, `CancellationError`, or the error that `body` throws. A
    ///   later failure of the radio does not end `body`; `ActiveAdvert.waitUntilGone` reports it.
    public func withAdvert<R: Sendable>(
        _ advert: Advert,
        acceptingSocket: L2CAPAcceptingSocket? = nil,
        retrying: @Sendable (RadioError) -> Void = { _ in },
        isolation: isolated (any Actor)? = #isolation,
        _ body: (ActiveAdvert) async throws -> R
    ) async throws -> R {
        try await withAdvert(advert, psm: acceptingSocket?.psm, retrying: retrying, isolation: isolation, body)
    }

    /// Runs `body` while `advert` is sent with a PSM for L2CAP channels, on which no socket has to listen.
    package func withAdvert<R: Sendable>(
        _ advert: Advert,
        psm: L2CAPPSM?,
        retrying: @Sendable (RadioError) -> Void = { _ in },
        isolation: isolated (any Actor)? = #isolation,
        _ body: (ActiveAdvert) async throws -> R
    ) async throws -> R {
        let active = try await ActiveAdvert.start(
            advert,
            psm: psm,
            on: link,
            registeredAdverts: registeredAdverts,
            retrying: retrying
        )
        return try await withCleanup {
            await active.withdraw()
        } of: {
            try await body(active)
        }
    }

    /// Runs `body` with the adverts that a scan receives.
    ///
    /// The scan ends before this function returns or throws. If bluetoothd ends discovery meanwhile, it is started again.
    ///
    /// - Parameters:
    ///   - wanted: A filter for the adverts passed to `body`, so that unrelated adverts do not fill the queue. It runs
    ///     on the bus connection's thread for every advert and must not block.
    ///   - retrying: Called if bluetoothd refuses to scan for now; it is asked again for 15 seconds.
    ///   - isolation: The isolation of `body`.
    ///   - body: The closure that receives the adverts.
    /// - Throws: `RadioError` if scanning cannot start, `CancellationError`, or the error that `body` throws. A later
    ///   failure of the radio is thrown by the sequence.
    public func withScan<R: Sendable>(
        for wanted: @escaping @Sendable (ReceivedAdvert) -> Bool = { _ in true },
        retrying: @Sendable (RadioError) -> Void = { _ in },
        isolation: isolated (any Actor)? = #isolation,
        _ body: (AdvertSequence) async throws -> R
    ) async throws -> R {
        try await Scan.run(on: link, for: wanted, retrying: retrying, isolation: isolation, body)
    }

    /// Closes the bus connection, which ends all adverts and scans.
    ///
    /// This method is idempotent.
    public func close() async {
        await link.connection.close()
    }
}

// MARK: - L2CAP

extension BluetoothRadio {
    /// Returns a socket that accepts L2CAP channels on this adapter, with a PSM that the kernel chooses.
    ///
    /// - Throws: ``L2CAPError``.
    public func acceptingSocket() async throws(L2CAPError) -> L2CAPAcceptingSocket {
        try L2CAPAcceptingSocket.start(at: try await ownAddress())
    }

    /// Returns the route to the sender of an advert.
    ///
    /// Call this method while the scan that received the advert is in progress.
    ///
    /// - Throws: ``L2CAPError``.
    public func route(to advert: ReceivedAdvert, psm: L2CAPPSM) async throws(L2CAPError) -> L2CAPRoute {
        let own = try await ownAddress()
        guard let other = await address(advert.device, BlueZ.device) else { throw .addressUnknown }
        return L2CAPRoute(own: own, other: other, psm: psm)
    }

    /// Returns the adapter's address.
    ///
    /// This method throws on a virtual bus, so that a simulated adapter is never used with the kernel's real radio.
    private func ownAddress() async throws(L2CAPError) -> BluetoothAddress {
        guard !isVirtual else { throw .virtualRadio }
        guard let own = await address(link.adapter.path, BlueZ.adapter) else { throw .addressUnknown }
        return own
    }

    private func address(_ path: String, _ interface: String) async -> BluetoothAddress? {
        let answer = try? await link.connection.call(
            link.owner,
            path,
            BusNames.properties,
            "GetAll",
            [.string(interface)],
            timeout: BlueZ.timeout
        )
        let properties = answer?.first?.fields
        return BluetoothAddress(text: properties?["Address"]?.text, type: properties?["AddressType"]?.text)
    }
}
