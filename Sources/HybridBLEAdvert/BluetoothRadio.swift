// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
package import HybridSystemBus

/// A Bluetooth adapter, used through BlueZ's D-Bus interface.
///
/// Who takes part: the phone's side puts 20 encrypted bytes on the air, the desktop's side listens for them, and
/// on each machine bluetoothd, which owns the radio, is asked over the system bus. Hearing the advert proves that
/// the phone is near, as far as radio waves prove that; everything else in a ceremony could come from anywhere.
///
/// The steps: `open` finds bluetoothd and an adapter that is on. `withAdvert` exports an object that bluetoothd
/// reads, and the advert is on the air until the body ends. `withScan` starts discovery and hands every piece of
/// service data under the two UUIDs to the body, which tries to decrypt it. Both undo what they did before they
/// return, also when they throw or the task is cancelled; and since all of it hangs on one connection, bluetoothd
/// undoes it when the process dies.
///
/// An advert may also lead to an L2CAP channel, over which the two talk without a network. Channels are the kernel's and
/// not BlueZ's: `listener` and `route` ask BlueZ for addresses alone. There are none on a virtual bus.
///
/// Whom to trust: the bus daemon vouches for names; root alone may own `org.bluez` on a system bus. On a bus that
/// is not the system's own (`isVirtual`) anybody may play bluetoothd, and an advert proves nothing. Adverts are
/// bytes from strangers.
public final class BluetoothRadio: Sendable {
    /// What the radio is for.
    public enum Role: Sendable {
        /// Sends adverts: the phone's side.
        case advertiser
        /// Listens for adverts: the desktop's side.
        case scanner
    }

    /// The adapter in use.
    public let adapter: AdapterName
    /// Whether the bus is not the system's own, so that hearing an advert proves nothing about where the phone is.
    public let isVirtual: Bool

    let link: BlueZLink
    private let shelf: RegisteredAdverts
    /// How it was opened, for when it must be again.
    private let origin: (adapter: AdapterName?, role: Role, address: BusAddress)

    private init(link: BlueZLink, shelf: RegisteredAdverts, origin: (AdapterName?, Role, BusAddress)) {
        self.link = link
        self.shelf = shelf
        self.origin = origin
        adapter = link.adapter
        isVirtual = !link.connection.isSystemsOwn
    }

    /// Finds bluetoothd and an adapter on the bus that `DBUS_SYSTEM_BUS_ADDRESS` names, else the system's own.
    ///
    /// - Parameters:
    ///   - adapter: the adapter to use; `nil` picks the first that is on, for an advertiser rather one with a free
    ///     advertising slot.
    ///   - role: what it is for.
    public static func open(adapter: AdapterName?, for role: Role) async throws(RadioError) -> BluetoothRadio {
        try await open(adapter: adapter, for: role, on: .system)
    }

    /// Finds bluetoothd and an adapter on the bus at `address`.
    package static func open(
        adapter wanted: AdapterName?,
        for role: Role,
        on address: BusAddress
    ) async throws(RadioError) -> BluetoothRadio {
        let shelf = RegisteredAdverts()
        let connection: BusConnection
        do throws(BusError) {
            connection = try await BusConnection.connect(to: address, reading: BlueZ.hearing, handler: shelf.answer)
        } catch {
            throw RadioError(error)
        }
        do throws(RadioError) {
            let (owner, objects) = try await findObjects(connection)
            let adapter = try AdapterState.choose(from: AdapterState.all(in: objects), named: wanted, for: role)
            shelf.admit(owner)
            return BluetoothRadio(
                link: BlueZLink(connection: connection, owner: owner, adapter: adapter),
                shelf: shelf,
                origin: (wanted, role, address)
            )
        } catch {
            await connection.close()
            throw error
        }
    }

    /// How long to wait before Bluetooth is looked for again.
    private static let pause = Duration.milliseconds(500)

    /// Waits until Bluetooth can be used again, after it was switched off, unplugged or restarted: a new radio.
    ///
    /// An adapter that was not named when this one was opened may be another then.
    ///
    /// - Throws: `RadioError` if it fails in a way that does not pass by itself, `CancellationError`.
    public func reopened() async throws -> BluetoothRadio {
        while true {
            // Nothing can be listened to where the bus or the service itself may be away.
            try await Task.sleep(for: Self.pause)
            do throws(RadioError) {
                return try await Self.open(adapter: origin.adapter, for: origin.role, on: origin.address)
            } catch {
                guard error.mayPass else { throw error }
            }
        }
    }

    /// bluetoothd's unique name and its objects.
    static func findObjects(_ connection: BusConnection) async throws(RadioError) -> (owner: String, objects: BusValue)
    {
        do throws(BusError) {
            // Asked by its well-known name first, because that makes the bus start bluetoothd where it can.
            let objects = try await connection.call(
                BlueZ.name,
                "/",
                BusNames.objectManager,
                "GetManagedObjects",
                reading: BlueZ.adapters,
                timeout: BlueZ.patience
            )
            guard let owner = try await connection.owner(of: BlueZ.name), let table = objects.first else {
                throw .refused(name: "org.freedesktop.DBus.Error.NameHasNoOwner", message: "")
            }
            return (owner, table)
        } catch {
            throw RadioError(error)
        }
    }

    /// Runs `body` with `advert` on the air; it is off the air before this returns or throws.
    ///
    /// With `listener`, whoever hears the advert can connect there; the adapter's own address may be on the air then.
    ///
    /// - Throws: `RadioError` if it cannot be sent, `CancellationError`, or what `body` throws. That the radio
    ///   fails later does not end `body`; `ActiveAdvert.waitUntilGone` tells.
    public func withAdvert<R: Sendable>(
        _ advert: Advert,
        leadingTo listener: L2CAPListener? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (ActiveAdvert) async throws -> R
    ) async throws -> R {
        try await withAdvert(advert, naming: listener?.psm, isolation: isolation, body)
    }

    /// Runs `body` with `advert` and a channel's number behind it on the air, whether anybody listens there or not.
    package func withAdvert<R: Sendable>(
        _ advert: Advert,
        naming psm: L2CAPPSM?,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (ActiveAdvert) async throws -> R
    ) async throws -> R {
        let live = try await ActiveAdvert.start(advert, psm: psm, on: link, shelf: shelf)
        do {
            let result = try await body(live)
            await live.withdraw()
            return result
        } catch {
            await live.withdraw()
            throw error
        }
    }

    /// Runs `body` with the adverts a scan hears; the scan is over before this returns or throws.
    ///
    /// - Parameters:
    ///   - wanted: picks those that `body` is given. It is asked of every advert as it comes in, on the bus
    ///     connection's thread, and must not block: so strangers' adverts, however many, never queue up with the one
    ///     that is looked for.
    ///   - isolation: where `body` runs.
    ///   - body: is given the adverts.
    /// - Throws: `RadioError` if scanning cannot start, `CancellationError`, or what `body` throws. That the radio
    ///   fails later comes out of the sequence.
    public func withScan<R: Sendable>(
        for wanted: @escaping @Sendable (ReceivedAdvert) -> Bool = { _ in true },
        isolation: isolated (any Actor)? = #isolation,
        _ body: (AdvertSequence) async throws -> R
    ) async throws -> R {
        try await Scan.run(on: link, for: wanted, isolation: isolation, body)
    }

    /// Gives the connection to the bus back, and with it all that is on the air; again is harmless.
    public func close() async {
        await link.connection.close()
    }
}
