// SPDX-License-Identifier: Apache-2.0

/// What a virtual radio is made of.
public struct AirSettings: Sendable {
    /// How many adapters there are, 1 to 16; they are named hci0, hci1 and so on.
    public var adapters: Int
    /// Whether an adapter hears its own adverts, which a real one does not.
    public var loopback: Bool
    /// How many adverts each adapter sends at one time.
    public var slots: UInt8
    /// Time from the start of scan or advert to the first hearing.
    public var firstSeen: Duration
    /// Time between two hearings of an advert.
    public var refresh: Duration
    /// Time a device stays known after its last advert while a scan goes on.
    public var linger: Duration

    /// Two adapters that hear themselves and each other, with five slots, about as quick as a real radio; devices
    /// stay known for as long as bluetoothd's TemporaryTimeout.
    public init(
        adapters: Int = 2,
        loopback: Bool = true,
        slots: UInt8 = 5,
        firstSeen: Duration = .milliseconds(100),
        refresh: Duration = .seconds(1),
        linger: Duration = .seconds(30)
    ) {
        self.adapters = min(max(adapters, 1), 16)
        self.loopback = loopback
        self.slots = slots
        self.firstSeen = firstSeen
        self.refresh = refresh
        self.linger = linger
    }
}
