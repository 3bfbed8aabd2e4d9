// SPDX-License-Identifier: Apache-2.0

package import HybridDBus

/// A client of the control object `org.hybrid.Lab`, with which tests control the virtual radio.
package struct AirControl: Sendable {
    static let name = "org.hybrid.Lab"
    static let path = "/org/hybrid/lab/air"
    static let interface = "org.hybrid.Lab.Air1"

    /// The timeout of a call.
    ///
    /// It is long, because replies can be slow on a busy computer.
    private static let timeout = Duration.seconds(60)

    private let connection: BusConnection

    /// Creates a client that uses `connection`, which the caller closes.
    package init(_ connection: BusConnection) {
        self.connection = connection
    }

    /// Starts sending service data from a sender that is not an adapter, and returns a handle for `remove`.
    ///
    /// - Parameters:
    ///   - data: The bytes, of any length.
    ///   - uuid: The service's UUID, in 4, 8 or 36 characters.
    package func inject(_ data: [UInt8], uuid: String = "fff9") async throws(BusError) -> String {
        try await call("Inject", [.string(uuid), .bytes(data)]).first?.text ?? ""
    }

    /// Adds a device with exactly these properties, which are not validated, and returns a handle for `remove`.
    package func inject(properties: [String: BusValue]) async throws(BusError) -> String {
        try await call("InjectProperties", [.properties(properties)]).first?.text ?? ""
    }

    /// Floods an adapter, such as `hci0`, with adverts of unrelated devices, each with its own address and data.
    ///
    /// The average rate is kept even under load, because adverts that are late are sent as soon as possible. The call
    /// returns when the flood has started, and ends an earlier flood of the adapter.
    ///
    /// - Parameters:
    ///   - adapter: The adapter that receives the adverts while it is scanning.
    ///   - rate: The number of adverts per second, at most 4,000.
    ///   - seconds: The duration in seconds, at most 3,600.
    package func flood(_ adapter: String, rate: UInt32, seconds: UInt32) async throws(BusError) {
        _ = try await call("Flood", [.string(adapter), .uint32(rate), .uint32(seconds)])
    }

    /// Returns the numbers of adverts of an adapter's flood that were sent and that a scan has received.
    package func floodCount(_ adapter: String) async throws(BusError) -> (sent: Int, received: Int) {
        guard case .structure(let counts)? = try await call("FloodCount", [.string(adapter)]).first, counts.count == 2,
            case .uint32(let sent) = counts[0], case .uint32(let received) = counts[1]
        else {
            throw .malformed("no two numbers")
        }
        return (Int(sent), Int(received))
    }

    /// Stops sending an injected advert.
    package func remove(_ handle: String) async throws(BusError) {
        _ = try await call("Remove", [.string(handle)])
    }

    /// Turns an adapter, such as `hci0`, on or off.
    package func setPowered(_ adapter: String, _ isOn: Bool) async throws(BusError) {
        _ = try await call("SetPowered", [.string(adapter), .bool(isOn)])
    }

    /// Blocks or unblocks an adapter as rfkill does; in both cases the adapter is then off.
    package func setBlocked(_ adapter: String, _ isBlocked: Bool) async throws(BusError) {
        _ = try await call("SetBlocked", [.string(adapter), .bool(isBlocked)])
    }

    /// Sets the roles of an adapter; one that knows Bluetooth Classic only has none.
    package func setRoles(_ adapter: String, _ roles: [String]) async throws(BusError) {
        _ = try await call("SetRoles", [.string(adapter), .strings(roles)])
    }

    /// Sets the number of adverts that an adapter can send at the same time.
    package func setSlots(_ adapter: String, _ count: UInt32) async throws(BusError) {
        _ = try await call("SetSlots", [.string(adapter), .uint32(count)])
    }

    /// Stops the discovery of an adapter, such as `hci0`, as after a failure of the controller.
    ///
    /// bluetoothd keeps the clients that scan, and refuses to start their discovery again before they have stopped it.
    package func haltDiscovery(_ adapter: String) async throws(BusError) {
        _ = try await call("HaltDiscovery", [.string(adapter)])
    }

    /// Makes the next call of `method` fail with this D-Bus error; several calls of this method count.
    package func failNext(_ method: String, name: String, message: String) async throws(BusError) {
        _ = try await call("FailNext", [.string(method), .string(name), .string(message)])
    }

    /// Makes the next call of `method` take effect without a reply.
    package func swallowNext(_ method: String) async throws(BusError) {
        _ = try await call("SwallowNext", [.string(method)])
    }

    /// Stops bluetoothd, which loses all its state.
    package func stopService() async throws(BusError) {
        _ = try await call("Vanish")
    }

    /// Starts bluetoothd again.
    package func startService() async throws(BusError) {
        _ = try await call("Return")
    }

    /// Returns the service data being sent, in hexadecimal, sorted.
    package func activeAdverts() async throws(BusError) -> [String] {
        guard case .array(_, let adverts)? = try await call("ActiveAdverts").first else { return [] }
        return adverts.compactMap(\.text)
    }

    private func call(_ member: String, _ arguments: [BusValue] = []) async throws(BusError) -> [BusValue] {
        try await connection.call(Self.name, Self.path, Self.interface, member, arguments, timeout: Self.timeout)
    }
}
