// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
public import HybridBLEAdvert
public import HybridDataChannel

/// The options by which a user says how a ceremony gets from one device to the other.
public struct NetworkOptions: ParsableArguments, Sendable {
    /// Addresses to connect to in place of others.
    @Option(
        help: ArgumentHelp("Connect elsewhere, as curl does.", valueName: "host:port:host2:port2"),
        transform: { text in
            guard let detour = ConnectTo(text) else {
                throw ValidationError("--connect-to takes HOST:PORT:HOST2:PORT2.")
            }
            return detour
        }
    )
    public var connectTo: [ConnectTo] = []

    /// The adapter; the first that is on without one.
    @Option(
        help: ArgumentHelp("The Bluetooth adapter.", valueName: "hciN"),
        transform: { text in
            guard let name = AdapterName(text) else { throw ValidationError("--adapter takes a name such as hci0.") }
            return name
        }
    )
    public var adapter: AdapterName?

    /// None given.
    public init() {}
}
