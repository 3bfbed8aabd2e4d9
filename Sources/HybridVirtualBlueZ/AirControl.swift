// SPDX-License-Identifier: Apache-2.0

public import HybridSystemBus

/// The other end of the lab's control object.
public struct AirControl: Sendable {
    /// Longest wait for an answer; on a busy machine the other end may need long to get to it.
    private static let patience = Duration.seconds(60)

    private let connection: BusConnection

    /// Speaks over `connection`, which stays the caller's.
    public init(_ connection: BusConnection) {
        self.connection = connection
    }

    /// Puts service data on the air that no adapter sends, and returns a handle for `remove`.
    ///
    /// - Parameters:
    ///   - data: the bytes, of any length.
    ///   - uuid: the service's UUID, in 4, 8 or 36 characters.
    public func inject(_ data: [UInt8], uuid: String = "fff9") async throws(BusError) -> String {
        try await call("Inject", [.string(uuid), .bytes(data)]).first?.text ?? ""
    }

    /// Puts a device with these properties on the air, however odd, and returns a handle for `remove`.
    public func inject(properties: [String: BusValue]) async throws(BusError) -> String {
        try await call("InjectProperties", [.properties(properties)]).first?.text ?? ""
    }

    /// Lets an adapter, such as `hci0`, hear strangers, each of whose adverts is of another address and other bytes.
    ///
    /// They come at this rate whatever else there is to do: what could not be sent in time follows at once. The
    /// call returns when it has begun, and ends a flood that was heard there before.
    ///
    /// - Parameters:
    ///   - adapter: who hears them, whenever it scans.
    ///   - rate: adverts a second, at most 4,000.
    ///   - seconds: how long, at most an hour.
    public func flood(_ adapter: String, rate: UInt32, seconds: UInt32) async throws(BusError) {
        _ = try await call("Flood", [.string(adapter), .uint32(rate), .uint32(seconds)])
    }

    /// How many adverts of an adapter's flood have been on the air, and how many of these came to a scan.
    public func floodCount(_ adapter: String) async throws(BusError) -> (sent: Int, heard: Int) {
        guard case .structure(let counts)? = try await call("FloodCount", [.string(adapter)]).first, counts.count == 2,
            case .uint32(let sent) = counts[0], case .uint32(let heard) = counts[1]
        else {
            throw .malformed("no two numbers")
        }
        return (Int(sent), Int(heard))
    }

    /// Takes injected data off the air.
    public func remove(_ handle: String) async throws(BusError) {
        _ = try await call("Remove", [.string(handle)])
    }

    /// Switches an adapter, such as `hci0`, on or off.
    public func setPowered(_ adapter: String, _ isOn: Bool) async throws(BusError) {
        _ = try await call("SetPowered", [.string(adapter), .bool(isOn)])
    }

    /// Blocks an adapter as rfkill does, which switches it off, or frees it, which leaves it off.
    public func setBlocked(_ adapter: String, _ isBlocked: Bool) async throws(BusError) {
        _ = try await call("SetBlocked", [.string(adapter), .bool(isBlocked)])
    }

    /// Sets how many adverts an adapter sends at one time.
    public func setSlots(_ adapter: String, _ count: UInt32) async throws(BusError) {
        _ = try await call("SetSlots", [.string(adapter), .uint32(count)])
    }

    /// Makes the next call of `method` fail.
    public func failNext(_ method: String, name: String, message: String) async throws(BusError) {
        _ = try await call("FailNext", [.string(method), .string(name), .string(message)])
    }

    /// Makes the next call of `method` do what it should and get no answer.
    public func swallowNext(_ method: String) async throws(BusError) {
        _ = try await call("SwallowNext", [.string(method)])
    }

    /// Makes bluetoothd go away, with all it knew.
    public func vanish() async throws(BusError) {
        _ = try await call("Vanish")
    }

    /// Makes bluetoothd come back.
    public func comeBack() async throws(BusError) {
        _ = try await call("Return")
    }

    /// The service data on the air, in hexadecimal, sorted.
    public func activeAdverts() async throws(BusError) -> [String] {
        guard case .array(_, let adverts)? = try await call("ActiveAdverts").first else { return [] }
        return adverts.compactMap(\.text)
    }

    private func call(_ member: String, _ arguments: [BusValue] = []) async throws(BusError) -> [BusValue] {
        try await connection.call(
            LabControl.name,
            LabControl.path,
            LabControl.interface,
            member,
            arguments,
            timeout: Self.patience
        )
    }
}
